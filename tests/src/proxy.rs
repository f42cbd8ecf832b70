//! Stands between a program and the API server, and lets whoever tests decide what becomes of each request.
//!
//! The program speaks plain HTTP to it and needs no credentials; it passes requests on as one user. Watches are passed
//! on as they come.

use std::convert::Infallible;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::control_plane::{ControlPlaneError, User, kubeconfig_without_credentials};

/// A request of more than this is none of ours.
const LARGEST: usize = 4 << 20;

/// A request, before anything becomes of it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What is to be done.
    pub method: Method,
    /// To what, without the host.
    pub target: String,
}

impl Asked {
    /// Whether it changes anything.
    pub fn is_write(&self) -> bool {
        !matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS)
    }

    /// Whether it goes on for as long as there is something to tell.
    pub fn is_watch(&self) -> bool {
        self.target.contains("watch=true")
    }

    /// The path, without what comes after a question mark.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// What becomes of a request.
pub enum Fate {
    /// It is passed on.
    Pass,
    /// It is passed on after a while.
    Delay(Duration),
    /// It is answered with this code instead.
    Answer(StatusCode),
    /// The connection ends without an answer, and the API server never hears of it.
    Reset,
    /// The API server does it, and the connection ends without an answer.
    ResetAfter,
    /// It is passed on, and its answer ends in the middle after a while.
    Cut(Duration),
    /// The API server never hears of it, and there is no answer, ever.
    Hang,
    /// The API server does it; then this happens, and there is no answer, ever.
    HangAfter(Box<dyn FnOnce() + Send>),
}

impl fmt::Debug for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "Pass",
            Self::Delay(_) => "Delay",
            Self::Answer(code) => return write!(f, "Answer {}", code.as_u16()),
            Self::Reset => "Reset",
            Self::ResetAfter => "ResetAfter",
            Self::Cut(_) => "Cut",
            Self::Hang => "Hang",
            Self::HangAfter(_) => "HangAfter",
        })
    }
}

type Decide = Arc<dyn Fn(&Asked) -> Fate + Send + Sync>;
type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A running proxy. It ends when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    kubeconfig: PathBuf,
    _running: JoinSet<()>,
}

impl Proxy {
    /// Starts one that passes requests on as this user. `kubeconfig` is where the file for the program is written.
    ///
    /// # Errors
    /// When there is no port to be had or the kubeconfigs cannot be read or written.
    pub async fn start(
        user: &User,
        kubeconfig: impl Into<PathBuf>,
        decide: impl Fn(&Asked) -> Fate + Send + Sync + 'static,
    ) -> Result<Self, ControlPlaneError> {
        let kubeconfig = kubeconfig.into();
        let client = user.client().await?;
        let failed = |source| ControlPlaneError::Start { program: "proxy".to_owned(), source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
        let address: SocketAddr = listener.local_addr().map_err(failed)?;
        kubeconfig_without_credentials(&kubeconfig, &format!("http://{address}"))?;
        let mut running = JoinSet::new();
        running.spawn(serve(listener, client, Arc::new(decide)));
        Ok(Self { kubeconfig, _running: running })
    }

    /// What the program is given.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

async fn serve(listener: TcpListener, client: kube::Client, decide: Decide) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                connections.spawn(connection(stream, client.clone(), decide.clone()));
            },
        }
    }
}

async fn connection(stream: TcpStream, client: kube::Client, decide: Decide) {
    // Waiting for more to send would only make everything slow. A failure costs only time.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| answer(request, client.clone(), decide.clone()));
    // An error is a connection that was reset, by either side, and some are meant to be.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// An error ends the connection.
async fn answer(
    request: Request<Incoming>,
    client: kube::Client,
    decide: Decide,
) -> Result<Answer, BoxError> {
    let (head, body) = request.into_parts();
    let target = head.uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
    let asked = Asked { method: head.method.clone(), target };
    let body = Limited::new(body, LARGEST).collect().await?.to_bytes();
    let pass = async || -> Result<Answer, BoxError> {
        let mut request = Request::new(kube::client::Body::from(body.to_vec()));
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = asked.target.parse()?;
        for name in [http::header::ACCEPT, http::header::CONTENT_TYPE] {
            if let Some(value) = head.headers.get(&name) {
                request.headers_mut().insert(name, value.clone());
            }
        }
        let (mut head, body) = client.send(request).await?.into_parts();
        // What this connection does is between the program and us.
        head.headers.remove(http::header::TRANSFER_ENCODING);
        head.headers.remove(http::header::CONNECTION);
        Ok(Response::from_parts(head, body.map_err(BoxError::from).boxed_unsync()))
    };
    match decide(&asked) {
        Fate::Pass => pass().await,
        Fate::Delay(delay) => {
            sleep(delay).await;
            pass().await
        }
        Fate::Answer(code) => Ok(status(code)),
        Fate::Reset => Err("reset".into()),
        Fate::ResetAfter => {
            let answer = pass().await?;
            // It is done when all of it has been said.
            let _ = answer.into_body().collect().await;
            Err("reset".into())
        }
        Fate::Cut(after) => Ok(pass().await?.map(|body| cut(body, after))),
        Fate::Hang => std::future::pending().await,
        Fate::HangAfter(then) => {
            let answer = pass().await?;
            let _ = answer.into_body().collect().await;
            then();
            std::future::pending().await
        }
    }
}

/// As the API server says that something failed.
fn status(code: StatusCode) -> Answer {
    let reason = match code {
        StatusCode::GONE => "Expired",
        StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
        StatusCode::FORBIDDEN => "Forbidden",
        _ => "InternalError",
    };
    let body = json!({ "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "code": code.as_u16(),
        "reason": reason, "message": "the proxy of the bench says no" });
    let mut response = Response::new(
        Full::from(body.to_string())
            .map_err(|never: Infallible| -> BoxError { match never {} })
            .boxed_unsync(),
    );
    *response.status_mut() = code;
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}

/// The body until that time, and then an error.
fn cut(body: UnsyncBoxBody<Bytes, BoxError>, after: Duration) -> UnsyncBoxBody<Bytes, BoxError> {
    let end = tokio::time::Instant::now() + after;
    let frames = futures::stream::unfold(Some(body), move |body| async move {
        let mut body = body?;
        match timeout(end.saturating_duration_since(tokio::time::Instant::now()), body.frame()).await {
            Ok(Some(frame)) => Some((frame, Some(body))),
            Ok(None) => None,
            Err(_) => Some((Err("cut".into()), None)),
        }
    });
    http_body_util::StreamBody::new(frames).boxed_unsync()
}
