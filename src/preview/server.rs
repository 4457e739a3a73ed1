//! The server: connections, limits, and which handler answers a request.

mod events;
mod stalling;

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY,
    SET_COOKIE, TRANSFER_ENCODING, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use axum::response::IntoResponse;
use axum::{Router, middleware};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde_json::Value as Json;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use self::stalling::Stalling;
use super::answer::{self, Failure, Query, Reply};
use super::api::{self, Route};
use super::guard::{Access, COOKIE_NAME, Pass};
use super::page;
use super::queue;
use super::state::Preview;
use crate::schedule::api::{Answer, Request as QueueRequest};

/// What a page of this server may do: nothing but ask this server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Limits of a server.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a body.
    pub body: usize,
    /// How long a client may take for the head of a request, and for its body.
    pub reading: Duration,
    /// How long a client may take nothing of an answer.
    pub stalled: Duration,
    /// Connections at a time; more wait.
    pub connections: usize,
    /// How long open connections may take to end when the server does.
    pub ending: Duration,
    /// How often something is sent to those who wait for changes.
    pub keep_alive: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body: 1 << 20,
            reading: Duration::from_secs(10),
            stalled: Duration::from_secs(20),
            connections: 512,
            ending: Duration::from_millis(500),
            keep_alive: Duration::from_secs(15),
        }
    }
}

struct Server {
    preview: Arc<Preview>,
    access: Access,
    limits: Limits,
    stop: watch::Receiver<bool>,
}

/// Serves a preview until `shutdown` is done, then ends open streams and returns within [`Limits::ending`].
///
/// # Errors
/// When the socket fails.
pub async fn serve(
    listener: std::net::TcpListener,
    preview: Arc<Preview>,
    access: Access,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let (stop, stopped) = watch::channel(false);
    let server = Arc::new(Server { preview, access, limits: limits.clone(), stop: stopped.clone() });
    let router = Router::new()
        .fallback(answer_request)
        .layer(middleware::from_fn_with_state(server.clone(), guarded))
        .with_state(server);
    let slots = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        let slot = tokio::select! {
            () = &mut shutdown => break,
            slot = slots.clone().acquire_owned() => slot,
        };
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            // Out of descriptors, or a client that left: the next one may fare better.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        // Small answers go out at once; without it they only come a little later.
        let _ = stream.set_nodelay(true);
        let (router, limits, mut stopped) = (router.clone(), limits.clone(), stopped.clone());
        connections.spawn(async move {
            let io = TokioIo::new(Stalling::new(stream, limits.stalled));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(limits.reading)
                .max_buf_size(64 << 10)
                .serve_connection(io, TowerToHyperService::new(router));
            tokio::pin!(connection);
            // What goes wrong with one client concerns nobody else.
            tokio::select! {
                _ = connection.as_mut() => {}
                _ = stopped.changed() => {
                    connection.as_mut().graceful_shutdown();
                    let _ = connection.await;
                }
            }
            drop(slot);
        });
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    // Nobody may be listening any more.
    let _ = stop.send(true);
    let _ = tokio::time::timeout(limits.ending, async { while connections.join_next().await.is_some() {} }).await;
    connections.abort_all();
    Ok(())
}

/// Lets a request pass or not, and adds to every answer what browsers should know.
async fn guarded(State(server): State<Arc<Server>>, request: Request, next: middleware::Next) -> Response<Body> {
    let pass = server.access.check(request.method(), request.uri(), request.headers());
    let mut response = match pass {
        Err(failure) => {
            let mut response = respond(failure.reply());
            // Whatever body comes is not read.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            response
        }
        Ok(Pass::ByQuery) => signed_in(&server.access),
        Ok(Pass::Granted) => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Gives a browser the token as a cookie and sends it to the address without it.
fn signed_in(access: &Access) -> Response<Body> {
    let mut response = respond(Reply::empty(303));
    let cookie =
        format!("{COOKIE_NAME}={}; HttpOnly; SameSite=Strict; Path=/", access.token.as_deref().unwrap_or_default());
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response.headers_mut().insert(LOCATION, HeaderValue::from_static("/"));
    response
}

async fn answer_request(State(server): State<Arc<Server>>, request: Request) -> Result<Response<Body>, Infallible> {
    Ok(dispatch(server, request).await.unwrap_or_else(|failure| {
        let close = matches!(failure.status, 408 | 413);
        let mut response = respond(failure.reply());
        if close {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }))
}

async fn dispatch(server: Arc<Server>, request: Request) -> Result<Response<Body>, Failure> {
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    if let Some(file) = page::FILES.iter().find(|file| file.path == path) {
        if method != Method::GET && method != Method::HEAD {
            return Ok(not_allowed("GET"));
        }
        return Ok(respond(Reply { status: 200, content_type: Some(file.content_type), body: file.text.into() }));
    }
    for (prefix, version) in [("/api/v1/", 1), ("/api/v2/", 2)] {
        if path.starts_with(prefix) {
            return queued(server, request, version, prefix.len() - 1).await;
        }
    }
    let route = match find(&method, &path)? {
        Ok(route) => route,
        Err(allowed) => return Ok(not_allowed(allowed)),
    };
    match route.path {
        "/api/events" => {
            Ok(events::stream(&server.preview, server.stop.clone(), server.limits.keep_alive).into_response())
        }
        "/api/openapi.json" => {
            Ok(respond(Reply { status: 200, content_type: Some("application/json"), body: api::OPENAPI.into() }))
        }
        _ => document(server, request, route).await,
    }
}

/// The endpoint of a path, or the method that the path has.
fn find(method: &Method, path: &str) -> Result<Result<&'static Route, &'static str>, Failure> {
    let mut allowed = None;
    for route in api::routes() {
        if route.path != path {
            continue;
        }
        if method == route.method || method == Method::HEAD && route.method == "GET" {
            return Ok(Ok(route));
        }
        allowed = Some(route.method);
    }
    match allowed {
        Some(allowed) => Ok(Err(allowed)),
        None => Err(Failure::new(404, "not_found", format!("there is no {path}"))),
    }
}

/// Answers from what was last read, on a thread that may take its time.
async fn document(server: Arc<Server>, request: Request, route: &'static Route) -> Result<Response<Body>, Failure> {
    let Some(handler) = route.handler else {
        return Err(Failure::new(404, "not_found", format!("there is no {}", route.path)));
    };
    let (parts, body) = request.into_parts();
    let body = read_json(&server.limits, &parts.headers, body, route.method == "POST").await?;
    let asked = answer::Request {
        method: parts.method.as_str().to_owned(),
        target: parts.uri.path_and_query().map_or_else(String::new, |target| target.as_str().to_owned()),
        query: Query::parse(parts.uri.query().unwrap_or_default()),
        body,
    };
    let preview = server.preview.clone();
    let reply = blocking(move || api::answer(&preview, route, handler, &asked)).await?;
    Ok(respond(reply))
}

/// Answers a request of Airflow's own API from the open queue.
async fn queued(server: Arc<Server>, request: Request, version: u8, prefix: usize) -> Result<Response<Body>, Failure> {
    if server.preview.options.queues.is_none() {
        return Err(super::select::no_store());
    }
    let (parts, body) = request.into_parts();
    let body = read_json(&server.limits, &parts.headers, body, false).await?;
    let target = parts.uri.path_and_query().map_or("", |target| target.as_str());
    let asked = QueueRequest::new(parts.method.as_str(), target.get(prefix..).unwrap_or_default(), body);
    let preview = server.preview.clone();
    let answer = blocking(move || {
        let queues = preview.options.queues.as_ref().ok_or_else(super::select::no_store)?;
        let workspace = preview.workspace();
        let folder = queues.pipeline_name().and_then(|name| workspace.folder(name));
        let pipeline = folder.and_then(|folder| folder.loaded.as_ref().ok());
        let answer = if version == 1 { queues.v1(pipeline, &asked) } else { queues.v2(pipeline, &asked) };
        answer.map_err(queue::refused)
    })
    .await??;
    Ok(respond(reply(&answer)))
}

fn reply(answer: &Answer) -> Reply {
    match &answer.body {
        Some(body) => Reply::json(answer.status, body),
        None => Reply::empty(answer.status),
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Failure::new(500, "internal", "the request could not be answered: please report this"))
}

/// Reads a body of JSON. One that is too long is refused before it is read.
async fn read_json(limits: &Limits, headers: &HeaderMap, body: Body, needed: bool) -> Result<Option<Json>, Failure> {
    let too_long = || Failure::new(413, "too_large", format!("the body is longer than {} bytes", limits.body));
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limits.body as u64) {
        return Err(too_long());
    }
    if announced.unwrap_or(0) == 0 && !headers.contains_key(TRANSFER_ENCODING) {
        return if needed { Err(Failure::bad_request("the body is missing")) } else { Ok(None) };
    }
    let read = tokio::time::timeout(limits.reading, axum::body::to_bytes(body, limits.body)).await;
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return Err(too_long()),
        Err(_) => return Err(Failure::new(408, "timeout", "the body did not come in time")),
    };
    if bytes.is_empty() {
        return if needed { Err(Failure::bad_request("the body is missing")) } else { Ok(None) };
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    // A form of another page can send anything but this without asking first.
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(Failure::new(415, "bad_request", "the body is not `Content-Type: application/json`"));
    }
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| Failure::bad_request(format!("the body is not JSON: {error}")))
}

fn respond(reply: Reply) -> Response<Body> {
    let mut response = Response::new(Body::from(reply.body.as_bytes().to_vec()));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some(kind) = reply.content_type {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    response
}

fn not_allowed(method: &'static str) -> Response<Body> {
    let mut response =
        respond(Failure::new(405, "method_not_allowed", format!("only {method} is answered here")).reply());
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(method));
    response
}
