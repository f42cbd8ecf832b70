//! A replica of a webhook that allows everything, and clients that call it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use butler_certs::{Certificates, Proof, Serving, Settings, server_config};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, PostParams};
use prometheus_client::registry::Registry;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Serves until it is dropped.
pub(crate) struct Replica {
    pub(crate) port: u16,
    pub(crate) serving: Arc<Serving>,
    metrics: Registry,
    tasks: Vec<JoinHandle<()>>,
}

impl Replica {
    pub(crate) async fn start(client: &Client, settings: Settings) -> Self {
        Self::with_proof(client, settings, Proof::NotAsked).await
    }

    pub(crate) async fn with_proof(client: &Client, settings: Settings, proof: Proof) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let settings = settings.url(format!("https://127.0.0.1:{port}"));
        Self::serve(listener, Certificates::self_managed(client.clone(), settings), proof)
    }

    /// Several replicas, each of which takes all their webhooks for its own, as replicas behind one Service do.
    pub(crate) async fn start_together(
        client: &Client,
        count: usize,
        settings: impl Fn(&[u16]) -> Settings,
    ) -> Vec<Self> {
        let mut listeners = Vec::new();
        for _ in 0..count {
            listeners.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
        }
        let ports: Vec<u16> =
            listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
        let start = |listener| {
            let certificates = Certificates::self_managed(client.clone(), settings(&ports));
            Self::serve(listener, certificates, Proof::NotAsked)
        };
        listeners.into_iter().map(start).collect()
    }

    fn serve(listener: TcpListener, certificates: Certificates, proof: Proof) -> Self {
        let port = listener.local_addr().unwrap().port();
        let serving = certificates.serving();
        let mut metrics = Registry::default();
        certificates.metrics().register(&mut metrics);
        let mut tls = server_config(serving.clone(), proof).unwrap();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let accept = async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        let _ = answer(stream).await;
                    }
                });
            }
        };
        let tasks = vec![tokio::spawn(certificates.run()), tokio::spawn(accept)];
        Self { port, serving, metrics, tasks }
    }

    /// The value of a metric, 0 if it is not there.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.metrics).unwrap();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0, |value| value.parse().unwrap())
    }

    /// One call by a client that trusts this bundle.
    pub(crate) async fn call(&self, bundle: &[u8], host: &str) -> Result<Vec<u8>, std::io::Error> {
        call(self.port, bundle, host, None).await
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Answers one review with yes and closes, so that every call is a handshake.
async fn answer(stream: tokio_rustls::server::TlsStream<TcpStream>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await? <= 2 {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await?;
    let review: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let uid = review["request"]["uid"].clone();
    let reply = serde_json::json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": { "uid": uid, "allowed": true } })
    .to_string();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length:";
    let mut stream = reader.into_inner();
    stream.write_all(format!("{head} {}\r\n\r\n{reply}", reply.len()).as_bytes()).await?;
    stream.shutdown().await
}

/// Who a client says it is: certificate and key as PEM.
pub(crate) type Identity<'a> = (&'a str, &'a str);

/// Calls and gives back the certificate that the server showed.
pub(crate) async fn call(
    port: u16,
    bundle: &[u8],
    host: &str,
    identity: Option<Identity<'_>>,
) -> Result<Vec<u8>, std::io::Error> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots);
    let config = match identity {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => config
            .with_client_auth_cert(
                vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
                PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
            )
            .unwrap(),
    };
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let name = ServerName::try_from(host.to_owned()).unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    stream.write_all(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}").await?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await?;
    if !reply.starts_with(b"HTTP/1.1 200 OK") {
        return Err(std::io::Error::other("no answer"));
    }
    Ok(stream.get_ref().1.peer_certificates().unwrap()[0].to_vec())
}

/// ConfigMaps tried through the API server, each judged by every replica, until it is stopped.
pub(crate) struct Load {
    calls: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<Vec<String>>>,
}

impl Load {
    pub(crate) fn start(client: &Client, namespace: &str) -> Self {
        let (calls, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let run = |number: usize| {
            let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
            let (calls, stop) = (calls.clone(), stop.clone());
            tokio::spawn(async move {
                let mut map = ConfigMap::default();
                map.metadata.name = Some(format!("load-{number}"));
                let dry_run = PostParams { dry_run: true, ..PostParams::default() };
                let mut failures = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    if let Err(error) = api.create(&dry_run, &map).await {
                        failures.push(error.to_string());
                    }
                    calls.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                }
                failures
            })
        };
        let tasks = (0..4).map(run).collect();
        Self { calls, stop, tasks }
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// How many calls there were, and what failed.
    pub(crate) async fn stop(self) -> (u64, Vec<String>) {
        self.stop.store(true, Ordering::Relaxed);
        let mut failures = Vec::new();
        for task in self.tasks {
            failures.extend(task.await.unwrap());
        }
        (self.calls.load(Ordering::Relaxed), failures)
    }
}
