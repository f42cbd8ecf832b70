//! The variables of an admission policy, with the types that Kubernetes gives them.

use std::collections::BTreeMap;

use super::declare::{Declarations, ObjectType};
use super::types::Type;

impl Declarations {
    /// `object`, `oldObject`, `params`, `request` and `namespaceObject`. Objects are checked while evaluating only,
    /// since the same policy may match several kinds.
    #[must_use]
    pub fn admission() -> Self {
        Self::default()
            .variable("object", Type::Dyn)
            .variable("oldObject", Type::Dyn)
            .variable("params", Type::Dyn)
            .variable("request", named("kubernetes.AdmissionRequest"))
            .variable("namespaceObject", named("kubernetes.Namespace"))
            .request()
            .namespace()
    }

    fn request(self) -> Self {
        let kind = || named("kubernetes.GroupVersionKind");
        let resource = || named("kubernetes.GroupVersionResource");
        self.object("kubernetes.GroupVersionKind", texts(&["group", "version", "kind"]))
            .object("kubernetes.GroupVersionResource", texts(&["group", "version", "resource"]))
            .object(
                "kubernetes.UserInfo",
                texts(&["username", "uid"])
                    .with("groups", list(Type::String))
                    .with("extra", Type::Map(Box::new(Type::String), Box::new(list(Type::String)))),
            )
            .object(
                "kubernetes.AdmissionRequest",
                texts(&["subResource", "requestSubResource", "name", "namespace", "operation"])
                    .with("kind", kind())
                    .with("resource", resource())
                    .with("requestKind", kind())
                    .with("requestResource", resource())
                    .with("userInfo", named("kubernetes.UserInfo"))
                    .with("dryRun", Type::Bool)
                    .with("options", Type::Dyn),
            )
    }

    fn namespace(self) -> Self {
        let labels = || Type::Map(Box::new(Type::String), Box::new(Type::String));
        self.object("kubernetes.NamespaceSpec", ObjectType::default().with("finalizers", list(Type::String)))
            .object(
                "kubernetes.NamespaceCondition",
                texts(&["status", "type", "message", "reason"]).with("lastTransitionTime", Type::Timestamp),
            )
            .object(
                "kubernetes.NamespaceStatus",
                texts(&["phase"]).with("conditions", list(named("kubernetes.NamespaceCondition"))),
            )
            .object(
                "kubernetes.NamespaceMetadata",
                texts(&["name", "generateName", "namespace", "UID", "resourceVersion"])
                    .with("labels", labels())
                    .with("annotations", labels())
                    .with("creationTimestamp", Type::Timestamp)
                    .with("deletionGracePeriodSeconds", Type::Int)
                    .with("deletionTimestamp", Type::Timestamp)
                    .with("generation", Type::Int)
                    .with("finalizers", list(Type::String)),
            )
            .object(
                "kubernetes.Namespace",
                ObjectType::default()
                    .with("metadata", named("kubernetes.NamespaceMetadata"))
                    .with("spec", named("kubernetes.NamespaceSpec"))
                    .with("status", named("kubernetes.NamespaceStatus")),
            )
    }
}

fn named(name: &str) -> Type {
    Type::Object(name.into())
}

fn list(of: Type) -> Type {
    Type::List(Box::new(of))
}

fn texts(fields: &[&str]) -> ObjectType {
    let fields: BTreeMap<String, Type> =
        fields.iter().map(|field| ((*field).to_owned(), Type::String)).collect();
    ObjectType { fields }
}

impl ObjectType {
    fn with(mut self, field: &str, of: Type) -> Self {
        self.fields.insert(field.to_owned(), of);
        self
    }
}
