//! Certificates from files that change as a kubelet, cert-manager or a person changes them.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test by panicking, like the test itself")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use butler_bench::ControlPlane;
use butler_bench::pki::{Authority, Issued};
use butler_certs::{Callers, Certificates, Events, Files, Serving};
use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use k8s_openapi::api::events::v1::Event;
use kube::{Api, Resource};
use prometheus_client::registry::Registry;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// An authority in a directory of its own, and a directory that somebody mounts.
struct Mount {
    authority: Authority,
    authority_pem: String,
    directory: TempDir,
    swaps: u32,
}

impl Mount {
    fn new() -> Self {
        let keys = tempfile::tempdir().unwrap();
        let authority = Authority::open(&keys.path().join("ca"), "files").unwrap();
        let authority_pem = authority.certificate().to_owned();
        Self { authority, authority_pem, directory: tempfile::tempdir().unwrap(), swaps: 0 }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn issue(&self) -> Issued {
        self.authority.server("files", &[], &["files.example.com"]).unwrap()
    }

    /// As a kubelet does: a new directory beside, a symlink to it under another name, renamed onto `..data`, and
    /// the old directory removed. The names people read are links through `..data` and never change.
    fn swap(&mut self, certificate: &str, key: &str) {
        self.swaps += 1;
        let version = format!("..2026_01_01_{}", self.swaps);
        fs::create_dir(self.path().join(&version)).unwrap();
        fs::write(self.path().join(&version).join("tls.crt"), certificate).unwrap();
        fs::write(self.path().join(&version).join("tls.key"), key).unwrap();
        fs::write(self.path().join(&version).join("ca.crt"), &self.authority_pem).unwrap();
        symlink(&version, self.path().join("..data_tmp")).unwrap();
        let old = fs::read_link(self.path().join("..data")).ok();
        fs::rename(self.path().join("..data_tmp"), self.path().join("..data")).unwrap();
        match old {
            Some(old) => fs::remove_dir_all(self.path().join(old)).unwrap(),
            None => {
                for name in ["tls.crt", "tls.key", "ca.crt"] {
                    symlink(Path::new("..data").join(name), self.path().join(name)).unwrap();
                }
            }
        }
    }
}

struct Server {
    serving: Arc<Serving>,
    metrics: Registry,
    task: JoinHandle<()>,
}

impl Server {
    fn start(files: Files) -> Self {
        let certificates = Certificates::from_files(files);
        let mut metrics = Registry::default();
        certificates.metrics().register(&mut metrics);
        Self { serving: certificates.serving(), metrics, task: tokio::spawn(certificates.run()) }
    }

    fn metric(&self, name: &str) -> u64 {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.metrics).unwrap();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0, |value| value.parse().unwrap())
    }

    fn refused(&self, reason: &str) -> u64 {
        self.metric(&format!("butler_certificate_refusals_total{{reason=\"{reason}\"}}"))
    }

    /// Whether a handshake with a client that trusts the authority ends with this certificate.
    fn shows(&self, mount: &Mount, issued: &Issued) -> bool {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server =
            butler_certs::server_config(self.serving.clone(), butler_certs::Proof::NotAsked).unwrap();
        let mut server = ServerConnection::new(Arc::new(server)).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(mount.authority_pem.as_bytes()).unwrap()).unwrap();
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("files.example.com").unwrap();
        let mut client = ClientConnection::new(Arc::new(client), name).unwrap();
        while client.is_handshaking() || server.is_handshaking() {
            let mut wire = Vec::new();
            client.write_tls(&mut wire).unwrap();
            let mut sent = wire.as_slice();
            while !sent.is_empty() {
                server.read_tls(&mut sent).unwrap();
                server.process_new_packets().unwrap();
            }
            let mut wire = Vec::new();
            server.write_tls(&mut wire).unwrap();
            let mut sent = wire.as_slice();
            while !sent.is_empty() {
                client.read_tls(&mut sent).unwrap();
                client.process_new_packets().unwrap();
            }
        }
        let expected = CertificateDer::from_pem_slice(issued.certificate.as_bytes()).unwrap();
        client.peer_certificates().unwrap().first() == Some(&expected)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) -> Duration {
    let started = Instant::now();
    while !condition().await {
        assert!(started.elapsed() < Duration::from_secs(60), "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    started.elapsed()
}

#[tokio::test]
async fn a_kubelet_swaps_the_files_and_the_new_ones_are_served() {
    let mut mount = Mount::new();
    let server = Server::start(Files::in_directory(mount.path()));
    assert!(!server.serving.is_ready());
    for swap in 0..10 {
        let issued = mount.issue();
        mount.swap(&issued.certificate, &issued.key);
        server.serving.ready().await;
        let took = eventually("the new one is served", async || server.shows(&mount, &issued)).await;
        println!("swap {swap}: served after {took:.2?}");
    }
    assert_eq!(server.metric("butler_certificate_reloads_total{result=\"loaded\"}"), 10);
    assert_eq!(server.metric("butler_certificate_reloads_total{result=\"refused\"}"), 0);
    assert!(server.metric("butler_certificate_expiry_timestamp_seconds{certificate=\"authority\"}") > 0);
}

#[tokio::test]
async fn plain_files_written_one_after_the_other_are_taken_together() {
    let mount = Mount::new();
    let server = Server::start(Files::in_directory(mount.path()));
    for _ in 0..3 {
        let issued = mount.issue();
        fs::write(mount.path().join("tls.crt"), &issued.certificate).unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        fs::write(mount.path().join("tls.key"), &issued.key).unwrap();
        server.serving.ready().await;
        eventually("the new one is served", async || server.shows(&mount, &issued)).await;
    }
}

#[tokio::test]
async fn a_directory_that_comes_late_or_is_made_anew_is_followed() {
    let mount = Mount::new();
    let inner = mount.path().join("later");
    let server = Server::start(Files::in_directory(&inner));
    for _ in 0..2 {
        let issued = mount.issue();
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("tls.crt"), &issued.certificate).unwrap();
        fs::write(inner.join("tls.key"), &issued.key).unwrap();
        server.serving.ready().await;
        eventually("the new one is served", async || server.shows(&mount, &issued)).await;
        fs::remove_dir_all(&inner).unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(server.shows(&mount, &issued), "what is gone is still served");
    }
}

#[tokio::test]
async fn each_bad_pair_is_refused_once_with_an_event_while_the_old_one_goes_on() {
    let plane = ControlPlane::shared().await.unwrap();
    let (client, namespace) = (plane.client().await.unwrap(), plane.namespace().await.unwrap());
    let about = ObjectReference {
        namespace: Some(namespace.clone()),
        name: Some("webhook-0".to_owned()),
        kind: Some("Pod".to_owned()),
        api_version: Some(ConfigMap::api_version(&()).into_owned()),
        ..ObjectReference::default()
    };
    let mut mount = Mount::new();
    let good = mount.issue();
    mount.swap(&good.certificate, &good.key);
    let server =
        Server::start(Files::in_directory(mount.path()).events(Events::about(client.clone(), about)));
    server.serving.ready().await;

    let other = mount.issue();
    let over = {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(["files.example.com".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2020, 2, 1);
        Issued { certificate: params.self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
    };
    for (reason, certificate, key) in [
        ("KeyMismatch", &*good.certificate, &*other.key),
        ("NoCertificate", "garbage", &*other.key),
        ("NoKey", &*other.certificate, ""),
        ("Expired", &*over.certificate, &*over.key),
    ] {
        mount.swap(certificate, key);
        eventually(reason, async || server.refused(reason) == 1).await;
        assert!(server.shows(&mount, &good), "{reason}");
    }
    assert_eq!(server.metric("butler_certificate_reloads_total{result=\"refused\"}"), 4);

    let events: Api<Event> = Api::namespaced(client, &namespace);
    eventually("an event", async || {
        let events = events.list(&Default::default()).await.unwrap().items;
        events.iter().any(|event| {
            event.reason.as_deref() == Some("CertificateRefused")
                && event.note.as_deref().is_some_and(|note| {
                    note.ends_with(
                        ": `tls.key` does not belong to the certificate in `tls.crt`; replace both together; \
                         until then the certificate in use goes on",
                    )
                })
        })
    })
    .await;

    // And a good one after all the bad ones.
    let good = mount.issue();
    mount.swap(&good.certificate, &good.key);
    eventually("the good one is served", async || server.shows(&mount, &good)).await;
}

#[tokio::test]
async fn a_client_authority_in_a_file_is_followed() {
    let (old, new) = (Mount::new(), Mount::new());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("client-ca.crt");
    fs::write(&path, &old.authority_pem).unwrap();
    let callers = Callers::from_file(&path, ["kube-apiserver"]).unwrap();
    let following = tokio::spawn(callers.clone().follow(path.clone(), Default::default()));
    let by_new = new.authority.client("kube-apiserver", &[]).unwrap();
    let by_new = [CertificateDer::from_pem_slice(by_new.certificate.as_bytes()).unwrap()];
    assert!(callers.recognise(&by_new, jiff::Timestamp::now()).is_err());
    fs::write(&path, "garbage").unwrap();
    fs::write(&path, &new.authority_pem).unwrap();
    eventually("the new one is trusted", async || callers.recognise(&by_new, jiff::Timestamp::now()).is_ok())
        .await;
    following.abort();
}
