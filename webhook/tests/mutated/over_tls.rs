//! A share of the mutated reviews, over the wire: through TLS, HTTP and the limits of the server.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use butler_certs::{Certificates, Files, Proof, server_config};
use butler_webhook::admission::{Admission, Metrics, Reply};
use butler_webhook::endpoint::{ENDPOINTS, Endpoint};
use butler_webhook::facts::Snapshots;
use butler_webhook::server::{self, AdmissionPort, Drain, Limits, Readiness};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::platform::{self, Elsewhere};
use crate::random::Random;
use crate::tally::Tally;
use crate::{Chunk, EVERYDAY, answer, environment, originals};

/// One in so many.
const SHARE: u64 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_mutated_review_over_tls_gets_a_well_formed_answer() {
    let first = environment("BUTLER_MUTATION_SEED").unwrap_or(1);
    let count = environment("BUTLER_MUTATIONS").unwrap_or(EVERYDAY).div_ceil(SHARE);
    let originals = Arc::new(originals::all());
    let salt = Arc::default();
    let facts = Arc::new(Snapshots::new(platform::snapshots().swap_remove(0)));
    let gate = Admission::new(facts, Elsewhere::new(&salt), Metrics::default());
    let server = Server::start(gate).await;
    let tally = Tally::default();
    let mut connection = None;
    let mut too_large = 0;
    for seed in first..first.wrapping_add(count) {
        let mut random = Random::new(seed);
        let original = Chunk::choose(&originals, &mut random);
        let endpoint = if random.one_in(50) { random.choose(ENDPOINTS) } else { &original.endpoint };
        let body = Chunk::mutate(original, &originals, &mut random);
        salt.store(seed, Ordering::Relaxed);
        let stream = match connection.take() {
            Some(stream) => stream,
            None => server.connect().await,
        };
        let (status, text, stream) = ask(stream, *endpoint, &body).await;
        connection = stream;
        let reply = match status {
            200 => Reply::Answer(text),
            400 => Reply::NotAReview(String::from_utf8(text).unwrap()),
            413 if body.len() > Limits::default().body_bytes => {
                too_large += 1;
                continue;
            }
            other => panic!("seed {seed}: {other} {}", String::from_utf8_lossy(&text)),
        };
        answer::check(*endpoint, &body, &reply);
        tally.count(&reply);
    }
    println!("{count} mutated reviews over TLS from seed {first}: {tally}, {too_large} too large");
}

struct Server {
    address: SocketAddr,
    tls: TlsConnector,
    tasks: Vec<tokio::task::JoinHandle<()>>,
    _directory: tempfile::TempDir,
}

impl Server {
    async fn start(gate: Admission<Elsewhere>) -> Self {
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

    async fn connect(&self) -> TlsStream<TcpStream> {
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
async fn ask(
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
