//! The API server calls servers of a test on loopback, and shows them who it is.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use butler_bench::pki::LOOPBACK;
use butler_bench::{ControlPlane, Options};
use k8s_openapi::ByteString;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

/// One request as it arrived: its head, and the caller's certificate if there was one.
struct Call {
    head: String,
    caller: Option<Vec<u8>>,
}

impl Call {
    fn is_from(&self, name: &str) -> bool {
        let caller = self.caller.as_deref().unwrap_or_default();
        caller.windows(name.len()).any(|window| window == name.as_bytes())
    }
}

/// A server that records its calls and answers each with an empty object.
struct Recorder {
    port: u16,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Recorder {
    fn start(plane: &ControlPlane, names: &[&str]) -> Self {
        let identity = plane.pki().cluster().server("recorder", &LOOPBACK, names).unwrap();
        let mut roots = RootCertStore::empty();
        for authority in ["ca.crt", "front-proxy-ca.crt"] {
            let pem = fs::read(plane.pki().file(authority)).unwrap();
            roots.add(CertificateDer::from_pem_slice(&pem).unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone())
            .allow_unauthenticated()
            .build()
            .unwrap();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(
                vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap()],
                PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap(),
            )
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let calls = Arc::new(Mutex::new(Vec::new()));
        let (config, recorded) = (Arc::new(config), calls.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let connection = ServerConnection::new(config.clone()).unwrap();
                let stream = StreamOwned::new(connection, stream.unwrap());
                let recorded = recorded.clone();
                thread::spawn(move || record(stream, &recorded));
            }
        });
        Self { port, calls }
    }

    /// Waits for a call that fits.
    async fn hears(&self, fits: impl Fn(&Call) -> bool) {
        let started = Instant::now();
        while !self.calls.lock().unwrap().iter().any(&fits) {
            let heads: Vec<_> = self.calls.lock().unwrap().iter().map(|call| call.head.clone()).collect();
            assert!(started.elapsed() < Duration::from_secs(30), "heard only {heads:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn record(
    stream: StreamOwned<ServerConnection, std::net::TcpStream>,
    recorded: &Mutex<Vec<Call>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    let caller =
        reader.get_ref().conn.peer_certificates().and_then(|chain| chain.first()).map(|it| it.to_vec());
    recorded.lock().unwrap().push(Call { head, caller });
    let stream = reader.get_mut();
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        .ok()?;
    stream.flush().ok()
}

fn authority(plane: &ControlPlane) -> String {
    let authority = ByteString(plane.pki().cluster().certificate().as_bytes().to_vec());
    serde_json::to_string(&authority).unwrap()
}

fn webhook(plane: &ControlPlane, port: u16, namespace: &str) -> String {
    let authority = authority(plane);
    format!(
        "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{ name: recorder-{port} }}
webhooks:
  - name: recorder.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Ignore
    namespaceSelector: {{ matchLabels: {{ kubernetes.io/metadata.name: {namespace} }} }}
    clientConfig: {{ url: 'https://127.0.0.1:{port}/judge', caBundle: {authority} }}
    rules: [{{ apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps] }}]
"
    )
}

/// Makes ConfigMaps until the webhook has been called: its registration takes a moment to be noticed.
async fn provoke(plane: &ControlPlane, recorder: &Recorder, namespace: &str) {
    let started = Instant::now();
    for number in 0.. {
        let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: try-{number}}}");
        plane.apply_in(namespace, &map).await.unwrap();
        if !recorder.calls.lock().unwrap().is_empty() {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "the webhook was never called");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn webhooks_see_no_client_certificate_unless_asked_for() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace().await.unwrap();
    let recorder = Recorder::start(plane, &["localhost"]);
    plane.apply(&webhook(plane, recorder.port, &namespace)).await.unwrap();
    provoke(plane, &recorder, &namespace).await;
    recorder.hears(|call| call.head.starts_with("POST /judge") && call.caller.is_none()).await;
}

#[tokio::test]
async fn webhooks_see_the_client_certificate_that_was_asked_for() {
    let plane = ControlPlane::start(Options::default().webhook_client_certificate()).await.unwrap();
    let recorder = Recorder::start(&plane, &["localhost"]);
    plane.apply(&webhook(&plane, recorder.port, "default")).await.unwrap();
    provoke(&plane, &recorder, "default").await;
    recorder
        .hears(|call| call.head.starts_with("POST /judge") && call.is_from("kube-apiserver-webhook-client"))
        .await;
}

#[tokio::test]
async fn the_aggregator_reaches_a_server_on_loopback_and_says_who_asks() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace().await.unwrap();
    let recorder = Recorder::start(plane, &[&format!("policy.{namespace}.svc")]);
    let (port, authority) = (recorder.port, authority(plane));
    let registration = format!(
        "
apiVersion: v1
kind: Service
metadata: {{ name: policy, namespace: {namespace} }}
spec: {{ type: ExternalName, externalName: localhost, ports: [{{ port: {port} }}] }}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {{ name: v1.recorder.example.com }}
spec:
  group: recorder.example.com
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 10
  service: {{ name: policy, namespace: {namespace}, port: {port} }}
  caBundle: {authority}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{ name: recorder }}
rules: [{{ apiGroups: [recorder.example.com], resources: [things], verbs: [get] }}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{ name: recorder }}
roleRef: {{ apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: recorder }}
subjects: [{{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: askers }}]
"
    );
    plane.apply(&registration).await.unwrap();
    let wait = ["wait", "apiservice/v1.recorder.example.com", "--for=condition=Available", "--timeout=30s"];
    plane.kubectl(&wait).await.unwrap().success().unwrap();

    let alice = plane.user("alice", &["askers", "team-a"]).unwrap();
    let get = ["get", "--raw", "/apis/recorder.example.com/v1/things/one"];
    assert_eq!(plane.kubectl_as(&alice, &get).await.unwrap().success().unwrap(), "{}");
    recorder
        .hears(|call| {
            call.head.starts_with("GET /apis/recorder.example.com/v1/things/one")
                && call.head.contains("X-Remote-User: alice\r\n")
                && call.head.contains("X-Remote-Group: team-a\r\n")
                && call.is_from("front-proxy-client")
        })
        .await;
}
