//! `GET /api/runs`: the runs of one scenario, of a what-if or of the open queue, and what is pending after it.

use serde_json::Value as Json;

use super::super::answer::Failure;
use super::super::select;
use super::Ask;
use super::pipelines::scene_json;

/// Lists the runs of a scene.
pub fn answer(ask: &Ask<'_>) -> Result<Json, Failure> {
    let query = &ask.request.query;
    query.only(&select::SCENE)?;
    let scene = select::scene(ask.preview, ask.workspace, query)?;
    scene_json(ask, &scene)
}
