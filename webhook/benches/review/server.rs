//! The server, in a process of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use butler_bench::guard::SweptDirectory;
use butler_certs::{Certificates, Files, Proof, server_config};
use butler_policies::Presumption;
use butler_policies::facts::{Fact, FactKey};
use butler_policies::review::Caller;
use butler_webhook::admission::{self, Admission, Reply};
use butler_webhook::endpoint::{Endpoint, Stage};
use butler_webhook::facts::{Look, Snapshots};
use butler_webhook::log::JsonLines;
use butler_webhook::policy_files::Policies;
use butler_webhook::server::{self, AdmissionPort, Drain, Gate, Limits, Readiness};
use bytes::Bytes;

use crate::{objects, policies};

pub(crate) const ARGUMENT: &str = "--serve-reviews";
const DIRECTORY: &str = "BUTLER_BENCH_DIRECTORY";
pub(crate) const FEW: usize = 10;
pub(crate) const MANY: usize = 10_000;

const CONSTANT: &[u8] = br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","allowed":true}}"#;

/// What is asked. One server answers all of it, so that everything but the answer is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Constant,
    Validate,
    Mutate,
    ManyClusters,
    TenPolicies,
    ManyPolicies,
    ConstantUpdate,
    Update,
}

impl Question {
    pub(crate) const ALL: [Self; 8] = [
        Self::Constant,
        Self::Validate,
        Self::Mutate,
        Self::ManyClusters,
        Self::TenPolicies,
        Self::ManyPolicies,
        Self::ConstantUpdate,
        Self::Update,
    ];

    /// Paths of kinds that this server has nothing else to do with stand for what has none of its own.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Constant | Self::ConstantUpdate => "/validate-butler-butlerlabs-dev-v1alpha1-networkpool",
            Self::ManyClusters => "/validate-butler-butlerlabs-dev-v1alpha1-tenantaddon",
            Self::TenPolicies => "/validate-butler-butlerlabs-dev-v1alpha1-providerconfig",
            Self::ManyPolicies => "/validate-butler-butlerlabs-dev-v1alpha1-addondefinition",
            Self::Validate | Self::Update => "/validate-butler-butlerlabs-dev-v1alpha1-tenantcluster",
            Self::Mutate => "/mutate-butler-butlerlabs-dev-v1alpha1-tenantcluster",
        }
    }

    pub(crate) fn body(self) -> Vec<u8> {
        match self {
            Self::Constant | Self::Validate | Self::ManyClusters | Self::TenPolicies | Self::ManyPolicies => {
                objects::creation()
            }
            Self::Mutate => objects::brief_creation(),
            Self::ConstantUpdate | Self::Update => objects::update(),
        }
    }
}

struct Switch {
    constant: Endpoint,
    many: Endpoint,
    ten_policies: Endpoint,
    many_policies: Endpoint,
    clusters: Endpoint,
    few_clusters: Admission<Nobody>,
    many_clusters: Admission<Nobody>,
    by_ten_policies: Admission<Nobody>,
    by_many_policies: Admission<Nobody>,
}

impl Gate for Switch {
    async fn review(&self, endpoint: Endpoint, body: Bytes) -> Reply {
        if endpoint == self.constant {
            Reply::Answer(CONSTANT.to_vec())
        } else if endpoint == self.many {
            self.many_clusters.review(self.clusters, &body).await
        } else if endpoint == self.ten_policies {
            self.by_ten_policies.review(self.clusters, &body).await
        } else if endpoint == self.many_policies {
            self.by_many_policies.review(self.clusters, &body).await
        } else {
            self.few_clusters.review(endpoint, &body).await
        }
    }
}

/// Nothing is looked up: everything that is asked is allowed.
struct Nobody;

impl Look for Nobody {
    async fn look(&self, key: &FactKey, _: &Caller<'_>) -> Fact {
        panic!("{key} was looked up")
    }

    async fn list(&self, presumption: &Presumption) -> Option<Vec<(FactKey, Fact)>> {
        panic!("{presumption:?} was listed")
    }
}

/// Serves until its input ends, which the kernel sees to however its owner ends. Its address is its first line.
pub(crate) fn serve() {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    tracing_subscriber::fmt().event_format(JsonLines).with_writer(std::io::stderr).init();
    let directory = std::env::var(DIRECTORY).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let certificates = Certificates::from_files(Files::in_directory(directory));
        let serving = certificates.serving();
        tokio::spawn(certificates.run());
        serving.ready().await;
        let tls = Arc::new(server_config(serving, Proof::NotAsked).unwrap());
        let admission = |clusters| {
            let facts = Arc::new(Snapshots::new(objects::platform(clusters)));
            Admission::new(facts, Nobody, admission::Metrics::default())
        };
        let by_policies = |count| admission(FEW).with_policies(Arc::new(Policies::of(policies::set(count))));
        let at = |question: Question| Endpoint::at(question.path()).unwrap();
        let gate = Switch {
            constant: at(Question::Constant),
            many: at(Question::ManyClusters),
            ten_policies: at(Question::TenPolicies),
            many_policies: at(Question::ManyPolicies),
            clusters: at(Question::Validate),
            few_clusters: admission(FEW),
            many_clusters: admission(MANY),
            by_ten_policies: by_policies(policies::MATCHING),
            by_many_policies: by_policies(policies::MANY),
        };
        assert_eq!(gate.clusters.stage, Stage::Validating);
        let (limits, metrics) = (Limits::default(), server::Metrics::default());
        let port =
            AdmissionPort::new(gate, tls, limits, Drain::default(), metrics, Arc::new(Readiness::default()));
        println!("{address}");
        port.run(listener, std::future::pending()).await;
    });
}

/// The other side of [`serve`].
pub(crate) struct ServerProcess {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) certificate: Vec<u8>,
    _directory: SweptDirectory,
}

impl ServerProcess {
    pub(crate) fn start() -> Self {
        let directory = SweptDirectory::make("butler-review-").unwrap();
        let certificate = write_certificate(directory.path());
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg(ARGUMENT)
            .env(DIRECTORY, directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().parse().unwrap_or_else(|error| panic!("`{line}`: {error}"));
        Self { child, address, certificate, _directory: directory }
    }

    /// How long its only busy thread has run so far.
    pub(crate) fn time_on_processor(&self) -> Duration {
        let process = self.child.id();
        let text = fs::read_to_string(format!("/proc/{process}/task/{process}/schedstat")).unwrap();
        Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write_certificate(directory: &Path) -> Vec<u8> {
    let names = vec!["localhost".to_owned()];
    let rcgen::CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(names).unwrap();
    fs::write(directory.join("tls.crt"), cert.pem()).unwrap();
    fs::write(directory.join("tls.key"), signing_key.serialize_pem()).unwrap();
    cert.der().to_vec()
}
