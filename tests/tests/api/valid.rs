//! What is valid is kept, by the API server and by Butler's own types.

use std::collections::BTreeMap;

use kube::api::{Patch, PatchParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::corpus::{File, lost, lost_unless, text};
use crate::platform::{dry_run_update, objects_of, platform};

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
            assert_eq!(lost(&object, &stored), [""; 0], "the API server lost this of {kind} `{name}`");

            // A controller reads objects into Butler's types and writes them back.
            let written = through_our_types(&stored);
            let lost = lost_unless(&object, &written, same_amount);
            assert_eq!(lost, [""; 0], "Butler's type lost this of {kind} `{name}`");
            let parts = if object.get("status").is_some() { &["", "/status"][..] } else { &[""] };
            for part in parts {
                let answer = dry_run_update(plane, &namespace, &written, part).await;
                answer.unwrap_or_else(|status| {
                    panic!("{kind} `{name}` cannot be written back: {}", status.message)
                });
            }
        }
    }
    println!("valid objects: {} {counts:?}", counts.values().sum::<u32>());
}

/// An amount may be a number in YAML; everybody writes it back as text.
fn same_amount(sent: &Value, written: &Value) -> bool {
    let is_quoted = sent.is_number() && written.as_str() == Some(&sent.to_string());
    sent == written || is_quoted
}

/// An object as Butler would write it after reading it.
fn through_our_types(object: &Value) -> Value {
    match text(object, "/kind") {
        "AddonDefinition" => through::<butler_api::AddonDefinition>(object),
        "ButlerConfig" => through::<butler_api::ButlerConfig>(object),
        "ClusterCreationPolicy" => through::<butler_api::ClusterCreationPolicy>(object),
        "IPAllocation" => through::<butler_api::IPAllocation>(object),
        "ManagementAddon" => through::<butler_api::ManagementAddon>(object),
        "NetworkPool" => through::<butler_api::NetworkPool>(object),
        "ProviderConfig" => through::<butler_api::ProviderConfig>(object),
        "QuotaLedger" => through::<butler_api::QuotaLedger>(object),
        "Team" => through::<butler_api::Team>(object),
        "TenantAddon" => through::<butler_api::TenantAddon>(object),
        "TenantCluster" => through::<butler_api::TenantCluster>(object),
        "User" => through::<butler_api::User>(object),
        kind => panic!("no type for `{kind}`"),
    }
}

fn through<K: DeserializeOwned + Serialize>(object: &Value) -> Value {
    let read: K = serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{error}: {object}"));
    serde_json::to_value(read).unwrap()
}
