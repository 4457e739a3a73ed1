//! Damaged files: whatever is wrong with them, there is an answer and no panic.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use camino::Utf8Path;
use partita::pipeline::{self, yaml};

/// A small generator: the same files on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound.max(1) as u64).unwrap()
    }
}

const PIECES: [&str; 24] = [
    "null",
    "[]",
    "{}",
    "{x: 1}",
    "\"",
    "'",
    ": ",
    "- ",
    "\n",
    "\t",
    "  ",
    "&a ",
    "*a",
    "<<: ",
    "!!str ",
    "|",
    ">",
    "é",
    "\u{0}",
    "1e400",
    "2026-03-10",
    "StartOfDayMapper",
    "{ProductMapper: [",
    "@daily",
];

fn damaged(text: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(4) {
        let at = random.below(chars.len());
        match random.below(4) {
            0 => {
                let end = (at + random.below(30)).min(chars.len());
                chars.drain(at..end);
            }
            1 => {
                let piece = PIECES[random.below(PIECES.len())];
                chars.splice(at..at, piece.chars());
            }
            2 => {
                let end = (at + random.below(12)).min(chars.len());
                let piece = PIECES[random.below(PIECES.len())];
                chars.splice(at..end, piece.chars());
            }
            _ => {
                let end = (at + random.below(60)).min(chars.len());
                let part: Vec<char> = chars[at..end].to_vec();
                let to = random.below(chars.len());
                chars.splice(to..to, part);
            }
        }
    }
    chars.into_iter().collect()
}

#[test]
fn damaged_files_are_answered() {
    let root = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut refused, mut played) = (0, 0);
    for folder in ["player_stats", "regional_sales", "models", "warehouse"] {
        let folder = root.join(folder);
        let pipeline_text = std::fs::read_to_string(folder.join("pipeline.yaml")).unwrap();
        let whole = pipeline::load(&folder).unwrap();
        let scenarios: Vec<String> = pipeline::scenario_files(&whole)
            .unwrap()
            .iter()
            .map(|file| std::fs::read_to_string(file).unwrap())
            .collect();
        for _ in 0..150 {
            let source = yaml::source(Utf8Path::new("p.yaml"), damaged(&pipeline_text, &mut random));
            match pipeline::from_source(&source, &folder) {
                Ok(_) => played += 1,
                Err(problems) => {
                    assert!(!problems.is_empty());
                    // Every problem can be drawn.
                    assert!(!partita::report::problems(&problems, false).is_empty());
                    refused += 1;
                }
            }
            let text = &scenarios[random.below(scenarios.len())];
            let source = yaml::source(Utf8Path::new("s.yaml"), damaged(text, &mut random));
            match pipeline::scenario_from_source(&source, &whole) {
                Ok(scenario) => {
                    let _ = pipeline::resolve_scenario(&whole, &scenario);
                    played += 1;
                }
                Err(problems) => {
                    let _ = partita::report::problems(&problems, true);
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 300 && played > 50, "{refused} refused, {played} played");
}
