//! The port for the kubelet and Prometheus.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use butler_webhook::server::{Limits, Metrics, PlainPort, Readiness};
use prometheus_client::registry::Registry;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::world::within;

struct Plain {
    address: SocketAddr,
    shutdown: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

async fn serve(readiness: Arc<Readiness>, limits: Limits) -> Plain {
    let mut registry = Registry::default();
    Metrics::default().register(&mut registry);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (shutdown, asked) = oneshot::channel::<()>();
    let port = PlainPort::new(Arc::new(registry), readiness, limits.connection());
    let server = tokio::spawn(port.run(listener, async move {
        let _ = asked.await;
    }));
    Plain { address, shutdown, server }
}

impl Plain {
    /// The status line and the headers, and the body.
    async fn ask(&self, method: &str, path: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!("{method} {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        within(stream.read_to_string(&mut answer)).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    async fn status_and_body(&self, method: &str, path: &str) -> (u16, String) {
        let (head, body) = self.ask(method, path).await;
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body)
    }
}

#[tokio::test]
async fn readiness_names_what_is_missing() {
    let has_certificate = Arc::new(AtomicBool::new(false));
    let readiness = Arc::new(Readiness::default().check("facts", || Ok(())).check("certificate", {
        let has_certificate = has_certificate.clone();
        move || {
            let is_loaded = has_certificate.load(Ordering::Relaxed);
            if is_loaded { Ok(()) } else { Err("none is loaded yet".to_owned()) }
        }
    }));
    let plain = serve(readiness.clone(), Limits::default()).await;
    assert!(!readiness.is_ready());
    let expected = "facts: ok\ncertificate: not ready: none is loaded yet\ndrain: ok\n";
    assert_eq!(plain.status_and_body("GET", "/readyz").await, (503, expected.to_owned()));
    has_certificate.store(true, Ordering::Relaxed);
    assert!(readiness.is_ready());
    let expected = "facts: ok\ncertificate: ok\ndrain: ok\n";
    assert_eq!(plain.status_and_body("GET", "/readyz").await, (200, expected.to_owned()));
    readiness.drain();
    assert!(!readiness.is_ready());
    let expected = "facts: ok\ncertificate: ok\ndrain: not ready: the process is ending\n";
    assert_eq!(plain.status_and_body("GET", "/readyz").await, (503, expected.to_owned()));
    assert_eq!(plain.status_and_body("GET", "/livez").await, (200, "ok\n".to_owned()));
}

#[tokio::test]
async fn metrics_are_what_prometheus_reads() {
    let plain = serve(Arc::default(), Limits::default()).await;
    let (head, body) = plain.ask("GET", "/metrics").await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    let format = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(head.lines().any(|line| line == format), "{head}");
    assert!(body.contains("# HELP butler_webhook_connections_open Open connections of callers.\n"), "{body}");
    assert!(body.contains("\nbutler_webhook_requests_in_flight 0\n"), "{body}");
    assert!(body.ends_with("# EOF\n"), "{body}");
}

#[tokio::test]
async fn only_reading_is_served() {
    let plain = serve(Arc::default(), Limits::default()).await;
    let (head, body) = plain.ask("POST", "/readyz").await;
    assert!(head.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"), "{head}");
    assert!(head.lines().any(|line| line == "allow: GET, HEAD"), "{head}");
    assert_eq!(body, "only GET and HEAD are served at this path\n");
    assert_eq!(plain.status_and_body("HEAD", "/livez").await, (200, String::new()));
    let expected = "nothing is served at this path; there are `/metrics`, `/livez` and `/readyz`\n";
    for path in ["/", "/healthz", "/livez/"] {
        assert_eq!(plain.status_and_body("GET", path).await, (404, expected.to_owned()));
    }
}

#[tokio::test]
async fn slow_callers_are_cut_and_the_end_does_not_wait_for_them() {
    let limits = Limits { first_request: Duration::from_millis(200), ..Limits::default() };
    let plain = serve(Arc::default(), limits).await;
    let mut slow = TcpStream::connect(plain.address).await.unwrap();
    slow.write_all(b"GET /livez HTTP/1.1\r\nhost: ").await.unwrap();
    assert_eq!(within(slow.read(&mut [0; 1])).await.unwrap(), 0);

    let mut known = TcpStream::connect(plain.address).await.unwrap();
    known.write_all(b"GET /livez HTTP/1.1\r\nhost: here\r\n\r\n").await.unwrap();
    assert!(within(known.read(&mut [0; 1024])).await.unwrap() > 0);
    plain.shutdown.send(()).unwrap();
    within(plain.server).await.unwrap();
    assert_eq!(within(known.read(&mut [0; 1])).await.unwrap(), 0);
    assert!(TcpStream::connect(plain.address).await.is_err());
}
