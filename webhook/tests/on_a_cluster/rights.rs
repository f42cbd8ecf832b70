//! The rights in `manifests/webhook/rbac.yaml`: the program is never refused anything, and uses what it is given.

use std::collections::BTreeSet;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use crate::direct::{send, trusted};
use crate::harness::{Gate, Setup};
use crate::objects::{documents, eventually, objects_of, read};

const SECRET: &str = "butler-webhook-certificates";

/// Somebody who may write Teams and is no administrator.
const WRITER: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: writer }
rules: [{ apiGroups: [butler.butlerlabs.dev], resources: [teams], verbs: [get, create, patch] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: writer }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: writer }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: writer@example.com }]
";

const TEAM_WITH_LIMITS: &str = "
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: Team
metadata: { name: generous }
spec: { resourceLimits: { maxClusters: 1000 } }
";

const BRIEF_TEAM: &str = "
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: Team
metadata: { name: brief }
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_is_refused_nothing_and_uses_what_it_is_given() {
    let gate = Gate::start(Setup { audited: true, service: true, ..Setup::default() }).await;
    for sample in ["namespaces", "butler-config", "teams", "provider-config", "addon-definitions"] {
        gate.plane().apply(&read(&format!("manifests/samples/platform/{sample}.yaml"))).await.unwrap();
    }
    gate.plane().apply(&read("manifests/samples/tenant-cluster.yaml")).await.unwrap();
    somebody_without_the_right_to_administer_is_told_so(&gate).await;
    certificates_are_looked_after(&gate).await;
    a_team_takes_its_ledger_along(&gate).await;
    somebody_comes_with_a_token(&gate).await;

    assert_eq!(gate.refusals(), [""; 0]);
    let log = gate.replicas()[0].log();
    assert!(!log.to_lowercase().contains("forbidden"), "{log}");

    let used = gate.requests();
    let unused: Vec<_> = granted().into_iter().filter(|right| !used.contains(right)).collect();
    assert_eq!(unused, [""; 0]);
}

/// Whether a caller is an administrator is asked of the API server.
async fn somebody_without_the_right_to_administer_is_told_so(gate: &Gate) {
    gate.plane().apply(WRITER).await.unwrap();
    let writer = gate.plane().user("writer@example.com", &[]).unwrap();
    let kubeconfig = format!("--kubeconfig={}", writer.kubeconfig().display());
    let create = ["create", &kubeconfig, "-f", "-"];
    eventually("the role is in force", async || {
        let output = gate.plane().kubectl_with_input(&create, TEAM_WITH_LIMITS).await.unwrap();
        assert!(!output.status.success(), "{}", output.stdout);
        output.stderr.contains("spec.resourceLimits")
    })
    .await;
}

/// To the policy service. Whether a token is one is asked of the API server.
async fn somebody_comes_with_a_token(gate: &Gate) {
    let request =
        "GET /apis HTTP/1.1\r\nHost: service\r\nConnection: close\r\nAuthorization: Bearer x\r\n\r\n";
    let bundle = trusted(gate.client()).await;
    let (answer, _) = send(gate.replicas()[0].service_port(), &bundle, None, request).await;
    assert!(answer.starts_with(b"HTTP/1.1 401 "), "{}", String::from_utf8_lossy(&answer));
}

/// The ledger of a team that goes without clusters goes too.
async fn a_team_takes_its_ledger_along(gate: &Gate) {
    let ledgers = objects_of(gate.client(), "QuotaLedger", "butler-system");
    gate.plane().apply(BRIEF_TEAM).await.unwrap();
    eventually("the team has a ledger", async || ledgers.get_opt("brief").await.unwrap().is_some()).await;
    let teams = objects_of(gate.client(), "Team", "");
    teams.delete("brief", &Default::default()).await.unwrap();
    eventually("the ledger is gone", async || ledgers.get_opt("brief").await.unwrap().is_none()).await;
}

/// A bundle that somebody emptied, a certificate that is renewed, and a Secret that somebody damaged.
async fn certificates_are_looked_after(gate: &Gate) {
    let registrations: Api<ValidatingWebhookConfiguration> = Api::all(gate.client().clone());
    let secrets: Api<Secret> = Api::namespaced(gate.client().clone(), "butler-system");
    let params = PatchParams::default();

    let empty = json!({ "webhooks": [{ "name": "vteam.kb.io", "clientConfig": { "caBundle": null } }] });
    registrations.patch("butler-webhook", &params, &Patch::Strategic(empty)).await.unwrap();
    eventually("the bundle is back", async || {
        let webhooks = registrations.get("butler-webhook").await.unwrap().webhooks.unwrap();
        webhooks.iter().all(|webhook| webhook.client_config.ca_bundle.is_some())
    })
    .await;

    let damaged = ByteString(b"damaged".to_vec());
    let damage = json!({ "data": { "tls.crt": damaged } });
    secrets.patch(SECRET, &params, &Patch::Merge(damage)).await.unwrap();
    eventually("the certificate is made anew", async || {
        secrets.get(SECRET).await.unwrap().data.unwrap().get("tls.crt").is_some_and(|value| *value != damaged)
    })
    .await;
    let events: Api<Event> = Api::namespaced(gate.client().clone(), "butler-system");
    eventually("an event says so", async || {
        !events.list(&Default::default()).await.unwrap().items.is_empty()
    })
    .await;
}

/// Every right in the manifest that does not depend on what happens to be denied: a live look is a `get` of whatever kind
/// a denial rests on, and an event is patched when the same happens again.
fn granted() -> BTreeSet<String> {
    let mut granted = BTreeSet::new();
    for mut object in documents("manifests/webhook/rbac.yaml") {
        let Some(rules) = object.data.get_mut("rules") else { continue };
        let rules: Vec<PolicyRule> = serde_json::from_value(rules.take()).unwrap();
        for rule in rules {
            for resource in rule.resources.unwrap() {
                for verb in &rule.verbs {
                    if !matches!((&*resource, &**verb), ("events", "patch"))
                        && (verb != "get" || resource == "secrets")
                    {
                        granted.insert(format!("{verb} {resource}"));
                    }
                }
            }
        }
    }
    granted
}
