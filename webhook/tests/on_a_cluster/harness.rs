//! The real program on a real API server: under the rights that the manifests give it, registered as the manifests
//! register it except for where it is.

mod balancer;
mod replica;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use butler_bench::control_plane::free_port;
use butler_bench::{ControlPlane, Options, User};
use butler_webhook::registration::{self, Target};
use kube::Client;
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use self::balancer::Balancer;
pub(crate) use self::replica::Replica;
use crate::objects::{eventually, install_definitions, objects_of, read};

/// The user that the ServiceAccount of the manifests is.
pub(crate) const ACCOUNT: &str = "system:serviceaccount:butler-system:butler-webhook";
/// Its groups.
pub(crate) const GROUPS: [&str; 2] = ["system:serviceaccounts", "system:serviceaccounts:butler-system"];
/// The name in the certificate that the API server shows to webhooks, where it shows one.
pub(crate) const CALLER: &str = "kube-apiserver-webhook-client";

/// For how many seconds etcd may work on what the API server has given up.
pub(crate) const BEYOND_THE_TIMEOUT: u16 = 8;

/// A gate with one replica.
pub(crate) async fn start() -> Gate {
    Gate::start(Setup::default()).await
}

/// What kind of gate is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// How many replicas there are.
    pub(crate) replicas: usize,
    /// Whether a caller has to prove that it is the API server.
    pub(crate) caller_proof: bool,
    /// Whether everything that the program asks of the API server is recorded.
    pub(crate) audited: bool,
    /// Whether everything that anybody asks of Butler's kinds is recorded.
    pub(crate) recorded: bool,
    /// Whether the program reads policies from a directory.
    pub(crate) policies: bool,
    /// Whether the policy service is served, and known to the aggregator.
    pub(crate) service: bool,
    /// For how many seconds a replica that is asked to stop goes on.
    pub(crate) drain_delay: u16,
    /// Within how many seconds the API server gives up a request, if not as it does by itself.
    pub(crate) request_timeout: Option<u16>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            replicas: 1,
            caller_proof: false,
            audited: false,
            recorded: false,
            policies: false,
            service: false,
            drain_delay: 0,
            request_timeout: None,
        }
    }
}

/// A control plane with Butler's kinds and the webhook in force. Everything ends when it is dropped.
pub(crate) struct Gate {
    // Before the control plane, which they talk to and whose directory has their logs.
    replicas: Vec<Replica>,
    balancer: Balancer,
    /// In front of the policy service of all replicas.
    service_balancer: Balancer,
    setup: Setup,
    account: User,
    client: Client,
    plane: ControlPlane,
}

impl Gate {
    pub(crate) async fn start(setup: Setup) -> Self {
        let mut options = Options::default();
        if setup.caller_proof {
            options = options.webhook_client_certificate();
        }
        if setup.audited || setup.recorded {
            options = options.audit_policy(audit_policy(setup));
        }
        if let Some(seconds) = setup.request_timeout {
            options = options.api_server_flags([&*format!("--request-timeout={seconds}s")]);
        }
        let plane = ControlPlane::start(options).await.unwrap();
        install_definitions(&plane).await;
        for manifest in ["namespace", "rbac"] {
            plane.apply(&read(&format!("manifests/webhook/{manifest}.yaml"))).await.unwrap();
        }
        let account = plane.user(ACCOUNT, &GROUPS).unwrap();
        let (client, balancer) = (plane.client().await.unwrap(), Balancer::start().await);
        let service_balancer = Balancer::start().await;
        let mut gate =
            Self { replicas: Vec::new(), balancer, service_balancer, setup, account, client, plane };
        fs::create_dir(gate.policy_directory()).unwrap();
        for _ in 0..setup.replicas {
            gate.add_replica().await;
        }
        gate.register().await;
        if setup.service {
            gate.register_service().await;
        }
        gate
    }

    pub(crate) fn plane(&self) -> &ControlPlane {
        &self.plane
    }

    /// A client of the administrator's.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Where the API server calls: in front of all replicas.
    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.balancer.port())
    }

    pub(crate) fn replicas(&self) -> &[Replica] {
        &self.replicas
    }

    /// Starts one more replica, and sends calls to it as soon as it is ready.
    pub(crate) async fn add_replica(&mut self) {
        let number = fs::read_dir(self.plane.logs()).unwrap().count();
        let log = self.plane.logs().join(format!("butler-webhook-{number}.log"));
        let replica = loop {
            let arguments = self.arguments();
            let ports = [(); 3].map(|()| free_port().unwrap());
            let mut replica = Replica::start(&arguments, ports, self.setup.service, log.clone());
            if replica.is_ready_at_last().await {
                break replica;
            }
            // Somebody was faster on one of the ports; anything else is for a person to look at.
            assert!(replica.log().contains("in use"), "the webhook has ended:\n{}", replica.log());
        };
        self.balancer.add(replica.port());
        self.service_balancer.add(replica.service_port());
        self.replicas.push(replica);
    }

    /// Where the program reads policies, if it reads any.
    pub(crate) fn policy_directory(&self) -> PathBuf {
        self.plane.data_directory().join("policies")
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            format!("--kubeconfig={}", self.account.kubeconfig().display()),
            "--namespace=butler-system".to_owned(),
            "--certificate-name=127.0.0.1".to_owned(),
            format!("--registration-url={}", self.url()),
            format!("--drain-delay={}", self.setup.drain_delay),
        ];
        if let Some(seconds) = self.setup.request_timeout {
            arguments.push(format!("--request-bound={}", seconds + BEYOND_THE_TIMEOUT));
        }
        if self.setup.caller_proof {
            arguments.push(format!("--client-ca={}", self.plane.pki().file("ca.crt").display()));
            arguments.push(format!("--client-name={CALLER}"));
        }
        if self.setup.policies {
            arguments.push(format!("--policy-dir={}", self.policy_directory().display()));
        }
        arguments
    }

    /// Takes a replica out and asks it to stop, as a rollout does.
    pub(crate) fn stop_replica(&mut self, index: usize) {
        let mut replica = self.replicas.remove(index);
        self.balancer.remove(replica.port());
        self.service_balancer.remove(replica.service_port());
        replica.stop();
    }

    /// Ends a replica as a failing node does: the balancer finds out by itself.
    pub(crate) fn kill_replica(&mut self, index: usize) {
        drop(self.replicas.remove(index));
    }

    /// Registers the stages one after the other, and waits for each until the API server asks, and trusts the answer.
    async fn register(&self) {
        let (target, params) = (Target::Url(self.url()), PostParams::default());
        let mutating = registration::mutating(&target);
        kube::Api::all(self.client.clone()).create(&params, &mutating).await.unwrap();
        // The API server takes a cluster that says nothing only with everything filled in that it requires.
        eventually("the mutating stage is in force", async || self.dry_create("TenantCluster").await.is_ok())
            .await;

        let validating = registration::validating(&target);
        kube::Api::all(self.client.clone()).create(&params, &validating).await.unwrap();
        // The settings of a platform are called `butler`, so this one is refused.
        eventually("the validating stage is in force", async || {
            let tried = self.dry_create("ButlerConfig").await;
            let refusal = "admission webhook \"vbutlerconfig.kb.io\" denied the request";
            tried.is_err_and(|refused| refused.to_string().contains(refusal))
        })
        .await;
    }

    /// Makes the service known as the manifest does, except for where it is, and waits until the aggregator is content.
    async fn register_service(&self) {
        let service = json!({ "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": "butler-webhook", "namespace": "butler-system" },
            "spec": { "type": "ExternalName", "externalName": "localhost" } });
        self.plane.apply(&service.to_string()).await.unwrap();
        let manifest = read("manifests/webhook/policy-service.yaml");
        let port = format!("port: {}", self.service_balancer.port());
        assert!(manifest.contains("port: 8443"));
        self.plane.apply(&manifest.replace("port: 8443", &port)).await.unwrap();
        eventually("the policy service is available", async || self.is_service_available().await).await;
    }

    /// What the aggregator says of the policy service.
    pub(crate) async fn is_service_available(&self) -> bool {
        let path = "-o=jsonpath={.status.conditions[?(@.type==\"Available\")].status}";
        let name = butler_webhook::service::API_SERVICE;
        let shown = self.plane.kubectl(&["get", "apiservice", name, path]).await.unwrap();
        shown.stdout == "True"
    }

    async fn dry_create(&self, kind: &str) -> Result<DynamicObject, kube::Error> {
        let object = json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": kind,
            "metadata": { "name": "probe" }, "spec": {} });
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        let objects = objects_of(&self.client, kind, "default");
        objects.create(&dry_run, &serde_json::from_value(object).unwrap()).await
    }

    /// Everything that the program asked of the API server, as `verb resource`, if that is recorded.
    pub(crate) fn requests(&self) -> BTreeSet<String> {
        let shown = |event: &Value| {
            let part = event["objectRef"]["subresource"].as_str().map(|part| format!("/{part}"));
            let resource = event["objectRef"]["resource"].as_str()?;
            Some(format!("{} {resource}{}", event["verb"].as_str()?, part.unwrap_or_default()))
        };
        self.audit_events().iter().filter_map(shown).collect()
    }

    /// What of that it was refused.
    pub(crate) fn refusals(&self) -> Vec<String> {
        let events = self.audit_events();
        let refused = events.iter().filter(|event| event["responseStatus"]["code"] == 403);
        refused.map(|event| format!("{} {}", event["verb"], event["requestURI"])).collect()
    }

    /// Everything that was recorded.
    pub(crate) fn audit_events(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.plane.audit_log()).unwrap();
        // The last line may be half written.
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

/// Who did what, of the webhook alone or to Butler's kinds alone.
fn audit_policy(setup: Setup) -> String {
    let recorded = if setup.recorded {
        json!({ "level": "Metadata", "resources": [{ "group": butler_api::GROUP }] })
    } else {
        json!({ "level": "Metadata", "users": [ACCOUNT] })
    };
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [recorded, { "level": "None" }],
    })
    .to_string()
}
