use std::collections::BTreeMap;
use std::sync::Mutex;

use butler_api::reference::NsRef;
use butler_policies::Presumption;
use butler_policies::facts::{Fact, FactKey, FactKind, Facts};
use butler_policies::review::Caller;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};

use super::*;

const UID: &str = "705ab4f5-6393-11e8-b7cc-42010a800002";
const VALIDATE: &str = "/validate-butler-butlerlabs-dev-v1alpha1-tenantcluster";
const MUTATE: &str = "/mutate-butler-butlerlabs-dev-v1alpha1-tenantcluster";

/// The API server as a script: what is not in it does not exist. Notes what it was asked.
#[derive(Debug, Default)]
struct Script {
    answers: BTreeMap<FactKey, Fact>,
    asked: Mutex<Vec<FactKey>>,
}

impl Look for Arc<Script> {
    async fn look(&self, key: &FactKey, _: &Caller<'_>) -> Fact {
        self.asked.lock().unwrap().push(key.clone());
        self.answers.get(key).cloned().unwrap_or(Fact::Absent)
    }

    async fn list(&self, presumption: &Presumption) -> Option<Vec<(FactKey, Fact)>> {
        let all = self.answers.iter().filter(|(key, _)| key.kind() == presumption.kind);
        let all: Vec<_> = all.map(|(key, fact)| (key.clone(), fact.clone())).collect();
        (!all.iter().any(|(_, fact)| matches!(fact, Fact::Unreadable))).then_some(all)
    }
}

impl Script {
    fn asked(&self) -> Vec<FactKey> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.sort();
        asked
    }
}

fn provider_key() -> FactKey {
    FactKey::Provider(NsRef { name: "harvester-a".into(), namespace: "butler-system".into() })
}

fn secret_key() -> FactKey {
    FactKey::Secret(NsRef { name: "harvester-a".into(), namespace: "butler-system".into() })
}

fn team_key() -> FactKey {
    FactKey::Team("payments".into())
}

/// Settings with teams, a team, its provider and the provider's credentials.
fn platform() -> BTreeMap<FactKey, Fact> {
    let config = json!({"metadata": {"name": "butler"}, "spec": {"multiTenancy": {"mode": "Enforced"}}});
    let team = json!({"metadata": {"name": "payments"},
        "spec": {"access": {"users": [{"name": "ana@example.org", "role": "admin"}]}}});
    let provider = json!({"metadata": {"name": "harvester-a", "namespace": "butler-system"}, "spec": {
        "provider": "harvester", "credentialsRef": {"name": "harvester-a"},
        "harvester": {"networkName": "default/vlan40", "imageName": "default/talos"}}});
    BTreeMap::from([
        (FactKey::Config, Fact::Config(Arc::new(serde_json::from_value(config).unwrap()))),
        (team_key(), Fact::Team(Arc::new(serde_json::from_value(team).unwrap()))),
        (provider_key(), Fact::Provider(Arc::new(serde_json::from_value(provider).unwrap()))),
        (secret_key(), Fact::Secret),
    ])
}

fn snapshot(known: BTreeMap<FactKey, Fact>) -> Facts {
    let mut facts = Facts::default();
    known.into_iter().for_each(|(key, fact)| facts.learn(key, fact));
    facts
}

fn cluster(version: &str) -> Value {
    json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
        "metadata": {"name": "orders", "namespace": "payments"},
        "spec": {
            "kubernetesVersion": version, "teamRef": {"name": "payments"},
            "providerConfigRef": {"name": "harvester-a"},
            "workers": {"replicas": 3, "machineTemplate": {
                "cpu": 4, "memory": "16Gi", "diskSize": "100Gi", "os": {"type": "talos", "version": "v1.9.3"}}},
        }
    })
}

fn body(object: &Value) -> Vec<u8> {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": UID, "operation": "CREATE", "namespace": "payments", "object": object,
            "resource": {"group": "butler.butlerlabs.dev", "version": "v1alpha1", "resource": "tenantclusters"},
            "userInfo": {"username": "ana@example.org", "groups": ["system:authenticated"]},
        }
    });
    review.to_string().into_bytes()
}

async fn ask(facts: Facts, script: &Arc<Script>, path: &str, body: &[u8]) -> Value {
    let admission = Admission::new(Arc::new(Snapshots::new(facts)), script.clone(), Metrics::default());
    match admission.review(Endpoint::at(path).unwrap(), body).await {
        Reply::Answer(answer) => serde_json::from_slice::<Value>(&answer).unwrap()["response"].take(),
        Reply::NotAReview(message) => panic!("{message}"),
    }
}

#[tokio::test]
async fn a_yes_asks_nobody() {
    let script = Arc::new(Script::default());
    for path in [VALIDATE, MUTATE] {
        let answer = ask(snapshot(platform()), &script, path, &body(&cluster("v1.31.4"))).await;
        assert_eq!((&answer["uid"], &answer["allowed"]), (&json!(UID), &json!(true)), "{answer}");
    }
    assert_eq!(script.asked(), []);
}

#[tokio::test]
async fn what_the_snapshot_does_not_have_yet_is_looked_up_before_a_no() {
    let script = Arc::new(Script { answers: platform(), ..Script::default() });
    let answer = ask(Facts::default(), &script, VALIDATE, &body(&cluster("v1.31.4"))).await;
    assert_eq!(answer["allowed"], true, "{answer}");
    // The Secret only once the provider that names it was found, and each only once.
    assert_eq!(script.asked(), [FactKey::Config, team_key(), provider_key(), secret_key()]);
}

#[tokio::test]
async fn defaults_wait_for_the_team_that_came_in_the_same_file() {
    let script = Arc::new(Script { answers: platform(), ..Script::default() });
    let mut object = cluster("v1.31.4");
    object["spec"]["teamRef"] = Value::Null;
    let answer = ask(Facts::default(), &script, MUTATE, &body(&object)).await;
    assert_eq!(
        answer["auditAnnotations"]["filled-in"].as_str().map(|it| it.contains("spec.teamRef")),
        Some(true)
    );
    assert_eq!(answer["patchType"], "JSONPatch");
}

fn policy(name: &str, scope: Value, image: &str) -> (FactKey, Fact) {
    let policy = json!({"metadata": {"name": name}, "spec": {
        "scope": scope, "options": {"image": {"mode": "pin", "values": [image]}}}});
    let policy = Arc::new(serde_json::from_value(policy).unwrap());
    (FactKey::CreationPolicy(name.into()), Fact::CreationPolicy(policy))
}

#[tokio::test]
async fn a_pin_of_yesterday_denies_nobody() {
    let pinned = policy("images", json!({"platformWide": {}}), "default/other");
    let mut stale = platform();
    stale.insert(pinned.0.clone(), pinned.1.clone());
    let deny = "default/talos`, which the ProviderConfig `harvester-a` has, is not let through by the \
                ClusterCreationPolicy `images`; choose `default/other`";
    for (today, is_allowed) in [
        (vec![pinned.clone()], false),
        // It is gone.
        (vec![], true),
        // It has changed.
        (vec![policy("images", json!({"platformWide": {}}), "default/talos")], true),
        // A narrower one is there.
        (
            vec![pinned, policy("ours", json!({"team": {"teamRef": {"name": "payments"}}}), "default/talos")],
            true,
        ),
    ] {
        let mut answers = platform();
        answers.extend(today);
        let script = Arc::new(Script { answers, ..Script::default() });
        let answer = ask(snapshot(stale.clone()), &script, VALIDATE, &body(&cluster("v1.31.4"))).await;
        assert_eq!(answer["allowed"], json!(is_allowed), "{answer}");
        let message = answer["status"]["message"].as_str().unwrap_or_default();
        assert_eq!(message.contains(deny), !is_allowed, "{message}");
    }
}

#[tokio::test]
async fn what_does_not_exist_is_denied_after_a_look() {
    let mut live = platform();
    live.remove(&provider_key());
    let script = Arc::new(Script { answers: live, ..Script::default() });
    let answer = ask(Facts::default(), &script, VALIDATE, &body(&cluster("v1.31.4"))).await;
    assert_eq!(answer["allowed"], false);
    assert_eq!(
        answer["status"]["message"],
        "spec.providerConfigRef: there is no ProviderConfig `harvester-a` in namespace `butler-system`; name one that exists"
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_denied_with_that_reason() {
    let script = Arc::new(Script { answers: [(team_key(), Fact::Unreadable)].into(), ..Script::default() });
    let mut known = platform();
    known.remove(&team_key());
    let answer = ask(snapshot(known), &script, VALIDATE, &body(&cluster("v1.31.4"))).await;
    assert_eq!(
        answer["status"]["message"],
        "spec.teamRef.name: the Team `payments` cannot be read at the moment; try again, and tell the platform's administrators \
         if it stays so"
    );
}

#[tokio::test]
async fn a_look_that_fails_adds_nothing_to_a_denial_that_stands() {
    let object = cluster("v1.99.0");
    let unreadable = platform().into_keys().map(|key| (key, Fact::Unreadable)).collect();
    let script = Arc::new(Script { answers: unreadable, ..Script::default() });
    let answer = ask(snapshot(platform()), &script, VALIDATE, &body(&object)).await;
    assert!(!script.asked().is_empty());
    assert_eq!(
        answer["status"]["message"],
        "spec.kubernetesVersion: `v1.99.0` is not run by the hosted control plane; choose one of `v1.24` to `v1.35`"
    );
}

#[tokio::test]
async fn a_kind_that_was_lost_is_looked_up_object_by_object() {
    let mut facts = snapshot(platform());
    facts.lose(FactKind::Team);
    let script = Arc::new(Script { answers: platform(), ..Script::default() });
    let answer = ask(facts.clone(), &script, VALIDATE, &body(&cluster("v1.31.4"))).await;
    assert_eq!(answer["allowed"], true, "{answer}");
    // What is remembered may be long past: without a look it says nothing.
    let silent = Arc::new(Script { answers: [(team_key(), Fact::Unreadable)].into(), ..Script::default() });
    let answer = ask(facts, &silent, VALIDATE, &body(&cluster("v1.31.4"))).await;
    assert_eq!(answer["allowed"], false, "{answer}");
}

#[tokio::test]
async fn every_finding_is_in_the_answer_and_the_numbers() {
    let script = Arc::new(Script::default());
    let metrics = Metrics::default();
    let facts = Arc::new(Snapshots::new(snapshot(platform())));
    let admission = Admission::new(facts, script, metrics.clone());
    let mut object = cluster("v1.99.0");
    object["spec"]["networking"] = json!({"podCIDR": "10.0.0.0/8", "serviceCIDR": "10.96.0.0/12"});
    let reply = admission.review(Endpoint::at(VALIDATE).unwrap(), &body(&object)).await;
    let Reply::Answer(answer) = reply else { panic!("{reply:?}") };
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    let causes = answer["response"]["status"]["details"]["causes"].as_array().unwrap();
    let fields: Vec<&str> = causes.iter().map(|cause| cause["field"].as_str().unwrap()).collect();
    assert!(fields.contains(&"spec.kubernetesVersion") && fields.len() > 1, "{fields:?}");

    let mut registry = Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    assert!(
        text.contains(
            "butler_admission_reviews_total{webhook=\"vtenantcluster.kb.io\",kind=\"TenantCluster\",operation=\"CREATE\",verdict=\"denied\"} 1"
        ),
        "{text}"
    );
    assert!(text.contains("butler_admission_findings_total{rule=\"kubernetes-version\","), "{text}");
}

#[tokio::test]
async fn a_review_at_the_path_of_another_kind_is_refused_with_its_uid() {
    let script = Arc::new(Script::default());
    let path = "/validate-butler-butlerlabs-dev-v1alpha1-team";
    let answer = ask(Facts::default(), &script, path, &body(&cluster("v1.31.4"))).await;
    assert_eq!((&answer["uid"], &answer["status"]["code"]), (&json!(UID), &json!(400)));
    assert_eq!(
        answer["status"]["message"],
        "a TenantCluster is not reviewed at `/validate-butler-butlerlabs-dev-v1alpha1-team`; is it registered there?"
    );
}

#[tokio::test]
async fn an_object_that_cannot_be_read_is_left_to_the_schema_and_then_denied() {
    let script = Arc::new(Script::default());
    let mut object = cluster("v1.31.4");
    object["spec"]["workers"] = json!("three");
    let mutated = ask(Facts::default(), &script, MUTATE, &body(&object)).await;
    assert_eq!((&mutated["allowed"], &mutated["patch"]), (&json!(true), &Value::Null));
    let judged = ask(Facts::default(), &script, VALIDATE, &body(&object)).await;
    assert_eq!((&judged["allowed"], &judged["status"]["code"]), (&json!(false), &json!(422)));
}

#[tokio::test]
async fn a_body_without_a_uid_is_no_review() {
    let admission = Admission::new(Arc::default(), Arc::new(Script::default()), Metrics::default());
    let reply = admission.review(Endpoint::at(VALIDATE).unwrap(), b"{}").await;
    assert_eq!(
        reply,
        Reply::NotAReview(
            "the body is `` of ``; it has to be `AdmissionReview` of `admission.k8s.io/v1`".to_owned()
        )
    );
}

fn deletion_of_the_team() -> Vec<u8> {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": UID, "operation": "DELETE", "name": "payments",
            "oldObject": {"metadata": {"name": "payments"}, "spec": {}},
            "resource": {"group": "butler.butlerlabs.dev", "version": "v1alpha1", "resource": "teams"},
            "userInfo": {"username": "ana@example.org", "groups": ["system:authenticated"]},
        }
    });
    review.to_string().into_bytes()
}

#[tokio::test]
async fn a_deletion_is_allowed_only_after_a_look_at_who_uses_the_object() {
    let path = "/validate-butler-butlerlabs-dev-v1alpha1-team";
    let unused = Arc::new(Script::default());
    let answer = ask(snapshot(platform()), &unused, path, &deletion_of_the_team()).await;
    assert_eq!(answer["allowed"], true, "{answer}");

    let at = NsRef { name: "orders".into(), namespace: "payments".into() };
    let key = FactKey::Cluster(at);
    let new = Fact::Cluster(Arc::new(serde_json::from_value(cluster("v1.31.4")).unwrap()));
    let used = Arc::new(Script { answers: [(key.clone(), new)].into(), ..Script::default() });
    let answer = ask(snapshot(platform()), &used, path, &deletion_of_the_team()).await;
    assert_eq!(answer["allowed"], false, "{answer}");

    // One that is gone, of which the snapshot does not know yet.
    let stale = Fact::Cluster(Arc::new(serde_json::from_value(cluster("v1.31.4")).unwrap()));
    let mut known = platform();
    known.insert(key.clone(), stale);
    let answer = ask(snapshot(known), &unused, path, &deletion_of_the_team()).await;
    assert_eq!(answer["allowed"], true, "{answer}");

    let unreadable = Arc::new(Script { answers: [(key, Fact::Unreadable)].into(), ..Script::default() });
    let answer = ask(snapshot(platform()), &unreadable, path, &deletion_of_the_team()).await;
    assert_eq!(
        answer["status"]["message"],
        "metadata.name: not every TenantCluster can be read at the moment; try again, and tell the platform's \
         administrators if it stays so"
    );
}

/// Never finds anything, however long it is waited for.
#[derive(Debug)]
struct Silence;

impl Look for Silence {
    async fn look(&self, _: &FactKey, _: &Caller<'_>) -> Fact {
        std::future::pending().await
    }

    async fn list(&self, _: &Presumption) -> Option<Vec<(FactKey, Fact)>> {
        std::future::pending().await
    }
}

/// A caller that goes away, and a judgement that takes too long, drop what is in progress.
#[tokio::test(start_paused = true)]
async fn a_review_that_is_given_up_is_in_the_log_and_the_numbers() {
    let kept = crate::log::Kept::default();
    let writer = kept.clone();
    let log = tracing_subscriber::fmt()
        .event_format(crate::log::JsonLines)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(log);
    let metrics = Metrics::default();
    let admission = Admission::new(Arc::default(), Silence, metrics.clone());
    let body = body(&cluster("v1.31.4"));
    let reviewing = admission.review(Endpoint::at(VALIDATE).unwrap(), &body);
    assert!(tokio::time::timeout(std::time::Duration::from_secs(1), reviewing).await.is_err());
    let text = kept.text();
    let line: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let expected = [
        ("message", "reviewed"),
        ("verdict", "unfinished"),
        ("uid", UID),
        ("name", "orders"),
        ("user", "ana@example.org"),
    ];
    for (field, value) in expected {
        assert_eq!(line[field], value, "{text}");
    }
    let mut registry = Registry::default();
    metrics.register(&mut registry);
    let mut numbers = String::new();
    prometheus_client::encoding::text::encode(&mut numbers, &registry).unwrap();
    assert!(numbers.contains(r#"operation="CREATE",verdict="unfinished"} 1"#), "{numbers}");
}

#[tokio::test(start_paused = true)]
async fn a_lookup_that_never_ends_leaves_the_denial_standing() {
    let admission = Admission::new(Arc::default(), Silence, Metrics::default());
    let reply = admission.review(Endpoint::at(VALIDATE).unwrap(), &body(&cluster("v1.31.4"))).await;
    let Reply::Answer(answer) = reply else { panic!("{reply:?}") };
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["response"]["allowed"], false);
}
