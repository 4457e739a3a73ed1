//! Differences of rendered texts and runs, in every form.

mod github;
mod json;
mod markdown;
mod sarif;
mod text;
mod words;

pub use github::diff_github;
pub use json::diff_json;
pub use markdown::{COMMENT_LIMIT, diff_markdown};
pub use sarif::diff_sarif;
pub use text::diff_text;

/// How much is shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct Detail {
    /// Headings and counts without texts.
    pub stat: bool,
    /// Every place and every text, however many.
    pub all: bool,
}
