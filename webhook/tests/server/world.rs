//! A server on a free port, and a caller that writes bytes.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use butler_webhook::admission::Reply;
use butler_webhook::endpoint::Endpoint;
use butler_webhook::server::{AdmissionPort, Drain, Drained, Gate, Limits, Metrics, Readiness};
use bytes::Bytes;
use prometheus_client::registry::Registry;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub(crate) const PATH: &str = "/validate-butler-butlerlabs-dev-v1alpha1-tenantcluster";

/// Does what the body says, and otherwise answers with its endpoint and the length of the body.
pub(crate) struct Obedient {
    released: Arc<Semaphore>,
}

impl Gate for Obedient {
    async fn review(&self, endpoint: Endpoint, body: Bytes) -> Reply {
        match body.as_ref() {
            b"panic" => panic!("as the body said"),
            b"hang" => pending().await,
            b"nonsense" => return Reply::NotAReview("the body is not an AdmissionReview".to_owned()),
            b"wait" => self.released.acquire().await.unwrap().forget(),
            _ => {}
        }
        Reply::Answer(format!("{} {}", endpoint.path, body.len()).into_bytes())
    }
}

pub(crate) struct World {
    pub(crate) address: std::net::SocketAddr,
    pub(crate) readiness: Arc<Readiness>,
    /// Lets as many waiting reviews go on.
    pub(crate) released: Arc<Semaphore>,
    registry: Registry,
    authority: CertificateDer<'static>,
    shutdown: oneshot::Sender<()>,
    server: JoinHandle<Drained>,
}

impl World {
    pub(crate) async fn new(limits: Limits) -> Self {
        Self::that_drains(limits, Drain { notice: Duration::ZERO, grace: Duration::from_secs(20) }).await
    }

    pub(crate) async fn that_drains(limits: Limits, drain: Drain) -> Self {
        let issued = rcgen::generate_simple_self_signed(["webhook.example.com".to_owned()]).unwrap();
        let authority = issued.cert.der().clone();
        let key = PrivatePkcs8KeyDer::from(issued.signing_key.serialize_der());
        let mut tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![authority.clone()], key.into())
            .unwrap();
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];

        let released = Arc::new(Semaphore::new(0));
        let metrics = Metrics::default();
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let readiness = Arc::new(Readiness::default());
        let gate = Obedient { released: released.clone() };
        let port = AdmissionPort::new(gate, Arc::new(tls), limits, drain, metrics, readiness.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (shutdown, asked) = oneshot::channel::<()>();
        let server = tokio::spawn(port.run(listener, async move {
            let _ = asked.await;
        }));
        Self { address, readiness, released, registry, authority, shutdown, server }
    }

    /// Asks the server to end; the task tells how it went.
    pub(crate) fn end(self) -> JoinHandle<Drained> {
        self.shutdown.send(()).unwrap();
        self.server
    }

    /// Asks the server to end, and stays.
    pub(crate) fn begin_to_end(self) -> (Ending, JoinHandle<Drained>) {
        let Self { address, readiness, released, registry: _, authority, shutdown, server } = self;
        shutdown.send(()).unwrap();
        (Ending { address, readiness, released, authority }, server)
    }

    pub(crate) fn metric(&self, name: &str) -> u64 {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).unwrap();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0, |value| value.parse().unwrap())
    }

    pub(crate) async fn metric_becomes(&self, name: &str, value: u64) {
        eventually(&format!("{name} is {value}"), || self.metric(name) == value).await;
    }

    pub(crate) async fn tls(&self, protocol: &[u8]) -> TlsStream<TcpStream> {
        connect(self.address, &self.authority, protocol).await
    }

    pub(crate) async fn caller(&self) -> Caller {
        Caller(self.tls(b"http/1.1").await)
    }

    /// One request on a connection of its own.
    pub(crate) async fn ask(&self, request: &str) -> Answer {
        let mut caller = self.caller().await;
        caller.send(request).await;
        caller.answer().await
    }
}

/// What is left of a world that ends.
pub(crate) struct Ending {
    pub(crate) address: std::net::SocketAddr,
    pub(crate) readiness: Arc<Readiness>,
    pub(crate) released: Arc<Semaphore>,
    authority: CertificateDer<'static>,
}

impl Ending {
    pub(crate) async fn caller(&self) -> Caller {
        Caller(connect(self.address, &self.authority, b"http/1.1").await)
    }
}

async fn connect(
    address: std::net::SocketAddr,
    authority: &CertificateDer<'static>,
    protocol: &[u8],
) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("webhook.example.com").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
}

/// A caller over HTTP/1.1.
pub(crate) struct Caller(pub(crate) TlsStream<TcpStream>);

/// An answer, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Caller {
    pub(crate) async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
        self.0.flush().await.unwrap();
    }

    /// The next answer, which has a length.
    pub(crate) async fn answer(&mut self) -> Answer {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let byte = within(self.0.read_u8()).await;
            let byte = byte.unwrap_or_else(|error| {
                panic!("{error} after `{}`", String::from_utf8_lossy(&head));
            });
            head.push(byte);
        }
        let head = String::from_utf8(head).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Answer { status, head, body: String::new() };
        let mut body = vec![0; answer.header("content-length").expect("no length").parse().unwrap()];
        within(self.0.read_exact(&mut body)).await.unwrap();
        answer.body = String::from_utf8(body).unwrap();
        answer
    }

    /// Waits until the server has closed, and gives what came before.
    pub(crate) async fn closed(&mut self) -> String {
        let mut rest = Vec::new();
        // A server that cuts may do so without saying goodbye.
        let _ = within(self.0.read_to_end(&mut rest)).await;
        String::from_utf8(rest).unwrap()
    }
}

/// A review as kube-apiserver sends it.
pub(crate) fn post(body: &str) -> String {
    request("POST", &format!("{PATH}?timeout=5s"), "application/json", body)
}

pub(crate) fn request(method: &str, path: &str, content_type: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: webhook.example.com\r\ncontent-type: {content_type}\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

/// The answer of the gate to a body of this length.
pub(crate) fn judged(length: usize) -> String {
    format!("{PATH} {length}")
}

/// The limits as they are, but with all the time that a loaded machine needs.
pub(crate) fn patient() -> Limits {
    let long = Duration::from_secs(30);
    Limits { handshake: long, first_request: long, body: long, request: long, ..Limits::default() }
}

/// Nothing here takes long; a test that would hang fails instead.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("still nothing after half a minute")
}

pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
