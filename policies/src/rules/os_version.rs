//! Workers run an operating system that suits their provider and their Kubernetes release.
//!
//! Fields: `spec.workers.machineTemplate.os.type`, `spec.kubernetesVersion`. Rocky joins with kubeadm packages that end at
//! v1.30.2; a later release is accepted by everybody and then never joins, so it is refused here, also as an upgrade.
//! Which systems a provider can boot is one table in the API crate. Systems that no end to end run has proven yet are
//! allowed with a warning.

use butler_api::TenantCluster;
use butler_api::operating_system::Maturity;
use butler_api::version::KubernetesVersion;

use super::{Case, listed, name_of};
use crate::finding::{Fault, Finding, Findings};

const TYPE: &str = "spec.workers.machineTemplate.os.type";

/// The operating system does not run that Kubernetes release.
const KUBERNETES_TOO_NEW: &str = "KubernetesTooNew";
/// The provider cannot boot the operating system.
const NOT_ON_PROVIDER: &str = "NotOnProvider";
/// The operating system is not proven end to end.
const UNPROVEN: &str = "Unproven";

pub(super) fn check(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    let os = case.object.spec.workers.as_ref().map(|workers| &workers.machine_template.os);
    let os_type = os.and_then(|os| os.r#type).unwrap_or_default();
    let system = os_type.operating_system();
    let version =
        case.object.spec.kubernetes_version().and_then(|text| text.parse::<KubernetesVersion>().ok());
    if let Some(error) = version.and_then(|version| system.supports(version).err()) {
        let finding = Finding::deny(
            Fault::NotSupported,
            KUBERNETES_TOO_NEW,
            "spec.kubernetesVersion",
            error.to_string(),
        );
        findings.add(finding);
    }
    if let Some(provider) = case.provider() {
        let possible = provider.spec.provider.operating_systems();
        if !possible.contains(&os_type) {
            let message = format!(
                "`{}` cannot be booted by the ProviderConfig `{}`, which is of type `{}`; choose one of {}",
                os_type.as_str(),
                name_of(&provider.metadata),
                provider.spec.provider.as_str(),
                listed(possible.iter().map(|os| os.as_str()))
            );
            let finding = Finding::deny(Fault::NotSupported, NOT_ON_PROVIDER, TYPE, message);
            findings.add(case.provider_fact().into_iter().fold(finding, Finding::resting_on));
        }
    }
    let is_new = case.old().is_none_or(|old| old.spec.workers != case.object.spec.workers);
    if system.maturity == Maturity::EndToEndPending && is_new {
        let message =
            format!("{} is not proven end to end yet; use `talos` where it matters", system.display_name);
        findings.warn(UNPROVEN, TYPE, message);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;
    use crate::fixtures::*;

    fn with(os: &str, version: &str) -> butler_api::TenantCluster {
        cluster(json!({"spec": {
            "kubernetesVersion": version, "workers": {"machineTemplate": {"os": {"type": os, "version": null}}}
        }}))
    }

    #[test]
    fn rocky_stops_at_its_highest_release_also_as_an_upgrade() {
        let too_new = [
            "spec.kubernetesVersion: `v1.31.0` is too new for Rocky Linux, which runs Kubernetes up to `v1.30.2`; \
                        choose `v1.30.2` or lower, or another operating system",
        ];
        assert_eq!(on_create(check, &with("rocky", "v1.30.2"), &facts()), [""; 0]);
        assert_eq!(on_create(check, &with("rocky", "v1.31.0"), &facts()), too_new);
        let (old, new) = (with("rocky", "v1.30.2"), with("rocky", "v1.31.0"));
        assert_eq!(on_update(check, &old, &new, &facts()), too_new);
        for os in ["talos", "flatcar"] {
            assert_eq!(on_create(check, &with(os, "v1.31.0"), &facts()), [""; 0], "{os}");
        }
    }

    #[test]
    fn a_provider_boots_some_systems_only() {
        let local =
            provider(json!({"spec": {"provider": "local", "harvester": null, "credentialsRef": null}}));
        let facts = facts_with(&[local]);
        assert_eq!(on_create(check, &with("rocky", "v1.30.2"), &facts), [""; 0]);
        assert_eq!(
            on_create(check, &with("talos", "v1.31.0"), &facts),
            [
                "spec.workers.machineTemplate.os.type: `talos` cannot be booted by the ProviderConfig `harvester-a`, which is of \
              type `local`; choose one of `rocky`"
            ]
        );
    }

    #[test]
    fn unproven_systems_are_allowed_with_a_warning() {
        for (os, name) in [("kairos", "Kairos"), ("bottlerocket", "Bottlerocket")] {
            let warning = format!(
                "warning: spec.workers.machineTemplate.os.type: {name} is not proven end to end yet; use `talos` where it \
                 matters"
            );
            assert_eq!(on_create(check, &with(os, "v1.31.0"), &facts()), [warning]);
            let unchanged = with(os, "v1.31.0");
            assert_eq!(on_update(check, &unchanged, &unchanged, &facts()), [""; 0]);
        }
    }
}
