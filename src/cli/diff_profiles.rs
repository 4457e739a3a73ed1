//! `partita diff --profiles A,B`

use camino::Utf8PathBuf;
use serde_json::Value as Json;

use super::play_args::{self, PlayArgs};
use super::{Exit, Failure, Io, Outcome, select};
use crate::context::Masker;
use crate::diff::{self, ProfileSide};
use crate::jinja::Engine;
use crate::pipeline::{Pipeline, Played, Profile, Renderer, Scenario};
use crate::report;

/// Forms of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Form {
    /// For people
    #[default]
    Text,
    /// For a comment in a review
    Markdown,
    /// One JSON document
    Json,
}

/// Two profiles: `airflow-2.10,airflow-3.3`.
pub fn two_profiles(text: &str) -> Result<(Profile, Profile), String> {
    let (from, to) = text.split_once(',').ok_or("two profiles are expected: airflow-2.10,airflow-3.3")?;
    let (from, to) = (play_args::profile(from.trim())?, play_args::profile(to.trim())?);
    if from == to {
        Err("two different profiles are expected: airflow-2.10,airflow-3.3".to_owned())
    } else {
        Ok((from, to))
    }
}

/// Renders pipelines under two profiles and prints what fails, what changes and what stays.
pub fn run(
    named: &[Utf8PathBuf],
    scenarios: &[String],
    (from, to): (Profile, Profile),
    form: Form,
    io: &mut Io<'_>,
) -> Outcome {
    let old = select::pipelines_as(named, Some(from), io)?;
    let new = select::pipelines_as(named, Some(to), io)?;
    let play = PlayArgs { scenario: scenarios.to_vec(), ..PlayArgs::default() };
    play.check(&old)?;
    let engine = Engine::new();
    let mut differs = false;
    let mut documents = Vec::new();
    for (count, (old, new)) in old.into_iter().zip(new).enumerate() {
        let (old, new) = (side(old, &play, io)?, side(new, &play, io)?);
        let maskers: Vec<Masker> = [&old, &new].into_iter().flat_map(|side| maskers(&engine, side)).collect();
        let mask = |text: &str| maskers.iter().fold(text.to_owned(), |text, masker| masker.mask(&text).into_owned());
        let diff = diff::profiles(&engine, &old, &new, &mask).map_err(|error| Failure::Fatal(error.to_string()))?;
        differs |= !diff.is_same();
        let text = match form {
            Form::Text => report::profiles_text(&diff),
            Form::Markdown => report::profiles_markdown(&diff),
            Form::Json => {
                documents.push(report::profiles_json(&diff));
                continue;
            }
        };
        if count > 0 {
            writeln!(io.out)?;
        }
        io.out.write_all(text.as_bytes())?;
    }
    if form == Form::Json {
        writeln!(io.out, "{:#}", Json::from(documents))?;
    }
    Ok(Exit::findings_if(differs))
}

/// What hides the secrets of each scenario.
fn maskers(engine: &Engine, side: &ProfileSide) -> Vec<Masker> {
    let of = |(scenario, played): &(Scenario, Played)| {
        Renderer::new(engine, &side.pipeline, scenario, played.clock).with_played(played).masker()
    };
    side.scenarios.iter().map(of).collect()
}

fn side(pipeline: Pipeline, play: &PlayArgs, io: &mut Io<'_>) -> Result<ProfileSide, Failure> {
    let mut scenarios = Vec::new();
    for play in play_args::plays(play, &pipeline, io)? {
        let played = play.play(&pipeline)?;
        scenarios.push((play.scenario, played));
    }
    Ok(ProfileSide { pipeline, scenarios })
}
