//! A cluster runs a Kubernetes release that its team may use and the hosted control plane accepts.
//!
//! Field: `spec.kubernetesVersion`. Allowed: `v` and three numbers; a minor within what the hosted control plane runs
//! ([`Case::hosted`], one table that the ButlerConfig can override); one of the team's
//! `allowedKubernetesVersions`, if it lists any. An update may not leave out a minor, because the hosted control plane refuses
//! it, and may not raise the control plane by more than the workers that still run can follow: a kubelet may be three minors
//! older than its API server.
//!
//! An update may not go back either, not even by a patch: what a newer API server has stored, an older one need not be able
//! to read, and nobody tests the way back.

use butler_api::TenantCluster;
use butler_api::version::KubernetesVersion;

use super::{Case, listed};
use crate::facts::FactKey;
use crate::finding::{Fault, Finding, Findings};

const PATH: &str = "spec.kubernetesVersion";

/// There is no version and no default for it.
const VERSION_REQUIRED: &str = "VersionRequired";
/// The text is not a version.
const NOT_A_VERSION: &str = "NotAVersion";
/// The hosted control plane does not run that minor.
const NOT_HOSTED: &str = "NotHosted";
/// The team may not use that version.
const NOT_ALLOWED: &str = "NotAllowed";
/// The update goes back to an older release.
const DOWNGRADE: &str = "Downgrade";
/// The update leaves out a minor.
const SKIPPED_MINOR: &str = "SkippedMinor";
/// The last upgrade is still under way.
const UPGRADE_UNDER_WAY: &str = "UpgradeUnderWay";

pub(super) fn check(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    let Some(text) = case.object.spec.kubernetes_version() else {
        let message = "there is no default for it here; write a release such as `v1.31.4`";
        return findings.add(Finding::deny(Fault::Required, VERSION_REQUIRED, PATH, message));
    };
    let version: KubernetesVersion = match text.parse() {
        Ok(version) => version,
        Err(error) => return findings.invalid(NOT_A_VERSION, PATH, error.to_string()),
    };
    check_hosted(case, version, findings);
    check_allowed(case, text, findings);
    if let Some(old) = case.old() {
        check_step(old, version, findings);
    }
}

fn check_hosted(case: &Case<'_, TenantCluster>, version: KubernetesVersion, findings: &mut Findings) {
    let range = case.hosted();
    if !range.contains(version) {
        let message = format!("`{version}` is not run by the hosted control plane; choose one of {range}");
        findings
            .add(Finding::deny(Fault::NotSupported, NOT_HOSTED, PATH, message).resting_on(FactKey::Config));
    }
}

fn check_allowed(case: &Case<'_, TenantCluster>, text: &str, findings: &mut Findings) {
    let Some(team) = case.team() else { return };
    let Some(limits) = &team.spec.resource_limits else { return };
    let allowed = &limits.allowed_kubernetes_versions;
    if !allowed.is_empty() && !allowed.iter().any(|version| version == text) {
        let name = super::name_of(&team.metadata);
        let message = format!(
            "`{text}` is not among the versions of the Team `{name}`; choose one of {}",
            listed(allowed.iter().map(String::as_str))
        );
        findings.add(
            Finding::deny(Fault::Forbidden, NOT_ALLOWED, PATH, message)
                .resting_on(FactKey::Team(name.to_owned())),
        );
    }
}

fn check_step(old: &TenantCluster, new: KubernetesVersion, findings: &mut Findings) {
    let before = old.spec.kubernetes_version().and_then(|text| text.parse::<KubernetesVersion>().ok());
    let Some(before) = before.filter(|before| *before != new) else { return };
    if new.is_downgrade_from(before) {
        let message = format!(
            "`{new}` is older than `{before}`, and a control plane never goes back; keep `{before}` or choose a later release, \
             or create a new cluster"
        );
        findings.forbidden(DOWNGRADE, PATH, message);
    } else if new.skips_minor_from(before) {
        let message = format!(
            "going from `{before}` to `{new}` leaves out a minor; go to `v{}.{}` first",
            before.major,
            before.minor.saturating_add(1)
        );
        findings.forbidden(SKIPPED_MINOR, PATH, message);
    } else if new.minor() > before.minor() {
        check_running(old, before, new, findings);
    }
}

/// The next minor may only be asked for when the last one runs: two steps at once would leave one out.
fn check_running(
    old: &TenantCluster,
    before: KubernetesVersion,
    new: KubernetesVersion,
    findings: &mut Findings,
) {
    let observed = old.status.as_ref().and_then(|status| status.observed_state.as_ref());
    let running = observed.and_then(|observed| observed.kubernetes_version.as_deref());
    let running = running.and_then(|text| text.parse::<KubernetesVersion>().ok());
    if let Some(running) = running.filter(|running| new.skips_minor_from(*running)) {
        let message = format!(
            "the cluster still runs `{running}` on its way to `{before}`; wait until `kubectl get tenantcluster -o wide` \
             shows `{before}`, then ask for `{new}`"
        );
        findings.forbidden(UPGRADE_UNDER_WAY, PATH, message);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::fixtures::*;

    fn at(version: &str) -> butler_api::TenantCluster {
        cluster(json!({"spec": {"kubernetesVersion": version}}))
    }

    #[test]
    fn a_version_is_whole_and_hosted() {
        let table: [(Value, &[&str]); 9] = [
            (json!("v1.31.4"), &[]),
            (json!("v1.35.9"), &[]),
            (json!("v1.24.0"), &[]),
            (
                json!("v1.23.17"),
                &[
                    "spec.kubernetesVersion: `v1.23.17` is not run by the hosted control plane; choose one of `v1.24` to `v1.35`",
                ],
            ),
            (
                json!("v1.36.0"),
                &["spec.kubernetesVersion: `v1.36.0` is not run by the hosted control plane; choose one of \
                   `v1.24` to `v1.35`"],
            ),
            (
                json!("1.31.4"),
                &[
                    "spec.kubernetesVersion: `1.31.4` is not a Kubernetes version; write `v` and three numbers, such as \
                   `v1.30.2`",
                ],
            ),
            (
                json!("v1.031.4"),
                &["spec.kubernetesVersion: `v1.031.4` has a number with a leading zero; write `v1.31.4`"],
            ),
            (
                json!(""),
                &[
                    "spec.kubernetesVersion: there is no default for it here; write a release such as `v1.31.4`",
                ],
            ),
            (
                Value::Null,
                &[
                    "spec.kubernetesVersion: there is no default for it here; write a release such as `v1.31.4`",
                ],
            ),
        ];
        for (version, expected) in table {
            let cluster = cluster(json!({"spec": {"kubernetesVersion": version}}));
            assert_eq!(on_create(check, &cluster, &facts()), expected, "{version}");
        }
    }

    #[test]
    fn the_platform_may_host_other_versions() {
        let facts = facts_with(&[config(
            json!({"spec": {"supportedKubernetes": {"lowest": "v1.32", "highest": "v1.36"}}}),
        )]);
        assert_eq!(on_create(check, &at("v1.36.0"), &facts), [""; 0]);
        assert_eq!(
            on_create(check, &at("v1.31.4"), &facts),
            [
                "spec.kubernetesVersion: `v1.31.4` is not run by the hosted control plane; choose one of `v1.32` to `v1.36`"
            ]
        );
    }

    #[test]
    fn a_team_may_list_its_versions() {
        let facts = facts_with(&[team(
            json!({"spec": {"resourceLimits": {"allowedKubernetesVersions": ["v1.30.2", "v1.31.0"]}}}),
        )]);
        assert_eq!(on_create(check, &at("v1.31.0"), &facts), [""; 0]);
        assert_eq!(
            on_create(check, &at("v1.31.4"), &facts),
            [
                "spec.kubernetesVersion: `v1.31.4` is not among the versions of the Team `payments`; choose one of `v1.30.2`, \
              `v1.31.0`"
            ]
        );
    }

    #[test]
    fn an_upgrade_goes_minor_by_minor_and_never_back() {
        let table: [(&str, &str, &[&str]); 6] = [
            ("v1.30.2", "v1.31.0", &[]),
            ("v1.30.2", "v1.30.9", &[]),
            (
                "v1.30.2",
                "v1.30.1",
                &[
                    "spec.kubernetesVersion: `v1.30.1` is older than `v1.30.2`, and a control plane never goes back; keep \
                   `v1.30.2` or choose a later release, or create a new cluster",
                ],
            ),
            (
                "v1.30.2",
                "v1.32.0",
                &[
                    "spec.kubernetesVersion: going from `v1.30.2` to `v1.32.0` leaves out a minor; go to `v1.31` first",
                ],
            ),
            (
                "v1.31.4",
                "v1.30.9",
                &[
                    "spec.kubernetesVersion: `v1.30.9` is older than `v1.31.4`, and a control plane never goes back; keep \
                   `v1.31.4` or choose a later release, or create a new cluster",
                ],
            ),
            ("nonsense", "v1.31.0", &[]),
        ];
        for (old, new, expected) in table {
            assert_eq!(on_update(check, &at(old), &at(new), &facts()), expected, "{old} to {new}");
        }
    }

    #[test]
    fn the_next_minor_waits_for_the_last() {
        let old = cluster(json!({
            "spec": {"kubernetesVersion": "v1.31.0"}, "status": {"observedState": {"kubernetesVersion": "v1.30.2"}}
        }));
        assert_eq!(
            on_update(check, &old, &at("v1.32.0"), &facts()),
            [
                "spec.kubernetesVersion: the cluster still runs `v1.30.2` on its way to `v1.31.0`; wait until `kubectl get \
              tenantcluster -o wide` shows `v1.31.0`, then ask for `v1.32.0`"
            ]
        );
        assert_eq!(on_update(check, &old, &at("v1.31.4"), &facts()), [""; 0]);
    }
}
