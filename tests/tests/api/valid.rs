//! What is valid is kept, on the API server and in Butler's own types.

use std::collections::BTreeMap;

use kube::api::{Patch, PatchParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::corpus::{File, lost, text, valid_objects};
use crate::platform::{objects_of, platform};

#[tokio::test]
async fn every_object_is_accepted_and_nothing_of_it_is_dropped() {
    let plane = platform().await;
    let namespace = plane.namespace().await.unwrap();
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for file in File::folder("valid") {
        let apply = ["apply", "--validate=strict", "-n", &namespace, "-f", file.argument()];
        plane.kubectl(&apply).await.unwrap().success().unwrap();
        for object in file.objects() {
            let (kind, name) = (text(&object, "/kind"), text(&object, "/metadata/name"));
            *counts.entry(kind.to_owned()).or_default() += 1;
            let objects = objects_of(plane, kind, &namespace).await;
            if object.get("status").is_some() {
                let strictly = PatchParams::apply("corpus").validation_strict();
                objects.patch_status(name, &strictly, &Patch::Apply(&object)).await.unwrap();
            }
            let stored = serde_json::to_value(objects.get(name).await.unwrap()).unwrap();
            assert_eq!(lost(&object, &stored), [""; 0], "{kind} `{name}`");
        }
    }
    println!("valid objects: {} {counts:?}", counts.values().sum::<u32>());
}

#[test]
fn butlers_own_types_keep_every_property_too() {
    for object in valid_objects() {
        let kept = match text(&object, "/kind") {
            "AddonDefinition" => through::<butler_api::AddonDefinition>(&object),
            "ButlerConfig" => through::<butler_api::ButlerConfig>(&object),
            "ClusterCreationPolicy" => through::<butler_api::ClusterCreationPolicy>(&object),
            "IPAllocation" => through::<butler_api::IPAllocation>(&object),
            "ManagementAddon" => through::<butler_api::ManagementAddon>(&object),
            "NetworkPool" => through::<butler_api::NetworkPool>(&object),
            "ProviderConfig" => through::<butler_api::ProviderConfig>(&object),
            "Team" => through::<butler_api::Team>(&object),
            "TenantAddon" => through::<butler_api::TenantAddon>(&object),
            "TenantCluster" => through::<butler_api::TenantCluster>(&object),
            "User" => through::<butler_api::User>(&object),
            kind => panic!("no type for `{kind}`"),
        };
        assert_eq!(lost(&object, &kept), [""; 0], "{} `{}`", text(&object, "/kind"), text(&object, "/metadata/name"));
    }
}

/// The object as Butler would write it after reading it.
fn through<K: DeserializeOwned + Serialize>(object: &Value) -> Value {
    let read: K = serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{error}: {object}"));
    serde_json::to_value(read).unwrap()
}
