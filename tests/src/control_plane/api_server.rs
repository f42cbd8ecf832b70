//! kube-apiserver: its flags, its start and its end.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::{sleep, timeout};

use super::data_directory::DataDirectory;
use super::etcd::Etcd;
use super::program::Program;
use super::{ControlPlaneError, Options};
use crate::pki::{self, Pki};

/// The addresses of Services. No packet ever goes there, but Services want one.
const SERVICE_RANGE: &str = "10.96.0.0/16";
/// The first of them is the API server itself, as seen from pods.
pub(super) const SERVICE_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 96, 0, 1));

/// On an idle machine it takes about three seconds; a machine that builds Go beside it needs far longer.
const READY_PATIENCE: Duration = Duration::from_secs(90);
const READY_GLANCE: Duration = Duration::from_millis(50);
/// A server that takes the connection and then says nothing must not hold up the look at its process.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);
/// Open watches end at once; requests that are being served get this long.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct ApiServer {
    command: Command,
    log: PathBuf,
    program: Option<Program>,
}

impl ApiServer {
    pub(super) fn new(
        binary: &Path,
        port: u16,
        prefix: &str,
        etcd: &Etcd,
        pki: &Pki,
        directory: &DataDirectory,
        options: &Options,
    ) -> Result<Self, ControlPlaneError> {
        let mut command = Command::new(binary);
        command.args(etcd.flags(prefix)).args(serving(port, pki)).args(identities(pki));
        if let Some(policy) = &options.audit_policy {
            command.args(audit(policy, directory)?);
        }
        if options.webhook_client_certificate {
            command.args(webhook_client(pki, directory)?);
        }
        command.args(&options.api_server_flags);
        Ok(Self { command, log: directory.log("kube-apiserver"), program: None })
    }

    /// Starts it and waits until it says that it is ready. Watches etcd meanwhile, since without it this
    /// never happens.
    pub(super) async fn start(
        &mut self,
        client: &kube::Client,
        etcd: &Etcd,
    ) -> Result<(), ControlPlaneError> {
        let program = self.program.insert(Program::start("kube-apiserver", &self.command, self.log.clone())?);
        let started = Instant::now();
        loop {
            etcd.check()?;
            program.check()?;
            let answer = readiness(client).await;
            match answer {
                Ok(()) => return Ok(()),
                Err(waiting_for) if started.elapsed() > READY_PATIENCE => {
                    return Err(program.not_ready(READY_PATIENCE, waiting_for));
                }
                Err(_) => sleep(READY_GLANCE).await,
            }
        }
    }

    /// On a thread of its own, since the server ends only after its clients have got their answers, and they
    /// may be tasks of the same runtime.
    pub(super) async fn stop(&mut self) {
        if let Some(mut program) = self.program.take() {
            tokio::task::spawn_blocking(move || program.stop(STOP_PATIENCE)).await.ok();
        }
    }

    /// An error if it ended unasked; one that was stopped is fine.
    pub(super) fn check(&mut self) -> Result<(), ControlPlaneError> {
        self.program.as_mut().map_or(Ok(()), Program::check)
    }
}

/// Asks a server whether it is ready; the error says why not.
pub(crate) async fn readiness(client: &kube::Client) -> Result<(), String> {
    let request = http::Request::get("/readyz").body(Vec::new()).map_err(|error| error.to_string())?;
    match timeout(ANSWER_PATIENCE, client.request_text(request)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("no answer".to_owned()),
    }
}

fn serving(port: u16, pki: &Pki) -> Vec<String> {
    let file = |name: &str| pki.file(name).display().to_string();
    vec![
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--tls-cert-file={}", file("apiserver.crt")),
        format!("--tls-private-key-file={}", file("apiserver.key")),
        format!("--service-cluster-ip-range={SERVICE_RANGE}"),
        // The Service `kubernetes` may not have a loopback address as its endpoint, so it has none.
        "--advertise-address=127.0.0.1".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        "--allow-privileged=true".to_owned(),
        "--profiling=false".to_owned(),
        // No --enable-aggregator-routing: the aggregator then calls a Service by its name, and one of type
        // ExternalName that says `localhost` leads to a server of the test.
    ]
}

fn identities(pki: &Pki) -> Vec<String> {
    let file = |name: &str| pki.file(name).display().to_string();
    vec![
        "--authorization-mode=Node,RBAC".to_owned(),
        format!("--client-ca-file={}", file("ca.crt")),
        "--enable-bootstrap-token-auth=true".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", file("sa.pub")),
        format!("--service-account-signing-key-file={}", file("sa.key")),
        format!("--kubelet-client-certificate={}", file("apiserver-kubelet-client.crt")),
        format!("--kubelet-client-key={}", file("apiserver-kubelet-client.key")),
        format!("--proxy-client-cert-file={}", file("front-proxy-client.crt")),
        format!("--proxy-client-key-file={}", file("front-proxy-client.key")),
        format!("--requestheader-client-ca-file={}", file("front-proxy-ca.crt")),
        "--requestheader-allowed-names=front-proxy-client".to_owned(),
        "--requestheader-username-headers=X-Remote-User".to_owned(),
        "--requestheader-group-headers=X-Remote-Group".to_owned(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
    ]
}

pub(super) fn audit_log(directory: &DataDirectory) -> PathBuf {
    directory.logs().join("audit.jsonl")
}

fn audit(policy: &str, directory: &DataDirectory) -> Result<[String; 3], ControlPlaneError> {
    let path = directory.path().join("config/audit-policy.yaml");
    pki::write(&path, policy)?;
    Ok([
        format!("--audit-policy-file={}", path.display()),
        format!("--audit-log-path={}", audit_log(directory).display()),
        // A test reads the log right after the request that it is about.
        "--audit-log-mode=blocking".to_owned(),
    ])
}

fn webhook_client(pki: &Pki, directory: &DataDirectory) -> Result<[String; 1], ControlPlaneError> {
    let clients = directory.path().join("config/webhook-clients.json");
    let admission = directory.path().join("config/admission.json");
    // JSON is YAML. `*` is the user for every webhook that has none of its own.
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "users": [{ "name": "*", "user": {
            "client-certificate": pki.file("apiserver-webhook-client.crt"),
            "client-key": pki.file("apiserver-webhook-client.key"),
        }}],
    });
    let plugin = |name: &str| {
        json!({ "name": name, "configuration": {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "WebhookAdmissionConfiguration",
            "kubeConfigFile": &clients,
        }})
    };
    let configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [plugin("ValidatingAdmissionWebhook"), plugin("MutatingAdmissionWebhook")],
    });
    pki::write(&clients, &kubeconfig.to_string())?;
    pki::write(&admission, &configuration.to_string())?;
    Ok([format!("--admission-control-config-file={}", admission.display())])
}
