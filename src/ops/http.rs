//! The routes of the ops port, and who may use them.
//!
//! The page itself holds no data, and the probes tell yes or no: these are open. All else needs the token where one is
//! set. Without a token the port is on loopback, where only requests by a loopback name are answered, so that a
//! web page elsewhere cannot read it through a browser (DNS rebinding) or make it reload.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::json;
use subtle::ConstantTimeEq as _;
use tokio::sync::Semaphore;
use tokio_stream::wrappers::{BroadcastStream, WatchStream};
use tokio_stream::{Stream, StreamExt as _};

use super::hub::Hub;
use super::reload::chain;
use super::{exposition, view};
use crate::config::Secret;

/// The live page: one file without anything from elsewhere.
const PAGE: &str = include_str!("page.html");
/// What the page may do, enforced by the browser: its own script and style, and requests to this port.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// How often an idle stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// LIMIT: verdicts a second that one who taps gets.
const TAP_PER_S_MAX: u32 = 1000;
const TAP_PER_S: u32 = 20;

/// What handlers share.
pub(super) struct Shared {
    hub: Arc<Hub>,
    token: Secret,
    /// LIMIT: one reload by request at a time; each compiles all rules, beside the pipeline.
    reloads: Arc<Semaphore>,
}

impl Shared {
    pub(super) fn new(hub: &Arc<Hub>, token: Secret) -> Self {
        Self { hub: Arc::clone(hub), token, reloads: Arc::new(Semaphore::new(1)) }
    }
}

/// All routes.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    let guarded = Router::new()
        .route("/metrics", get(metrics))
        .route("/config", get(config))
        .route("/rejects", get(rejects))
        .route("/shadow", get(shadow))
        .route("/now", get(now))
        .route("/events", get(events))
        .route("/tap", get(tap))
        .route("/reload", post(reload))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guard));
    Router::new()
        .route("/", get(page))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .merge(guarded)
        .with_state(shared)
}

/// Lets through who has the token, or who is on this machine and asks for it by name.
async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let host = text(headers, header::HOST).unwrap_or_default();
    let refusal = if shared.token.is_empty() {
        (!is_loopback_name(&host)).then_some((StatusCode::FORBIDDEN, "ask for a loopback name\n"))
    } else {
        (!has_token(headers, &shared.token)).then_some((StatusCode::UNAUTHORIZED, "a token is required\n"))
    };
    let foreign = text(headers, header::ORIGIN)
        .is_some_and(|origin| origin.split_once("://").is_none_or(|(_, from)| from != host));
    match refusal {
        Some(refusal) => refusal.into_response(),
        None if foreign => (StatusCode::FORBIDDEN, "not from another origin\n").into_response(),
        None => next.run(request).await,
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn has_token(headers: &HeaderMap, token: &Secret) -> bool {
    let given = text(headers, header::AUTHORIZATION);
    let given = given.as_deref().and_then(|given| given.strip_prefix("Bearer ")).unwrap_or_default();
    given.as_bytes().ct_eq(token.reveal().as_bytes()).into()
}

/// Whether a `Host` is a name of this machine's loopback.
fn is_loopback_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

async fn page() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, PAGE).into_response()
}

async fn readyz(State(shared): State<Arc<Shared>>) -> Response {
    let code = if shared.hub.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, format!("{}\n", shared.hub.state())).into_response()
}

async fn metrics(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    let wants_openmetrics =
        text(&headers, header::ACCEPT).is_some_and(|accept| accept.contains("application/openmetrics-text"));
    let (kind, body) = if wants_openmetrics {
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", exposition::openmetrics(&shared.hub))
    } else {
        ("text/plain; version=0.0.4; charset=utf-8", exposition::prometheus_text(&shared.hub))
    };
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

/// The effective configuration, with the rule set and where it changed as comments.
async fn config(State(shared): State<Arc<Shared>>) -> Response {
    let parts = &shared.hub.parts;
    let edition = parts.editions.current();
    let mut body = format!("# Rule set {}, edition {}\n", edition.hash(), edition.number);
    for change in parts.meters.changes() {
        body.push_str(&format!(
            "# edition {}: rule set {} from {}\n",
            change.edition,
            change.hash,
            parts.places.record(change.partition, change.place)
        ));
    }
    body.push_str(&parts.reloader.config().to_toml());
    ([(header::CONTENT_TYPE, "application/toml; charset=utf-8")], body).into_response()
}

async fn rejects(State(shared): State<Arc<Shared>>) -> Response {
    let per_s = shared.hub.parts.reloader.config().ops.rejects_per_s;
    let groups = shared.hub.rejects().to_json();
    json_response(&json!({ "sampled_per_s_max": per_s, "groups": groups }))
}

async fn shadow(State(shared): State<Arc<Shared>>) -> Response {
    let hub = &shared.hub;
    let candidate = hub.parts.editions.current().candidate.as_ref().map(|it| it.rules.hash().to_owned());
    json_response(&json!({ "candidate": candidate, "groups": hub.shadow.to_json() }))
}

async fn now(State(shared): State<Arc<Shared>>) -> Response {
    json_response(&view::now(&shared.hub))
}

/// The last minutes first, then every second as it ends.
async fn events(State(shared): State<Arc<Shared>>) -> Response {
    let history = Event::default().event("history").data(view::history(&shared.hub).to_string());
    let first = Event::default().data(view::now(&shared.hub).to_string());
    let ticks = WatchStream::from_changes(shared.hub.ticks()).map(|tick| Event::default().data(&*tick));
    stream(tokio_stream::iter([history, first]).chain(ticks).map(Ok))
}

async fn tap(State(shared): State<Arc<Shared>>, uri: Uri) -> Response {
    let query = uri.query().unwrap_or_default();
    let wanted = query.split('&').find_map(|pair| pair.strip_prefix("per_s=")).map(str::parse::<u32>);
    let per_s = match wanted {
        None => TAP_PER_S,
        Some(Ok(per_s)) if (1..=TAP_PER_S_MAX).contains(&per_s) => per_s,
        Some(_) => {
            let text = format!("per_s: allowed: 1 to {TAP_PER_S_MAX}\n");
            return (StatusCode::BAD_REQUEST, text).into_response();
        }
    };
    let verdicts = BroadcastStream::new(shared.hub.tap(per_s));
    // Whoever is too slow misses some.
    stream(verdicts.filter_map(Result::ok).map(|verdict| Ok(Event::default().data(&*verdict))))
}

async fn reload(State(shared): State<Arc<Shared>>) -> Response {
    let Ok(permit) = Arc::clone(&shared.reloads).try_acquire_owned() else {
        return (StatusCode::CONFLICT, "another reload is at work; ask again\n").into_response();
    };
    let reloader = Arc::clone(&shared.hub.parts.reloader);
    // Compiling takes a while, and the page should go on meanwhile; it ends even if nobody waits for it any more.
    let outcome = tokio::task::spawn_blocking(move || {
        let outcome = reloader.reload().map_err(|error| chain(&error));
        drop(permit);
        outcome
    });
    let outcome = outcome.await;
    match outcome {
        Ok(Ok(done)) => json_response(&json!({
            "before": done.before, "after": done.after, "edition": done.edition,
            "waiting_for_restart": done.waiting,
        })),
        Ok(Err(why)) => {
            (StatusCode::UNPROCESSABLE_ENTITY, format!("nothing was reloaded: {why}\n")).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

fn json_response(value: &serde_json::Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], Body::from(format!("{value}\n"))).into_response()
}

fn stream(events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static) -> Response {
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_names() {
        for host in ["localhost", "localhost:9464", "127.0.0.1:1", "127.8.8.8", "[::1]:9464", "[::1]"] {
            assert!(is_loopback_name(host), "{host}");
        }
        for host in
            ["", "example.com:9464", "localhost.example.com", "10.0.0.1:9464", "127.0.0.1.example.com:80"]
        {
            assert!(!is_loopback_name(host), "{host}");
        }
    }
}
