//! What a cluster is built on cannot change under it.
//!
//! Fields: `spec.teamRef`, `spec.providerConfigRef`, `spec.networking.podCIDR`, `.serviceCIDR`,
//! `spec.workers.machineTemplate.os.type`, `spec.controlPlane.dataStoreRef`. Machines, certificates and stored data depend on
//! them; upstream accepts a change and silently does nothing. A field that was never set may be set once, to what was in
//! effect anyway.

use butler_api::address::Cidr;
use butler_api::excerpt::excerpt;
use butler_api::reference::NsRef;
use butler_api::{TenantCluster, TenantClusterSpec};

use super::Case;
use crate::finding::Findings;

/// The field cannot change.
const IMMUTABLE: &str = "Immutable";

pub(super) fn check(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    let Some(old) = case.old() else { return };
    let (old, new) = (&old.spec, &case.object.spec);
    let team = |spec: &TenantClusterSpec| spec.team_ref.as_ref().map(|team| team.name.clone());
    let store =
        |spec: &TenantClusterSpec| spec.control_plane.data_store_ref.as_ref().map(|store| store.name.clone());
    // A cluster from before the gate got its provider by default; writing that down changes nothing.
    let provider = |spec: &TenantClusterSpec| {
        spec.provider(case.team().map(|team| &team.spec), case.config())
            .map(|NsRef { name, namespace }| format!("{namespace}/{name}"))
    };
    let os = |spec: &TenantClusterSpec| {
        let os = spec.workers.as_ref().and_then(|workers| workers.machine_template.os.r#type);
        Some(os.unwrap_or_default().as_str().to_owned())
    };
    // Another spelling of the same range changes nothing.
    let range = |text: &str| text.parse::<Cidr>().map_or_else(|_| text.to_owned(), |cidr| cidr.to_string());
    let rows: [(&'static str, Option<String>, Option<String>, &str); 6] = [
        ("spec.teamRef", team(old), team(new), "create a cluster for the other team and move the workload"),
        (
            "spec.providerConfigRef",
            provider(old),
            provider(new),
            "create a cluster on the other provider and move the workload",
        ),
        (
            "spec.networking.podCIDR",
            Some(range(old.networking.pod_cidr())),
            Some(range(new.networking.pod_cidr())),
            "create a cluster with the other range and move the workload",
        ),
        (
            "spec.networking.serviceCIDR",
            Some(range(old.networking.service_cidr())),
            Some(range(new.networking.service_cidr())),
            "create a cluster with the other range and move the workload",
        ),
        (
            "spec.workers.machineTemplate.os.type",
            os(old),
            os(new),
            "create a cluster with the other operating system and move the workload",
        ),
        (
            "spec.controlPlane.dataStoreRef",
            store(old),
            store(new),
            "create a cluster on the other data store and move the workload",
        ),
    ];
    for (path, old, new, instead) in rows {
        // A team may be joined by a cluster without one: that is how a platform starts to have teams.
        let joins = path == "spec.teamRef" && old.is_none();
        if old == new || joins {
            continue;
        }
        let shown = |value: &Option<String>| {
            value.as_deref().map_or_else(|| "nothing".to_owned(), |value| format!("`{}`", excerpt(value)))
        };
        let message = format!("cannot change from {} to {}; keep it, or {instead}", shown(&old), shown(&new));
        findings.forbidden(IMMUTABLE, path, message);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::fixtures::*;

    #[test]
    fn what_a_cluster_is_built_on_stays() {
        let table: [(Value, &[&str]); 9] = [
            (json!({"workers": {"replicas": 9}}), &[]),
            (json!({"providerConfigRef": {"name": "harvester-a", "namespace": "butler-system"}}), &[]),
            (json!({"networking": {"podCIDR": "10.244.0.0/16"}}), &[]),
            (
                json!({"teamRef": {"name": "shipping"}}),
                &[
                    "spec.teamRef: cannot change from `payments` to `shipping`; keep it, or create a cluster for the other team \
                   and move the workload",
                ],
            ),
            (
                json!({"providerConfigRef": {"name": "other"}}),
                &[
                    "spec.providerConfigRef: cannot change from `butler-system/harvester-a` to `butler-system/other`; keep it, \
                   or create a cluster on the other provider and move the workload",
                ],
            ),
            (
                json!({"networking": {"podCIDR": "10.8.0.0/16"}}),
                &[
                    "spec.networking.podCIDR: cannot change from `10.244.0.0/16` to `10.8.0.0/16`; keep it, or create a cluster \
                   with the other range and move the workload",
                ],
            ),
            (
                json!({"networking": {"serviceCIDR": "10.8.0.0/16"}}),
                &[
                    "spec.networking.serviceCIDR: cannot change from `10.96.0.0/12` to `10.8.0.0/16`; keep it, or create a \
                   cluster with the other range and move the workload",
                ],
            ),
            (
                json!({"workers": {"machineTemplate": {"os": {"type": "rocky"}}}}),
                &[
                    "spec.workers.machineTemplate.os.type: cannot change from `talos` to `rocky`; keep it, or create a cluster \
                   with the other operating system and move the workload",
                ],
            ),
            (
                json!({"controlPlane": {"dataStoreRef": {"name": "other"}}}),
                &[
                    "spec.controlPlane.dataStoreRef: cannot change from nothing to `other`; keep it, or create a cluster on the \
                   other data store and move the workload",
                ],
            ),
        ];
        for (spec, expected) in table {
            let (old, new) = (cluster(json!({})), cluster(json!({"spec": spec})));
            assert_eq!(on_update(check, &old, &new, &facts()), expected, "{spec}");
        }
    }

    #[test]
    fn a_cluster_without_a_team_may_join_one() {
        let old = cluster(json!({"spec": {"teamRef": null}}));
        assert_eq!(on_update(check, &old, &cluster(json!({})), &facts()), [""; 0]);
    }

    #[test]
    fn another_spelling_of_a_range_is_no_change() {
        let with = |range: &str| cluster(json!({"spec": {"networking": {"podCIDR": range}}}));
        let (old, new) = (with("fd00:0001::/48"), with("fd00:1::/48"));
        assert!(on_update(check, &old, &new, &facts()).is_empty());
    }
}
