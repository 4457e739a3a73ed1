//! The preview: a page and its JSON API, and Airflow's queued-event endpoints over an open queue.
//!
//! [`Workspace`] is what was last read from disk; [`Preview`] holds it, reads it again when files change and tells who
//! listens; each file of `api/` answers one kind of request from it; [`serve`] puts that behind a socket. Nothing here
//! reads the clock or the environment: whoever starts a preview hands both over.

mod answer;
mod api;
mod guard;
mod highlight;
mod hunks;
mod lines;
mod page;
mod queue;
mod scene;
mod select;
mod server;
mod state;
mod syntax;
mod templates;
mod watch;
mod workspace;

pub use answer::{Failure, Query, Reply, Request};
pub use api::{Route, routes};
pub use guard::{Access, is_loopback};
pub use queue::{Queue, Queues};
pub use server::{Limits, serve};
pub use state::{Change, Options, Preview};
pub use watch::{Watch, watch};
pub use workspace::{Folder, Workspace, pipeline_name};
