//! Schemas for an addon's values are written by people, and run by the handler: what is admitted into the catalogue must
//! not hang it, or take it down, when values are judged by it.

use std::sync::Arc;

use butler_policies::facts::Facts;
use butler_webhook::admission::{Admission, Metrics};
use butler_webhook::endpoint::Endpoint;
use butler_webhook::facts::Snapshots;
use serde_json::{Value, json};

use crate::platform::{Elsewhere, everything, fact_of};
use crate::{answer, originals};

fn schemas() -> Vec<Value> {
    let deep = |depth: usize| {
        (0..depth).fold(json!({"type": "object"}), |inner, _| json!({"properties": {"a": inner}}))
    };
    vec![
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"not": {"$ref": "#"}}),
        json!({"properties": {"a": {"$ref": "#"}}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"$ref": "https://example.org/schema.json"}),
        json!({"$ref": "file:///etc/passwd"}),
        json!({"$ref": "#/nowhere"}),
        json!({"$schema": "https://example.org/other"}),
        json!({"properties": {"a": {"pattern": "^(a+)+$"}}}),
        json!({"properties": {"a": {"pattern": "(?=a)((a*)*)*b"}}}),
        json!({"properties": {"a": {"pattern": "a{1,1000}{1,1000}"}}}),
        json!({"properties": {"a": {"maxLength": 1e300, "minimum": -1e300, "multipleOf": 1e-300}}}),
        json!({"patternProperties": {"(((": {}}}),
        json!({"dynamicRef": "#a", "$dynamicRef": "#a", "$dynamicAnchor": "a"}),
        json!({"unevaluatedProperties": {"$ref": "#"}, "anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json!({"type": 7}),
        json!(true),
        json!([]),
        deep(50),
        deep(110),
    ]
}

fn values() -> Vec<Value> {
    let deep = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({"a": inner}));
    vec![json!({}), json!({"a": "a".repeat(2000) + "!"}), json!({"a": 3}), deep(20), deep(60), deep(100)]
}

#[test]
fn what_is_admitted_as_a_schema_can_judge_values() {
    let name = "schemas".to_owned();
    let thread = std::thread::Builder::new().name(name).stack_size(crate::STACK);
    thread.spawn(judge_all).unwrap().join().unwrap();
}

fn judge_all() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut base = Facts::default();
    everything().iter().for_each(|(key, fact)| base.learn(key.clone(), fact.clone()));
    let ask = |facts: &Facts, path: &str, body: &Value| {
        let snapshots = Arc::new(Snapshots::new(facts.clone()));
        let gate = Admission::new(snapshots, Elsewhere::new(&Arc::default()), Metrics::default());
        let endpoint = Endpoint::at(path).unwrap();
        let body = serde_json::to_vec(body).unwrap();
        let reply = runtime.block_on(gate.review(endpoint, &body));
        answer::check(endpoint, &body, &reply);
        let butler_webhook::admission::Reply::Answer(answer) = reply else { panic!("{reply:?}") };
        serde_json::from_slice::<Value>(&answer).unwrap()["response"]["allowed"] == true
    };
    let (mut admitted, mut refused, mut judged) = (0, 0, 0);
    for schema in schemas() {
        let definition = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "AddonDefinition", "metadata": {"name": "tried"},
            "spec": {"displayName": "Tried", "description": "Tried", "category": "other", "valuesSchema": schema,
                "chart": {"repository": "https://charts.example.org", "name": "tried", "defaultVersion": "1.0.0"}}});
        let review = originals::review("AddonDefinition", "CREATE", "", &definition, &Value::Null);
        if !ask(&base, "/validate-butler-butlerlabs-dev-v1alpha1-addondefinition", &review) {
            refused += 1;
            continue;
        }
        admitted += 1;
        let mut facts = base.clone();
        let (key, fact) = fact_of(&definition).expect("what is admitted can be read");
        facts.learn(key, fact);
        for values in values() {
            let addon = json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon",
                "metadata": {"name": "tried", "namespace": "team-a"},
                "spec": {"clusterRef": {"name": "my-cluster"}, "addon": "tried", "version": "1.0.0", "values": values}});
            let review = originals::review("TenantAddon", "CREATE", "", &addon, &Value::Null);
            ask(&facts, "/validate-butler-butlerlabs-dev-v1alpha1-tenantaddon", &review);
            judged += 1;
        }
    }
    println!("{admitted} schemas admitted, {refused} refused, {judged} values judged");
    assert!(admitted > 0 && refused > 0, "{admitted} admitted, {refused} refused");
}
