//! What this release accepts in a spec but cannot honour: the one list of it. Shorten it when something learns to work.
//!
//! A field that would be stored and then ignored is worse than one that is refused. What would leave the user without
//! something they asked for is denied; what merely says nothing is a warning. Each row says what to do instead.

use butler_api::TenantCluster;
use butler_api::operating_system::OsType;
use butler_api::provider_config::{NetworkMode, ProviderKind};
use butler_api::wire::given;

use super::Case;
use crate::finding::{Fault, Finding, Findings, Severity};

/// The field has no effect here.
const NO_EFFECT: &str = "NoEffect";

/// One field, or combination, that cannot be honoured.
struct Row {
    path: &'static str,
    severity: Severity,
    applies: fn(&Case<'_, TenantCluster>) -> bool,
    message: &'static str,
}

const TABLE: &[Row] = &[
    Row {
        path: "spec.workspaces.enabled",
        severity: Severity::Deny,
        applies: |case| case.object.spec.workspaces.as_ref().is_some_and(|workspaces| workspaces.enabled()),
        message: "this release has no workspaces; set it to `false`, or remove `spec.workspaces`",
    },
    Row {
        path: "spec.infrastructureOverride.harvester",
        severity: Severity::Deny,
        applies: |case| {
            case.object.spec.infrastructure_override.harvester.is_some()
                && runs_elsewhere(case, ProviderKind::Harvester)
        },
        message: "the cluster does not run on Harvester; remove the block, or name a provider of that type",
    },
    Row {
        path: "spec.infrastructureOverride.nutanix",
        severity: Severity::Deny,
        applies: |case| {
            case.object.spec.infrastructure_override.nutanix.is_some()
                && runs_elsewhere(case, ProviderKind::Nutanix)
        },
        message: "the cluster does not run on Nutanix; remove the block, or name a provider of that type",
    },
    Row {
        path: "spec.infrastructureOverride.proxmox",
        severity: Severity::Deny,
        applies: |case| {
            case.object.spec.infrastructure_override.proxmox.is_some()
                && runs_elsewhere(case, ProviderKind::Proxmox)
        },
        message: "the cluster does not run on Proxmox; remove the block, or name a provider of that type",
    },
    Row {
        path: "spec.infrastructureOverride.gcp",
        severity: Severity::Deny,
        applies: |case| {
            case.object.spec.infrastructure_override.gcp.is_some() && runs_elsewhere(case, ProviderKind::Gcp)
        },
        message: "the cluster does not run on Google Cloud; remove the block, or name a provider of that type",
    },
    Row {
        path: "spec.networking.lbPoolSize",
        severity: Severity::Deny,
        applies: |case| {
            case.object.spec.networking.lb_pool_size.is_some()
                && case.provider().is_some_and(|provider| provider.spec.network.mode() != NetworkMode::Ipam)
        },
        message: "the provider does not allocate addresses (its `network.mode` is not `ipam`); remove the field, or give the \
                  addresses in `spec.networking.loadBalancerPool`",
    },
    Row {
        path: "spec.networking.lbPoolSize",
        severity: Severity::Deny,
        applies: |case| {
            case.object.spec.networking.lb_pool_size.is_some()
                && case.object.spec.load_balancer_range().is_some()
        },
        message: "the addresses are chosen by hand already; remove it, or remove the range of addresses",
    },
    Row {
        path: "spec.workers.machineTemplate.os.sshAuthorizedKey",
        severity: Severity::Warn,
        applies: |case| {
            os(case, |os| {
                os.r#type.unwrap_or_default() == OsType::Talos && given(&os.ssh_authorized_key).is_some()
            })
        },
        message: "has no effect, because Talos has no SSH",
    },
    Row {
        path: "spec.workers.machineTemplate.os.talos",
        severity: Severity::Warn,
        applies: |case| os(case, |os| os.r#type.unwrap_or_default() != OsType::Talos && os.talos.is_some()),
        message: "has no effect, because the workers do not run Talos",
    },
];

fn os(
    case: &Case<'_, TenantCluster>,
    applies: impl FnOnce(&butler_api::tenant_cluster::workers::WorkerOs) -> bool,
) -> bool {
    case.object.spec.workers.as_ref().is_some_and(|workers| applies(&workers.machine_template.os))
}

fn runs_elsewhere(case: &Case<'_, TenantCluster>, kind: ProviderKind) -> bool {
    case.provider().is_some_and(|provider| provider.spec.provider != kind)
}

pub(super) fn check(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    let unchanged = case.old().is_some_and(|old| old.spec == case.object.spec);
    for row in TABLE.iter().filter(|row| (row.applies)(case)) {
        if row.severity == Severity::Warn && unchanged {
            continue;
        }
        let finding = Finding::deny(Fault::NotSupported, NO_EFFECT, row.path, row.message);
        let finding = case.provider_fact().into_iter().fold(finding, Finding::resting_on);
        findings.add(Finding { severity: row.severity, ..finding });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::fixtures::*;

    #[test]
    fn nothing_is_accepted_and_then_ignored() {
        let os = |os: Value| json!({"workers": {"machineTemplate": {"os": os}}});
        let table: [(Value, &[&str]); 11] = [
            (json!({}), &[]),
            (json!({"workspaces": {"enabled": false}}), &[]),
            (json!({"infrastructureOverride": {"harvester": {"imageName": "default/other"}}}), &[]),
            (
                json!({"workspaces": {"enabled": true}}),
                &[
                    "spec.workspaces.enabled: this release has no workspaces; set it to `false`, or remove `spec.workspaces`",
                ],
            ),
            (
                json!({"infrastructureOverride": {"nutanix": {"imageUUID": "1"}}}),
                &[
                    "spec.infrastructureOverride.nutanix: the cluster does not run on Nutanix; remove the block, or name a \
                   provider of that type",
                ],
            ),
            (
                json!({"infrastructureOverride": {"proxmox": {"node": "1"}}}),
                &[
                    "spec.infrastructureOverride.proxmox: the cluster does not run on Proxmox; remove the block, or name a \
                   provider of that type",
                ],
            ),
            (
                json!({"infrastructureOverride": {"gcp": {"zone": "1"}}}),
                &[
                    "spec.infrastructureOverride.gcp: the cluster does not run on Google Cloud; remove the block, or name a \
                   provider of that type",
                ],
            ),
            (
                json!({"networking": {"lbPoolSize": 4}}),
                &[
                    "spec.networking.lbPoolSize: the provider does not allocate addresses (its `network.mode` is not `ipam`); \
                   remove the field, or give the addresses in `spec.networking.loadBalancerPool`",
                ],
            ),
            (
                os(json!({"sshAuthorizedKey": "ssh-ed25519 AAAA"})),
                &[
                    "warning: spec.workers.machineTemplate.os.sshAuthorizedKey: has no effect, because Talos has no SSH",
                ],
            ),
            (os(json!({"talos": {"installDisk": "/dev/sda"}})), &[]),
            (
                os(json!({"type": "flatcar", "talos": {"installDisk": "/dev/sda"}})),
                &[
                    "warning: spec.workers.machineTemplate.os.talos: has no effect, because the workers do not run Talos",
                ],
            ),
        ];
        for (spec, expected) in table {
            assert_eq!(on_create(check, &cluster(json!({"spec": spec})), &facts()), expected, "{spec}");
        }
    }
}
