//! What answers Prometheus and browsers: one thread, and HTTP by the hyper crate.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::thread::Builder;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hyper::header::{
    HeaderMap, HeaderName, HeaderValue, ALLOW, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

/// For a client that does not finish its request or does not take the answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// For the server to tell its figures.
const ANSWER: Duration = Duration::from_millis(900);
/// Who asks again so soon gets the same figures: to ask very often costs the server nothing.
const FRESH: Duration = Duration::from_millis(50);
/// Clients at once: for one more, the oldest gives way.
const CLIENTS: usize = 64;
/// Bytes of a request's head.
const HEAD: usize = 8 << 10;
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// What a browser shows: it asks for `/metrics` again and again.
const PAGE: &str = include_str!("page.html");
/// The page runs its own script and asks this server only, and nobody may put it into theirs.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// Where the server puts its figures. Dropped without any, it says that there are none.
pub struct Reply(oneshot::Sender<String>);

impl Reply {
    /// Answers.
    pub fn send(self, text: String) {
        // The client may be gone.
        let _ = self.0.send(text);
    }
}

/// What somebody asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// All figures, as a [`Text`](crate::Text).
    Figures,
    /// The [keys](crate::HotKeys) that are asked for most. A server that does not know drops the reply.
    Keys,
    /// Of a card, to record what the connection from this port passes. The answer is empty.
    Mark(u16),
    /// Of a card, what was recorded.
    Trace,
}

#[derive(Default)]
struct Last(Mutex<Option<(Instant, String)>>);

struct Source<A> {
    ask: A,
    demo: bool,
    figures: Last,
    keys: Last,
}

impl<A: Fn(Asked, Reply)> Source<A> {
    /// None: the server does not answer.
    async fn ask(&self, asked: Asked) -> Option<String> {
        let (reply, answer) = oneshot::channel();
        (self.ask)(asked, Reply(reply));
        timeout(ANSWER, answer).await.ok()?.ok()
    }

    /// The same, for what many ask.
    async fn ask_or(&self, asked: Asked, last: &Last) -> Option<String> {
        if let Some((told, text)) = &*last.0.lock().unwrap() {
            if told.elapsed() < FRESH {
                return Some(text.clone());
            }
        }
        let text = self.ask(asked).await?;
        *last.0.lock().unwrap() = Some((Instant::now(), text.clone()));
        Some(text)
    }

    async fn answer<B>(&self, request: Request<B>) -> Result<Response<String>, Infallible> {
        let mut format = FORMAT;
        let (status, text) = match (request.method(), request.uri().path()) {
            (&Method::GET | &Method::HEAD, "/") => {
                format = "text/html; charset=utf-8";
                (StatusCode::OK, PAGE.into())
            }
            (&Method::GET | &Method::HEAD, path @ ("/metrics" | "/healthz")) => {
                match self.ask_or(Asked::Figures, &self.figures).await {
                    Some(_) if path == "/healthz" => (StatusCode::OK, "ok\n".into()),
                    text => found(text),
                }
            }
            (&Method::GET | &Method::HEAD, "/keys") => {
                match self.ask_or(Asked::Keys, &self.keys).await {
                    Some(text) => (StatusCode::OK, text),
                    None => (StatusCode::NO_CONTENT, String::new()),
                }
            }
            (&Method::GET | &Method::HEAD | &Method::POST, "/trace") if !self.demo => {
                (StatusCode::FORBIDDEN, "this is for a card with --demo\n".into())
            }
            (&Method::GET | &Method::HEAD, "/trace") => found(self.ask(Asked::Trace).await),
            (&Method::POST, "/trace") if !is_own(request.headers()) => {
                (StatusCode::FORBIDDEN, "this is for no other site\n".into())
            }
            (&Method::POST, "/trace") => match port(request.uri().query()) {
                Some(port) => found(self.ask(Asked::Mark(port)).await),
                None => (StatusCode::BAD_REQUEST, "POST /trace?port=1 to 65535\n".into()),
            },
            (_, "/" | "/keys" | "/metrics" | "/healthz" | "/trace") => {
                (StatusCode::METHOD_NOT_ALLOWED, "GET and HEAD\n".into())
            }
            _ => {
                let all = "there are /, /keys, /metrics, /healthz and /trace\n";
                (StatusCode::NOT_FOUND, all.into())
            }
        };
        let mut response = Response::new(text);
        *response.status_mut() = status;
        let mut says = |name: HeaderName, value: &'static str| {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        };
        says(CONTENT_TYPE, format);
        says(X_CONTENT_TYPE_OPTIONS, "nosniff");
        says(CONTENT_SECURITY_POLICY, POLICY);
        if status == StatusCode::METHOD_NOT_ALLOWED {
            says(ALLOW, "GET, HEAD");
        }
        Ok(response)
    }
}

/// What the server has answered.
fn found(text: Option<String>) -> (StatusCode, String) {
    match text {
        Some(text) => (StatusCode::OK, text),
        None => (StatusCode::SERVICE_UNAVAILABLE, "the server does not answer\n".into()),
    }
}

/// No browser sends this for another site: what its page may send without asking has another type, and a browser says
/// whose page it is. Who is no browser says nothing of that.
fn is_own(headers: &HeaderMap) -> bool {
    let get = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    let own_origin = match (get("origin"), get("host")) {
        (None, _) => true,
        (Some(origin), Some(host)) => origin.strip_prefix(b"http://") == Some(host),
        (Some(_), None) => false,
    };
    own_origin
        && get("content-type") == Some(b"application/json")
        && matches!(get("sec-fetch-site"), None | Some(b"same-origin"))
}

/// That of `port=N`.
fn port(query: Option<&str>) -> Option<u16> {
    query?.strip_prefix("port=")?.parse().ok().filter(|port| *port != 0)
}

/// Answers HTTP requests to `address`, in a thread of its own: `/metrics` with what `ask` brings, `/healthz` with
/// whether it brings anything, `/keys` with the hottest keys, `/` with a page that shows it. With `demo`, `/trace` with
/// a card's trace.
///
/// A client from an address that `allows` says no of is closed.
///
/// # Errors
///
/// The address cannot be had.
pub fn serve(
    address: SocketAddr,
    allows: impl Fn(IpAddr) -> bool + Send + 'static,
    demo: bool,
    ask: impl Fn(Asked, Reply) + Send + Sync + 'static,
) -> Result<()> {
    let context = || format!("--metrics {address}: cannot serve there");
    let listener = std::net::TcpListener::bind(address).with_context(context)?;
    listener.set_nonblocking(true).with_context(context)?;
    let runtime = runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let listener = runtime.block_on(async { TcpListener::from_std(listener) })?;
    let source = Arc::new(Source { ask, demo, figures: Last::default(), keys: Last::default() });
    let run = move || runtime.block_on(accept(listener, allows, source));
    Builder::new().name("metrics".into()).spawn(run)?;
    Ok(())
}

async fn accept<A: Fn(Asked, Reply) + Send + Sync + 'static>(
    listener: TcpListener,
    allows: impl Fn(IpAddr) -> bool,
    source: Arc<Source<A>>,
) {
    let mut clients = VecDeque::with_capacity(CLIENTS);
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            // No file descriptor is left, for instance: again a little later.
            sleep(PATIENCE / 10).await;
            continue;
        };
        if !allows(from.ip()) {
            continue;
        }
        clients.retain(|client: &tokio::task::JoinHandle<()>| !client.is_finished());
        if clients.len() == CLIENTS {
            if let Some(oldest) = clients.pop_front() {
                oldest.abort();
            }
        }
        clients.push_back(tokio::spawn(client(stream, source.clone())));
    }
}

async fn client<A: Fn(Asked, Reply) + Send + Sync>(stream: TcpStream, source: Arc<Source<A>>) {
    let answer = service_fn(|request| source.answer(request));
    let mut http = http1::Builder::new();
    // A client may shut down its sending half before it is answered.
    http.keep_alive(false).half_close(true).header_read_timeout(None).max_buf_size(HEAD);
    let served = http.serve_connection(TokioIo::new(stream), answer);
    // A client that makes mistakes is answered, or left alone.
    let _ = timeout(PATIENCE, served).await;
}
