//! What there is, as clients ask for it: the groups, the group, its resources, and all of it at once.

use serde_json::{Value, json};

use super::resources::{RESOURCES, Resource};
use super::{API_VERSION, GROUP, VERSION};

/// What is served here at all.
pub(super) fn index() -> Value {
    let group = format!("/apis/{GROUP}");
    let version = format!("{group}/{VERSION}");
    json!({ "paths": ["/apis", group, version, "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"] })
}

/// The program's version, in the fields that clients look for.
pub(super) fn version() -> Value {
    json!({
        "major": env!("CARGO_PKG_VERSION_MAJOR"),
        "minor": env!("CARGO_PKG_VERSION_MINOR"),
        "gitVersion": concat!("v", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

pub(super) fn groups() -> Value {
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": [bare_group()] })
}

pub(super) fn group() -> Value {
    let mut group = bare_group();
    if let Some(fields) = group.as_object_mut() {
        fields.insert("kind".to_owned(), "APIGroup".into());
        fields.insert("apiVersion".to_owned(), "v1".into());
    }
    group
}

fn bare_group() -> Value {
    let version = json!({ "groupVersion": API_VERSION, "version": VERSION });
    json!({ "name": GROUP, "versions": [version], "preferredVersion": version })
}

pub(super) fn resources() -> Value {
    let resource = |resource: &Resource| {
        json!({
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.is_namespaced,
            "kind": resource.kind,
            "verbs": resource.verbs,
        })
    };
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": API_VERSION,
        "resources": RESOURCES.iter().map(resource).collect::<Vec<_>>(),
    })
}

/// Everything in one document, as the aggregator asks for it.
pub(super) fn aggregated() -> Value {
    let resource = |resource: &Resource| {
        json!({
            "resource": resource.plural,
            "responseKind": { "group": GROUP, "version": VERSION, "kind": resource.kind },
            "scope": if resource.is_namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": resource.singular,
            "verbs": resource.verbs,
        })
    };
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [{
            "metadata": { "name": GROUP },
            "versions": [{
                "version": VERSION,
                "freshness": "Current",
                "resources": RESOURCES.iter().map(resource).collect::<Vec<_>>(),
            }],
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_discovery_name_every_resource_with_its_verbs() {
        let (plain, aggregated) = (resources(), aggregated());
        let aggregated = &aggregated["items"][0]["versions"][0]["resources"];
        for (at, resource) in RESOURCES.iter().enumerate() {
            assert_eq!(plain["resources"][at]["name"], resource.plural);
            assert_eq!(plain["resources"][at]["verbs"], json!(resource.verbs));
            assert_eq!(aggregated[at]["resource"], resource.plural);
            assert_eq!(aggregated[at]["verbs"], json!(resource.verbs));
        }
        assert_eq!(group()["preferredVersion"]["groupVersion"], "policy.butler.butlerlabs.dev/v1alpha1");
    }
}
