//! What is asked of the gate: a request as the API server would send it.

use serde_json::{Value as Json, json};

use crate::review::Kind;

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the operation of its name")]
pub enum Asked {
    Create,
    Update,
    Delete,
    /// The number of workers of a TenantCluster is changed, as `kubectl scale` does it.
    Scale,
}

/// Who asks if nobody is named.
const SOMEBODY: &str = "somebody";

impl Asked {
    /// A plain AdmissionRequest: nobody special asks, and in earnest. An object that there is not is null.
    #[must_use]
    pub fn request(self, kind: Kind, object: Json, old_object: Json) -> Json {
        let (word, options) = match self {
            Self::Create => ("CREATE", "CreateOptions"),
            Self::Update | Self::Scale => ("UPDATE", "UpdateOptions"),
            Self::Delete => ("DELETE", "DeleteOptions"),
        };
        let (group, version) = (butler_api::GROUP, butler_api::VERSION);
        let (part, sent) = match self {
            Self::Scale => ("scale", json!({"group": "autoscaling", "version": "v1", "kind": "Scale"})),
            _ => ("", json!({"group": group, "version": version, "kind": kind.as_str()})),
        };
        let resource = json!({"group": group, "version": version, "resource": kind.resource()});
        let subject = if object.is_null() { &old_object } else { &object };
        let metadata =
            |name: &str| subject.pointer(&format!("/metadata/{name}")).cloned().unwrap_or_else(|| json!(""));
        json!({
            "uid": "",
            "kind": sent.clone(),
            "resource": resource.clone(),
            "subResource": part,
            "requestKind": sent,
            "requestResource": resource,
            "requestSubResource": part,
            "name": metadata("name"),
            "namespace": metadata("namespace"),
            "operation": word,
            "userInfo": {"username": SOMEBODY, "groups": ["system:authenticated"]},
            "dryRun": false,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": options},
            "object": object,
            "oldObject": old_object,
        })
    }
}
