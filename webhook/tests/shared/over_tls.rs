//! A gate behind real TLS and HTTP, on a free port, and what its callers do.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;

use butler_certs::{Certificates, Files, Proof, server_config};
use butler_webhook::endpoint::Endpoint;
use butler_webhook::server::{self, AdmissionPort, Drain, Gate, Limits, Readiness};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Serves until it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    tls: TlsConnector,
    tasks: Vec<tokio::task::JoinHandle<()>>,
    _directory: tempfile::TempDir,
}

impl Server {
    pub(crate) async fn start(gate: impl Gate) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        fs::write(directory.path().join("tls.crt"), certified.cert.pem()).unwrap();
        fs::write(directory.path().join("tls.key"), certified.signing_key.serialize_pem()).unwrap();
        let certificates = Certificates::from_files(Files::in_directory(directory.path()));
        let serving = certificates.serving();
        let certificates = tokio::spawn(certificates.run());
        serving.ready().await;
        let tls = Arc::new(server_config(serving, Proof::NotAsked).unwrap());
        let readiness = Arc::new(Readiness::default());
        let metrics = server::Metrics::default();
        let port = AdmissionPort::new(gate, tls, Limits::default(), Drain::default(), metrics, readiness);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async {
            port.run(listener, std::future::pending()).await;
        });

        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(certified.cert.der().to_vec())).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let client = client.with_root_certificates(roots).with_no_client_auth();
        let tasks = vec![certificates, serving];
        Self { address, tls: TlsConnector::from(Arc::new(client)), tasks, _directory: directory }
    }

    pub(crate) async fn connect(&self) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        self.tls.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

/// The status and the body of the answer, and the connection if it may be used again.
pub(crate) async fn ask(
    mut stream: TlsStream<TcpStream>,
    endpoint: Endpoint,
    body: &[u8],
) -> (u16, Vec<u8>, Option<TlsStream<TcpStream>>) {
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        endpoint.path,
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // A body that is too large is refused before all of it is sent.
    let sent = async {
        stream.write_all(body).await?;
        stream.flush().await
    }
    .await;
    assert!(sent.is_ok() || body.len() > Limits::default().body_bytes, "{sent:?}");
    let mut answer = Vec::new();
    let (end, head) = loop {
        if let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") {
            break (end + 4, String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase());
        }
        assert!(stream.read_buf(&mut answer).await.unwrap() > 0, "the connection ended in a head");
    };
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let length: usize = field("content-length:").unwrap().parse().unwrap();
    while answer.len() < end + length {
        assert!(stream.read_buf(&mut answer).await.unwrap() > 0, "the connection ended in a body");
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let is_kept = field("connection:") != Some("close") && sent.is_ok();
    (status, answer.split_off(end), is_kept.then_some(stream))
}
