//! What the definitions fill in, and what they leave to those who know the team, the provider and the version.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::corpus::File;
use crate::platform::{dry_run, platform};
use crate::properties;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Defaults {
    /// Every default of every definition, by the property's path.
    defaults: BTreeMap<String, Value>,
    examples: Vec<Example>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    name: String,
    kind: String,
    #[serde(default)]
    sent: Option<Value>,
    stored: Value,
}

#[test]
fn the_definitions_have_exactly_these_defaults() {
    let expected = File::read("defaults.yaml").document::<Defaults>().defaults;
    let properties = properties::all().into_iter();
    let found: BTreeMap<String, Value> =
        properties.filter_map(|(path, schema)| Some((path, schema.default?.0))).collect();
    println!("defaults: {}", found.len());
    assert_eq!(found, expected);
}

#[tokio::test]
async fn what_is_left_out_is_filled_in_and_nothing_else() {
    let plane = platform().await;
    let namespace = plane.namespace().await.unwrap();
    for example in File::read("defaults.yaml").document::<Defaults>().examples {
        let mut object = json!({
            "apiVersion": format!("{}/{}", butler_api::GROUP, butler_api::VERSION),
            "kind": example.kind,
            "metadata": {"name": "defaults"},
        });
        if let Some(spec) = example.sent {
            object["spec"] = spec;
        }
        let stored = dry_run(plane, &namespace, &object).await;
        let stored = stored.unwrap_or_else(|status| panic!("{}: {}", example.name, status.message));
        assert_eq!(stored["spec"], example.stored, "{}", example.name);
    }
}
