//! A second webhook, which says no to what it is told to: to one request in ten that ours has admitted, for example.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::api::{Api, DeleteParams, PostParams};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::harness::Gate;

const NAME: &str = "denier";

pub(crate) struct Denier {
    task: JoinHandle<()>,
    is_asked: Arc<AtomicBool>,
}

impl Denier {
    /// Denies every request for which `allows` is not so, after that time: all webhooks are asked at once, and some should
    /// answer last.
    pub(crate) async fn start(
        gate: &Gate,
        delay: Duration,
        allows: impl Fn(&Value) -> bool + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let authority = gate.plane().pki().cluster();
        let issued = authority.server(NAME, &[IpAddr::V4(Ipv4Addr::LOCALHOST)], &[]).unwrap();
        let chain = vec![CertificateDer::from_pem_slice(issued.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let is_asked = Arc::new(AtomicBool::new(false));
        let asked = is_asked.clone();
        let allows = move |request: &Value| {
            asked.store(true, Ordering::Relaxed);
            allows(request)
        };
        let task =
            tokio::spawn(accept(listener, TlsAcceptor::from(Arc::new(config)), delay, Arc::new(allows)));
        let bundle = k8s_openapi::ByteString(authority.certificate().as_bytes().to_vec());
        let registration = json!({
            "metadata": { "name": NAME },
            "webhooks": [{
                "name": "denier.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "failurePolicy": "Ignore", "timeoutSeconds": 5,
                "clientConfig": { "url": format!("https://127.0.0.1:{port}/"), "caBundle": bundle },
                "rules": [{ "apiGroups": ["butler.butlerlabs.dev"], "apiVersions": ["v1alpha1"],
                    "operations": ["CREATE", "UPDATE"], "resources": ["tenantclusters", "tenantclusters/scale"] }],
            }],
        });
        let registration: ValidatingWebhookConfiguration = serde_json::from_value(registration).unwrap();
        Api::all(gate.client().clone()).create(&PostParams::default(), &registration).await.unwrap();
        Self { task, is_asked }
    }

    /// Whether the API server asks it already, which it does a moment after the registration is stored.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Relaxed)
    }

    pub(crate) async fn stop(self, gate: &Gate) {
        let api: Api<ValidatingWebhookConfiguration> = Api::all(gate.client().clone());
        api.delete(NAME, &DeleteParams::default()).await.unwrap();
        // The API server may ask a moment longer, and gets no answer, which counts as a yes.
        self.task.abort();
    }
}

type Allows = dyn Fn(&Value) -> bool + Send + Sync;

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, delay: Duration, allows: Arc<Allows>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, allows) = (acceptor.clone(), allows.clone());
        tokio::spawn(async move {
            if let Ok(stream) = acceptor.accept(stream).await {
                answer(BufReader::new(stream), delay, &*allows).await.ok();
            }
        });
    }
}

async fn answer(
    mut stream: BufReader<TlsStream<TcpStream>>,
    delay: Duration,
    allows: &Allows,
) -> std::io::Result<()> {
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            match stream.read_line(&mut line).await? {
                0 => return Ok(()),
                1 | 2 => break,
                _ => {}
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        tokio::time::sleep(delay).await;
        let review: Value = serde_json::from_slice(&body).unwrap_or_default();
        let response = json!({ "uid": review["request"]["uid"], "allowed": allows(&review["request"]) });
        let reply =
            json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response })
                .to_string();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length:";
        stream.write_all(format!("{head} {}\r\n\r\n{reply}", reply.len()).as_bytes()).await?;
        stream.flush().await?;
    }
}
