//! Every case once more, as a review of the policy service: asked beforehand, the answer is the one that admission gives.

use butler_api::{QuotaLedger, TenantCluster};
use butler_bench::ControlPlane;
use futures::StreamExt;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, PostParams};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::case::{self, Operation, Planned, place};
use super::platform::{Changed, Platform};
use super::{BESIDE_EACH_OTHER, PATIENCE, SETTLING, set_up};
use crate::harness::{Gate, Setup};
use crate::objects::{eventually, objects_of};

/// What somebody is told, in earnest or beforehand.
#[derive(Debug, PartialEq)]
enum Told {
    /// The object as it is stored, without what the API server alone knows.
    Admitted(Value),
    /// Code, message, and the causes with their fields.
    Denied(u16, String, Vec<(String, String)>),
    /// The API server refuses it by itself: the gate is not asked, or not the one who says no.
    NotByUs,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_review_says_what_admission_says() {
    let gate = Gate::start(Setup { service: true, ..Setup::default() }).await;
    let plane = gate.plane();
    let minimal = case::documents(&case::directory().join("minimal.yaml"));
    let platform = Platform::set_up(plane, &minimal).await;
    let mut planned = case::plan(&minimal);
    planned.retain(|it| it.case.operation != Operation::Scale && !it.case.stored);
    sleep(SETTLING).await;

    let (alone, others): (Vec<&Planned>, Vec<&Planned>) = planned.iter().partition(|it| it.is_alone());
    // What the platform itself takes is in the ledgers only once it was seen there.
    eventually("the ledgers are at rest", async || {
        let stored = stored(gate.client()).await;
        let ledgers = stored.iter().filter(|it| it[1]["team"].is_string());
        ledgers.clone().count() == 2 && ledgers.clone().all(|it| it[1].get("open").is_none())
    })
    .await;
    let before = stored(gate.client()).await;
    let mut told: Vec<Result<bool, String>> = futures::stream::iter(alone)
        .map(|it| compare(&gate, it))
        .buffer_unordered(BESIDE_EACH_OTHER)
        .collect()
        .await;
    assert_eq!(stored(gate.client()).await, before, "reviews have left something behind");
    for it in others {
        told.push(run(&gate, plane, &platform, it).await);
    }
    let differences: Vec<&String> = told.iter().filter_map(|it| it.as_ref().err()).collect();
    let (compared, not_ours) =
        (told.iter().filter(|it| **it == Ok(true)), told.iter().filter(|it| **it == Ok(false)));
    println!(
        "cases: {}, compared: {}, refused by the API server itself: {}, differences: {}",
        told.len(),
        compared.count(),
        not_ours.count(),
        differences.len()
    );
    assert!(differences.is_empty(), "{} differences\n\n{differences:#?}", differences.len());
}

/// What there is: every cluster, and what the ledgers say.
async fn stored(client: &Client) -> Vec<Value> {
    let clusters: Api<TenantCluster> = Api::all(client.clone());
    let ledgers: Api<QuotaLedger> = Api::namespaced(client.clone(), "butler-system");
    let clusters = clusters.list(&Default::default()).await.unwrap();
    let ledgers = ledgers.list(&Default::default()).await.unwrap();
    let clusters = clusters.items.iter().map(|it| json!([it.metadata.name, it.spec]));
    clusters.chain(ledgers.items.iter().map(|it| json!([it.metadata.name, it.spec]))).collect()
}

async fn run(
    gate: &Gate,
    plane: &ControlPlane,
    platform: &Platform,
    planned: &Planned,
) -> Result<bool, String> {
    let mut changed = Changed::default();
    let compared = match set_up(plane, platform, planned, &mut changed).await {
        Ok(()) => compare(gate, planned).await,
        Err(error) => Err(error),
    };
    platform.restore(&changed, planned.old.as_ref()).await?;
    compared
}

/// Whether both say the same, which is asked for a while: each may be answered from before the platform was changed.
async fn compare(gate: &Gate, planned: &Planned) -> Result<bool, String> {
    let started = Instant::now();
    loop {
        let in_earnest = in_earnest(gate, planned).await;
        if in_earnest == Told::NotByUs {
            return Ok(false);
        }
        let beforehand = beforehand(gate, planned).await;
        if in_earnest == beforehand {
            return Ok(true);
        }
        if started.elapsed() > PATIENCE {
            let of = format!("{}: {}", planned.topic, planned.case.name);
            return Err(format!("{of}\n  in earnest {in_earnest:?}\n  beforehand {beforehand:?}"));
        }
        sleep(SETTLING).await;
    }
}

/// The object as it is, and as it is to be.
async fn objects(gate: &Gate, planned: &Planned) -> (Option<Value>, Option<Value>) {
    let (kind, namespace, name) = place(&planned.object);
    let mut new = planned.object.clone();
    if planned.case.operation == Operation::Create {
        return (None, Some(new));
    }
    let old = objects_of(gate.client(), &kind, &namespace).get(&name).await.unwrap();
    new["metadata"]["resourceVersion"] = json!(old.metadata.resource_version);
    let is_update = planned.case.operation == Operation::Update;
    (Some(serde_json::to_value(old).unwrap()), is_update.then_some(new))
}

/// As a dry run of the person themselves.
async fn in_earnest(gate: &Gate, planned: &Planned) -> Told {
    let user = gate.plane().user(planned.caller.name(), &planned.caller.groups()).unwrap();
    let (kind, namespace, name) = place(&planned.object);
    let api = objects_of(&user.client().await.unwrap(), &kind, &namespace);
    let (_, new) = objects(gate, planned).await;
    let params = PostParams { dry_run: true, ..PostParams::default() };
    let answer = match new {
        Some(new) => {
            let new: DynamicObject = serde_json::from_value(new).unwrap();
            match planned.case.operation {
                Operation::Update => api.replace(&name, &params, &new).await,
                _ => api.create(&params, &new).await,
            }
        }
        None => {
            let params = DeleteParams { dry_run: true, ..DeleteParams::default() };
            api.delete(&name, &params).await.map(|gone| {
                gone.left().unwrap_or_else(|| DynamicObject {
                    types: None,
                    metadata: Default::default(),
                    data: Value::Null,
                })
            })
        }
    };
    match answer {
        Ok(_) if planned.case.operation == Operation::Delete => Told::Admitted(Value::Null),
        Ok(object) => Told::Admitted(bare(serde_json::to_value(object).unwrap())),
        Err(kube::Error::Api(status)) => {
            let Some((_, message)) = status.message.split_once("denied the request: ") else {
                return Told::NotByUs;
            };
            let causes = status.details.map(|details| details.causes).unwrap_or_default();
            let causes = causes.into_iter().map(|cause| (cause.field, cause.message)).collect();
            Told::Denied(status.code, message.to_owned(), causes)
        }
        Err(error) => panic!("{error}"),
    }
}

/// As a review, of an administrator who may ask as anybody.
async fn beforehand(gate: &Gate, planned: &Planned) -> Told {
    let (old, new) = objects(gate, planned).await;
    let operation = match planned.case.operation {
        Operation::Create => "CREATE",
        Operation::Update => "UPDATE",
        Operation::Delete | Operation::Scale => "DELETE",
    };
    let mut spec =
        json!({ "operation": operation, "user": planned.caller.name(), "groups": planned.caller.groups() });
    for (field, object) in [("object", new), ("oldObject", old)] {
        if let Some(object) = object {
            spec[field] = object;
        }
    }
    let review =
        json!({ "apiVersion": "policy.butler.butlerlabs.dev/v1alpha1", "kind": "Review", "spec": spec });
    let request = http::Request::post("/apis/policy.butler.butlerlabs.dev/v1alpha1/reviews")
        .header("content-type", "application/json")
        .body(review.to_string().into_bytes())
        .unwrap();
    let answer: Value = gate.client().request(request).await.unwrap();
    let status = &answer["status"];
    if status["allowed"] == true {
        return match operation {
            "DELETE" => Told::Admitted(Value::Null),
            _ => Told::Admitted(bare(status["object"].clone())),
        };
    }
    let denials = status["findings"].as_array().into_iter().flatten().filter(|it| it["action"] == "Deny");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let causes = denials.map(|it| (text(&it["field"]), text(&it["message"]))).collect();
    Told::Denied(status["code"].as_u64().unwrap_or_default() as u16, text(&status["message"]), causes)
}

/// Without what the API server alone knows.
fn bare(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"] {
            metadata.remove(field);
        }
    }
    case::without_status(&object)
}
