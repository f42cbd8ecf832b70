//! The caller: sixteen connections, each of which asks again as soon as it was answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::server::{Question, ServerProcess};

const CONNECTIONS: usize = 16;

pub(crate) struct Caller {
    runtime: Runtime,
    connections: Vec<Arc<Mutex<Connection>>>,
}

struct Connection {
    stream: TlsStream<TcpStream>,
    answer: Vec<u8>,
}

impl Caller {
    pub(crate) fn connect(server: &ServerProcess) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(server.certificate.clone())).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let tls = TlsConnector::from(Arc::new(tls.with_root_certificates(roots).with_no_client_auth()));
        let connections = runtime.block_on(async {
            let mut connections = Vec::new();
            for _ in 0..CONNECTIONS {
                let stream = TcpStream::connect(server.address).await.unwrap();
                stream.set_nodelay(true).unwrap();
                let stream = tls.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
                connections.push(Arc::new(Mutex::new(Connection { stream, answer: Vec::new() })));
            }
            connections
        });
        Self { runtime, connections }
    }

    /// Asks that many times, on all connections.
    pub(crate) fn ask(&self, question: Question, times: usize) {
        let request: Arc<[u8]> = request(question).into();
        let left = Arc::new(AtomicUsize::new(times));
        self.runtime.block_on(async {
            let mut tasks = tokio::task::JoinSet::new();
            for connection in &self.connections {
                let (connection, request, left) = (connection.clone(), request.clone(), left.clone());
                tasks.spawn(async move {
                    let mut connection = connection.lock().await;
                    while left
                        .try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                        .is_ok()
                    {
                        connection.ask(&request).await;
                    }
                });
            }
            while let Some(ended) = tasks.join_next().await {
                ended.unwrap();
            }
        });
    }

    /// What is measured has to be what it is said to be: a yes, and from the mutating stage with a patch.
    pub(crate) fn check(&self, question: Question) {
        let connection = self.connections.first().unwrap();
        self.runtime.block_on(async {
            let mut connection = connection.lock().await;
            connection.ask(&request(question)).await;
            let answer = String::from_utf8_lossy(&connection.answer);
            assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(r#""allowed":true"#), "{answer}");
            assert_eq!(question == Question::Mutate, answer.contains(r#""patch":"#), "{answer}");
        });
    }
}

fn request(question: Question) -> Vec<u8> {
    let body = question.body();
    let head = format!(
        "POST {}?timeout=5s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: kube-apiserver-admission\r\n\
         Accept: application/json, */*\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Accept-Encoding: gzip\r\n\r\n",
        question.path(),
        body.len(),
    );
    [head.into_bytes(), body].concat()
}

impl Connection {
    async fn ask(&mut self, request: &[u8]) {
        self.stream.write_all(request).await.unwrap();
        self.stream.flush().await.unwrap();
        self.answer.clear();
        while !is_whole(&self.answer) {
            let count = self.stream.read_buf(&mut self.answer).await.unwrap();
            assert!(count > 0, "the server closed the connection");
        }
        assert!(self.answer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&self.answer));
    }
}

fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let head = answer.get(..end).unwrap_or_default().to_ascii_lowercase();
    let head = String::from_utf8_lossy(&head);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    answer.len() >= end + 4 + length.and_then(|length| length.trim().parse::<usize>().ok()).unwrap()
}
