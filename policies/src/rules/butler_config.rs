//! The platform's settings are one object, named `butler`, that can be read.
//!
//! Fields: `metadata.name`; `spec.defaultNamespace` (not one of Kubernetes', the platform's own, or a team's); `spec.controlPlaneExposure` (Ingress and
//! Gateway need `hostname`, Gateway also `gatewayRef` as `namespace/name`); `spec.supportedKubernetes` (minors, in order);
//! `spec.defaultTeamLimits` (amounts); `spec.clusterDefaults`; `spec.chartSources`. Deleting it, or repairing it, always works.
//! A `defaultProviderConfigRef` that does not exist yet is a warning: a platform is set up in some order.

use butler_api::ButlerConfig;
use butler_api::butler_config::{CONFIG_NAME, ChartSources};
use butler_api::excerpt::excerpt;
use butler_api::exposure::ExposureMode;
use butler_api::names::dns_label;
use butler_api::quota::Limits;
use butler_api::reference::SYSTEM_NAMESPACE;

use super::addons::offered;
use super::{Case, check_amounts, name_of};
use crate::facts::{FactKey, Lookup};
use crate::finding::{Fault, Finding, Findings};
use crate::quota::lowered::Lowered;

/// There is only one, of another name.
const NAME: &str = "Name";
/// The namespace cannot be the clusters'.
const NAMESPACE: &str = "Namespace";
/// The way of exposure lacks something.
const EXPOSURE: &str = "Exposure";
/// The minors make no sense.
const KUBERNETES: &str = "Kubernetes";
/// A limit makes no sense.
const LIMIT: &str = "Limit";
/// The catalogue does not offer that version.
const VERSION_NOT_OFFERED: &str = "VersionNotOffered";
/// The address is no repository.
const CHART_SOURCE: &str = "ChartSource";
/// The default provider does not exist.
const PROVIDER_NOT_FOUND: &str = "ProviderNotFound";

pub(super) fn check(case: &Case<'_, ButlerConfig>, findings: &mut Findings) {
    let (spec, name) = (&case.object.spec, name_of(&case.object.metadata));
    if name != CONFIG_NAME {
        let message = format!(
            "the platform reads only the ButlerConfig `{CONFIG_NAME}`, not `{}`; use that name",
            excerpt(name)
        );
        findings.invalid(NAME, "metadata.name", message);
    }
    let namespace = spec.default_namespace();
    if let Err(error) = dns_label(namespace) {
        findings.invalid(NAMESPACE, "spec.defaultNamespace", error.to_string());
    } else if namespace == SYSTEM_NAMESPACE {
        let message = format!(
            "`{namespace}` has the platform's own objects, among them credentials; choose another, for example `butler-tenants`"
        );
        findings.invalid(NAMESPACE, "spec.defaultNamespace", message);
    } else if namespace == "default" || namespace.starts_with("kube-") {
        let message =
            format!("`{namespace}` belongs to Kubernetes; choose another, for example `butler-tenants`");
        findings.invalid(NAMESPACE, "spec.defaultNamespace", message);
    } else if case.facts.teams().any(|team| name_of(&team.metadata) == namespace)
        || matches!(case.facts.namespace(namespace), Lookup::Found(found) if found.team.is_some())
    {
        let message =
            format!("`{namespace}` is the namespace of a team; choose another, for example `butler-tenants`");
        let finding = Finding::deny(Fault::Invalid, NAMESPACE, "spec.defaultNamespace", message);
        findings.add(finding.resting_on(FactKey::Team(namespace.to_owned())));
    }
    let exposure = &spec.control_plane_exposure;
    if exposure.mode() != ExposureMode::LoadBalancer && exposure.hostname().is_none() {
        let message = format!(
            "mode `{:?}` tells clusters apart by host name; set one, for example `*.k8s.example.org`",
            exposure.mode()
        );
        findings.add(Finding::deny(Fault::Required, EXPOSURE, "spec.controlPlaneExposure.hostname", message));
    }
    let broken =
        |(namespace, name): (&str, &str)| namespace.is_empty() || name.is_empty() || name.contains('/');
    if exposure.mode() == ExposureMode::Gateway && exposure.gateway().is_none_or(broken) {
        let message = "mode `Gateway` needs the shared Gateway; write it as `namespace/name`";
        findings.add(Finding::deny(
            Fault::Required,
            EXPOSURE,
            "spec.controlPlaneExposure.gatewayRef",
            message,
        ));
    }
    let supported = &spec.supported_kubernetes;
    for (path, bound) in [
        ("spec.supportedKubernetes.lowest", supported.lowest()),
        ("spec.supportedKubernetes.highest", supported.highest()),
    ] {
        if let Some(Err(error)) = bound {
            findings.invalid(KUBERNETES, path, error.to_string());
        }
    }
    let range = supported.range();
    if range.lowest > range.highest {
        let message = format!(
            "`{}` is above the newest minor, `{}`, so no cluster could be made; lower it",
            range.lowest, range.highest
        );
        findings.invalid(KUBERNETES, "spec.supportedKubernetes.lowest", message);
    }
    check_limits(case.object, findings);
    check_lowered(case, findings);
    super::team::check_defaults("spec.clusterDefaults", &spec.cluster_defaults, range, case.facts, findings);
    check_addon_versions(case, findings);
    for (place, address) in
        spec.chart_sources.iter().flat_map(|sources| &sources.allowed_repositories).enumerate()
    {
        if !ChartSources::is_repository(address.strip_suffix("/*").unwrap_or(address)) {
            let message = format!(
                "`{}` is no repository; write an address that begins with `https://` or `oci://`",
                excerpt(address)
            );
            findings.invalid(
                CHART_SOURCE,
                format!("spec.chartSources.allowedRepositories[{place}]"),
                message,
            );
        }
    }
    if let Some(provider) = &spec.default_provider_config_ref
        && case.facts.provider(&provider.in_system_namespace()) == Lookup::Absent
    {
        let message =
            format!("there is no ProviderConfig `{}` yet; clusters wait for it", excerpt(&provider.name));
        findings.warn(PROVIDER_NOT_FOUND, "spec.defaultProviderConfigRef.name", message);
    }
}

/// A version that the catalogue does not offer yet is a warning: the catalogue may be brought up to date after the settings.
fn check_addon_versions(case: &Case<'_, ButlerConfig>, findings: &mut Findings) {
    let versions = &case.object.spec.default_addon_versions;
    for (field, addon) in [
        ("cilium", "cilium"),
        ("metallb", "metallb"),
        ("certManager", "cert-manager"),
        ("longhorn", "longhorn"),
        ("traefik", "traefik"),
        ("fluxcd", "flux"),
    ] {
        if let (Some(version), Lookup::Found(definition)) = (versions.of(addon), case.facts.definition(addon))
            && !definition.spec.chart.offers(version)
        {
            let message = format!(
                "the catalogue does not offer version `{}` of `{addon}`, so no cluster can have it; choose one of {}",
                excerpt(version),
                offered(&definition.spec.chart)
            );
            findings.warn(VERSION_NOT_OFFERED, format!("spec.defaultAddonVersions.{field}"), message);
        }
    }
}

fn check_limits(config: &ButlerConfig, findings: &mut Findings) {
    let Some(limits) = &config.spec.default_team_limits else { return };
    let amounts = [
        ("maxTotalCPU", &limits.max_total_cpu),
        ("maxTotalMemory", &limits.max_total_memory),
        ("maxTotalStorage", &limits.max_total_storage),
    ];
    check_amounts(LIMIT, "spec.defaultTeamLimits", &amounts, findings);
}

/// A default that is lowered binds every team that has no limit of its own.
fn check_lowered(case: &Case<'_, ButlerConfig>, findings: &mut Findings) {
    let Some(old) = case.old().map(|old| &old.spec) else { return };
    let new = &case.object.spec;
    if old.default_team_limits == new.default_team_limits {
        return;
    }
    let mut teams: Vec<_> = case.facts.teams().collect();
    teams.sort_by_key(|team| name_of(&team.metadata));
    let mut lowered = Lowered::default();
    for team in teams {
        let name = name_of(&team.metadata);
        lowered.look(name, case.facts, Some(name), |_| {
            [old, new].map(|config| {
                let limits = Limits { name, team: &team.spec, config: Some(config) };
                limits.of_team().unwrap_or_default()
            })
        });
    }
    lowered.warn(findings);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::fixtures::*;

    #[test]
    fn each_way_to_be_wrong() {
        let table: [(Value, &[&str]); 16] = [
            (json!({}), &[]),
            (
                json!({"metadata": {"name": "other"}}),
                &[
                    "metadata.name: the platform reads only the ButlerConfig `butler`, not `other`; use that name",
                ],
            ),
            (
                json!({"spec": {"defaultNamespace": "kube-system"}}),
                &[
                    "spec.defaultNamespace: `kube-system` belongs to Kubernetes; choose another, for example `butler-tenants`",
                ],
            ),
            (
                json!({"spec": {"defaultNamespace": "butler-system"}}),
                &[
                    "spec.defaultNamespace: `butler-system` has the platform's own objects, among them credentials; choose another, \
                   for example `butler-tenants`",
                ],
            ),
            (
                json!({"spec": {"defaultNamespace": "payments"}}),
                &[
                    "spec.defaultNamespace: `payments` is the namespace of a team; choose another, for example `butler-tenants`",
                ],
            ),
            (
                json!({"spec": {"clusterDefaults": {"kubernetesVersion": "v1.36.0"}}}),
                &[
                    "spec.clusterDefaults.kubernetesVersion: `v1.36.0` is not run by the hosted control plane; choose one of \
                   `v1.24` to `v1.35`",
                ],
            ),
            (
                json!({"spec": {
                    "clusterDefaults": {"kubernetesVersion": "v1.36.0"}, "supportedKubernetes": {"highest": "v1.36"}
                }}),
                &[],
            ),
            (
                json!({"spec": {"clusterDefaults": {"defaultAddons": ["argocd", "later"]}}}),
                &[
                    "warning: spec.clusterDefaults.defaultAddons[1]: the catalogue has no addon `later` yet; clusters wait for it",
                ],
            ),
            (
                json!({"spec": {"defaultAddonVersions": {"cilium": "0.9.0"}}}),
                &[
                    "warning: spec.defaultAddonVersions.cilium: the catalogue does not offer version `0.9.0` of `cilium`, so no \
                   cluster can have it; choose one of `1.16.0`, `1.17.0`",
                ],
            ),
            (
                json!({"spec": {"controlPlaneExposure": {"mode": "Ingress"}}}),
                &[
                    "spec.controlPlaneExposure.hostname: mode `Ingress` tells clusters apart by host name; set one, for example \
                   `*.k8s.example.org`",
                ],
            ),
            (
                json!({"spec": {"controlPlaneExposure": {"mode": "Gateway", "hostname": "*.k8s.example.org", "gatewayRef": "edge"}}}),
                &[
                    "spec.controlPlaneExposure.gatewayRef: mode `Gateway` needs the shared Gateway; write it as `namespace/name`",
                ],
            ),
            (
                json!({"spec": {"supportedKubernetes": {"highest": "1.36"}}}),
                &[
                    "spec.supportedKubernetes.highest: `1.36` is not a Kubernetes minor; write `v` and two numbers, such as \
                   `v1.30`",
                ],
            ),
            (
                json!({"spec": {"supportedKubernetes": {"lowest": "v1.40"}}}),
                &[
                    "spec.supportedKubernetes.lowest: `v1.40` is above the newest minor, `v1.35`, so no cluster could be made; \
                   lower it",
                ],
            ),
            (
                json!({"spec": {"defaultTeamLimits": {"maxTotalCPU": "-1"}}}),
                &["spec.defaultTeamLimits.maxTotalCPU: `-1` is below zero; write `0` or more"],
            ),
            (
                json!({"spec": {"chartSources": {"allowedRepositories": ["charts"]}}}),
                &[
                    "spec.chartSources.allowedRepositories[0]: `charts` is no repository; write an address that begins with \
                   `https://` or `oci://`",
                ],
            ),
            (
                json!({"spec": {"defaultProviderConfigRef": {"name": "later"}}}),
                &[
                    "warning: spec.defaultProviderConfigRef.name: there is no ProviderConfig `later` yet; clusters wait for it",
                ],
            ),
        ];
        for (tweak, expected) in table {
            let object = serde_json::from_value(config(tweak.clone())).expect("config");
            let cilium = definition(json!({
                "metadata": {"name": "cilium"}, "spec": {"chart": {"defaultVersion": "1.17.0", "availableVersions": ["1.16.0"]}}
            }));
            assert_eq!(on_create(check, &object, &facts_with(&[cilium])), expected, "{tweak}");
        }
    }

    #[test]
    fn a_default_below_what_teams_use_is_worth_a_warning() {
        let limited = |limits: Value| {
            serde_json::from_value(config(json!({"spec": {"defaultTeamLimits": limits}}))).expect("config")
        };
        let of = |team: &str| json!({"spec": {"teamRef": {"name": team}, "workers": {"replicas": 3}}});
        let facts = facts_with(&[
            team(json!({})),
            team(json!({"metadata": {"name": "other"}})),
            team(json!({"metadata": {"name": "own"}, "spec": {"resourceLimits": {"maxClusters": 5}}})),
            cluster_json(of("payments")),
            cluster_json(merged(of("other"), json!({"metadata": {"name": "two", "namespace": "other"}}))),
            cluster_json(merged(of("own"), json!({"metadata": {"name": "three", "namespace": "own"}}))),
        ]);
        let lowered = |old: Value, new: Value| on_update(check, &limited(old), &limited(new), &facts);
        assert_eq!(lowered(json!({"maxClusters": 9}), json!({"maxClusters": 1})), [""; 0]);
        assert_eq!(
            lowered(json!({"maxClusters": 9}), json!({"maxClusters": 0, "maxTotalCPU": "1k"})),
            [
                "warning: spec.defaultTeamLimits.maxClusters: `0` is below what is used: 1 cluster of the Team `other`, 1 cluster of the \
                 Team `payments`; nothing is taken away, but nothing can be added until less is used",
            ]
        );
    }
}
