//! Values handed to a Helm chart untouched.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Values of a Helm chart: an object whose contents only the chart understands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HelmValues(pub Map<String, Value>);

impl HelmValues {
    /// These values laid over `base`: objects merge key by key, anything else replaces what was there. A
    /// `null` stays, because it is Helm that acts on it: it drops what the chart itself sets for the key.
    pub fn over(&self, base: &Self) -> Self {
        let mut merged = base.0.clone();
        lay_over(&mut merged, &self.0);
        Self(merged)
    }
}

fn lay_over(base: &mut Map<String, Value>, top: &Map<String, Value>) {
    for (key, value) in top {
        match (base.get_mut(key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => lay_over(below, above),
            (_, value) => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

impl JsonSchema for HelmValues {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "HelmValues".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values(value: Value) -> HelmValues {
        serde_json::from_value(value).expect("values")
    }

    #[test]
    fn objects_merge_while_lists_and_scalars_replace() {
        let base =
            values(json!({"hubble": {"enabled": true, "relay": {"replicas": 1}}, "tolerations": [1, 2]}));
        let top = values(json!({"hubble": {"relay": {"replicas": 3}}, "tolerations": [3]}));
        let merged = json!({"hubble": {"enabled": true, "relay": {"replicas": 3}}, "tolerations": [3]});
        assert_eq!(top.over(&base), values(merged));
    }

    #[test]
    fn null_replaces_a_value_of_the_layer_below_and_stays_for_helm_to_act_on() {
        let base = values(json!({"resources": {"limits": {"cpu": "1"}}, "replicas": 2}));
        let top = values(json!({"resources": {"limits": null}, "affinity": null}));
        let merged = json!({"resources": {"limits": null}, "replicas": 2, "affinity": null});
        assert_eq!(top.over(&base), values(merged));
    }
}
