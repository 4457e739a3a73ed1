//! The endpoints of the JSON API.

mod compare;
mod context;
mod explain;
mod graph;
mod partitions;
mod pipelines;
mod render;
mod runs;
mod what_if;

use std::sync::Arc;

use serde_json::Value as Json;

use super::answer::{Failure, Reply, Request};
use super::state::Preview;
use super::workspace::Workspace;

/// A request and what it is answered from.
pub struct Ask<'a> {
    /// The preview.
    pub preview: &'a Preview,
    /// What was last read when the request came.
    pub workspace: &'a Arc<Workspace>,
    /// The request.
    pub request: &'a Request,
}

/// Answers a request with a document.
pub type Handler = fn(&Ask<'_>) -> Result<Json, Failure>;

/// An endpoint of the JSON API.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The method.
    pub method: &'static str,
    /// The path.
    pub path: &'static str,
    /// What answers it; none for those that are no plain documents.
    pub(super) handler: Option<Handler>,
    /// The same request has the same answer until something changes on disk.
    pub(super) kept: bool,
}

const fn get(path: &'static str, handler: Handler) -> Route {
    Route { method: "GET", path, handler: Some(handler), kept: true }
}

const ROUTES: [Route; 12] = [
    get("/api/pipelines", pipelines::answer),
    get("/api/runs", runs::answer),
    get("/api/render", render::answer),
    get("/api/context", context::answer),
    get("/api/explain", explain::answer),
    get("/api/graph", graph::answer),
    get("/api/diff", compare::with_snapshot),
    get("/api/compare", compare::runs),
    Route { method: "GET", path: "/api/partitions", handler: Some(partitions::answer), kept: false },
    Route { method: "POST", path: "/api/what-if", handler: Some(what_if::answer), kept: false },
    Route { method: "GET", path: "/api/events", handler: None, kept: false },
    Route { method: "GET", path: "/api/openapi.json", handler: None, kept: false },
];

/// Every endpoint of the JSON API but Airflow's own (`/api/v1`, `/api/v2`).
pub fn routes() -> &'static [Route] {
    &ROUTES
}

/// The document that describes the API.
pub const OPENAPI: &str = include_str!("../openapi.json");

/// Answers a request from what was last read.
pub(super) fn answer(preview: &Preview, route: &Route, handler: Handler, request: &Request) -> Reply {
    let workspace = preview.workspace();
    // What a store holds can change without any file of a pipeline changing.
    let kept = route.kept && request.query.all("store").next().is_none();
    let make = || match handler(&Ask { preview, workspace: &workspace, request }) {
        Ok(mut document) => {
            document["revision"] = workspace.revision.into();
            Reply::json(200, &document)
        }
        Err(failure) => failure.reply(),
    };
    if kept { workspace.answered(&request.target, make) } else { make() }
}
