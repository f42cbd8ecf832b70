//! How absence is read and written on the wire.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

/// Whether a block carries nothing, so that it is left out when the object is written.
pub(crate) fn is_default<T: Default + PartialEq>(block: &T) -> bool {
    *block == T::default()
}

/// Reads a block or a list where an explicit `null` is the same as leaving it out. The API server drops such
/// nulls itself; a file that is judged without one still has them.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// The text the user gave, if any. Clients written in Go send `""` for a field that was never set, so empty
/// text means absent everywhere.
pub fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// Reads conditions that may have nothing but type and status, as people write them by hand. The type of k8s-openapi
/// insists on a time, and one such condition would make the whole object, and every list with it, unreadable.
pub(crate) fn conditions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Condition>, D::Error> {
    let written: Vec<Map<String, Value>> = or_default(deserializer)?;
    let read = written.into_iter().map(|mut condition| {
        condition.entry("lastTransitionTime").or_insert_with(|| json!(Time(Timestamp::UNIX_EPOCH)));
        serde_json::from_value(Value::Object(condition)).map_err(Error::custom)
    });
    read.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explicit_null_is_the_same_as_leaving_a_field_out() {
        let nulls = json!({
            "kubernetesVersion": null, "teamRef": null, "controlPlane": null, "workers": {"machineTemplate": null},
            "networking": null, "managementPolicy": null, "addons": null, "timeServers": null,
            "infrastructureOverride": null
        });
        let absent = json!({"workers": {}});
        let read = |value| serde_json::from_value::<crate::TenantClusterSpec>(value).expect("spec");
        assert_eq!(read(nulls), read(absent));
    }

    #[test]
    fn a_condition_of_only_type_and_status_is_read() {
        let written = json!([{"type": "WorkersReady", "status": "True"}]);
        let read = conditions(written).expect("conditions");
        let expected = Condition {
            type_: "WorkersReady".to_owned(),
            status: "True".to_owned(),
            reason: String::new(),
            message: String::new(),
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
            observed_generation: None,
        };
        assert_eq!(read, [expected]);
    }

    #[test]
    fn a_condition_that_is_no_condition_is_an_error() {
        let written = json!([{"type": "WorkersReady", "status": "True", "lastTransitionTime": "yesterday"}]);
        assert!(conditions(written).is_err());
    }
}
