//! How one object names another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::given;

/// Where the platform keeps its own objects: ProviderConfigs, NetworkPools and IPAllocations.
pub const SYSTEM_NAMESPACE: &str = "butler-system";

/// Names an object whose place is already known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LocalRef {
    /// Name of the object.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// Names an object in a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct NsRef {
    /// Name of the object.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Namespace of the object.
    #[schemars(length(min = 1))]
    pub namespace: String,
}

/// Names a ProviderConfig.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ProviderRef {
    /// Name of the ProviderConfig.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Namespace of the ProviderConfig. Left out, it is `butler-system`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

impl ProviderRef {
    /// The ProviderConfig's namespace.
    pub fn namespace(&self) -> &str {
        given(&self.namespace).unwrap_or(SYSTEM_NAMESPACE)
    }

    /// The same reference with its namespace written out.
    pub fn resolve(&self) -> NsRef {
        NsRef { name: self.name.clone(), namespace: self.namespace().to_owned() }
    }
}

impl LocalRef {
    /// The object in the platform's own namespace, where Teams and the ButlerConfig look for ProviderConfigs.
    pub fn in_system_namespace(&self) -> NsRef {
        NsRef { name: self.name.clone(), namespace: SYSTEM_NAMESPACE.to_owned() }
    }
}

/// Names a Secret, or one entry of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct SecretRef {
    /// Name of the Secret.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Namespace of the Secret. Left out, it is the namespace of the object that refers to it, and
    /// `butler-system` for one that is in no namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Entry of the Secret to read. Left out, the whole Secret is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl SecretRef {
    /// The Secret's namespace, given that of the object which refers to it.
    pub fn namespace<'a>(&'a self, referrer: &'a str) -> &'a str {
        given(&self.namespace).unwrap_or(referrer)
    }

    /// The one entry to read, if only one is meant.
    pub fn key(&self) -> Option<&str> {
        given(&self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_without_a_namespace_lives_in_the_system_namespace() {
        let bare = ProviderRef { name: "harvester".into(), namespace: None };
        assert_eq!(bare.resolve(), NsRef { name: "harvester".into(), namespace: "butler-system".into() });
        let empty = ProviderRef { name: "harvester".into(), namespace: Some(String::new()) };
        assert_eq!(empty.namespace(), "butler-system");
        let own = ProviderRef { name: "harvester".into(), namespace: Some("edge".into()) };
        assert_eq!(own.namespace(), "edge");
    }

    #[test]
    fn a_secret_without_a_namespace_lives_with_its_referrer() {
        let bare = SecretRef { name: "creds".into(), ..SecretRef::default() };
        assert_eq!(bare.namespace("edge"), "edge");
        assert_eq!(bare.key(), None);
    }
}
