//! How absence is read and written on the wire.

use serde::{Deserialize, Deserializer};

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::tenant_cluster::TenantClusterSpec;

    #[test]
    fn an_explicit_null_is_the_same_as_leaving_a_field_out() {
        let nulls = json!({
            "kubernetesVersion": null, "teamRef": null, "controlPlane": null, "workers": {"machineTemplate": null},
            "networking": null, "managementPolicy": null, "addons": null, "timeServers": null,
            "infrastructureOverride": null
        });
        let absent = json!({"workers": {}});
        let read = |value| serde_json::from_value::<TenantClusterSpec>(value).expect("spec");
        assert_eq!(read(nulls), read(absent));
    }
}
