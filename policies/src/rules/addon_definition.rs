//! An entry of the catalogue can be installed, and does not vanish while it is.
//!
//! Fields: `spec.chart.repository`, `.defaultVersion` (not empty), `spec.defaults` (names that are names, a
//! timeout that is a duration), `spec.dependsOn` (entries that exist, no cycle), `spec.valuesSchema` (a JSON Schema that
//! compiles, at most 128 KiB, and cannot keep the gate busy). In use, it cannot be deleted.

use butler_api::AddonDefinition;
use butler_api::butler_config::ChartSources;
use butler_api::excerpt::excerpt;
use butler_api::names::dns_label;
use butler_api::reference::NsRef;
use butler_api::wire::given;

use super::addons::asked;
use super::tenant_addon::{compiled, way_back};
use super::{Case, listed, name_of, place_of, places};
use crate::facts::{FactKey, Facts};
use crate::finding::{Fault, Finding, Findings};
use crate::review::Review;

/// The chart cannot be found like this.
const CHART: &str = "Chart";
/// The names or the time of releases make no sense.
const DEFAULTS: &str = "Defaults";
/// The schema is none.
const SCHEMA: &str = "Schema";
/// An entry that is needed first does not exist, or needs this one.
const DEPENDENCY: &str = "Dependency";
/// It is installed in clusters.
const IN_USE: &str = "InUse";

pub(super) fn check(case: &Case<'_, AddonDefinition>, findings: &mut Findings) {
    let spec = &case.object.spec;
    let repository = &spec.chart.repository;
    if !ChartSources::is_repository(repository) && !repository.starts_with("http://") {
        let message = format!(
            "`{}` is no repository; write an address such as `https://charts.example.org`",
            excerpt(repository)
        );
        findings.invalid(CHART, "spec.chart.repository", message);
    }
    if spec.chart.default_version.is_empty() {
        let message = "is empty; write the version to install when the user does not say";
        findings.add(Finding::deny(Fault::Required, CHART, "spec.chart.defaultVersion", message));
    }
    let defaults = &spec.defaults;
    let names = [
        ("spec.defaults.namespace", &defaults.namespace),
        ("spec.defaults.releaseName", &defaults.release_name),
    ];
    for (path, name) in names {
        if let Some(Err(error)) = given(name).map(dns_label) {
            findings.invalid(DEFAULTS, path, error.to_string());
        }
    }
    if let Some(timeout) = given(&defaults.timeout).filter(|text| !is_duration(text)) {
        let message = format!(
            "`{}` is no duration; write a number and a unit, such as `90s`, `15m` or `1h30m`",
            excerpt(timeout)
        );
        findings.invalid(DEFAULTS, "spec.defaults.timeout", message);
    }
    let own = name_of(&case.object.metadata);
    for (place, name) in spec.depends_on.iter().enumerate() {
        let path = format!("spec.dependsOn[{place}]");
        if name == own {
            findings.invalid(
                DEPENDENCY,
                path,
                format!("`{}` would wait for itself; remove it", excerpt(name)),
            );
        } else if case.facts.definition(name).found().is_some() {
            let waits_for = |name: &str| -> Vec<&str> {
                let definition = case.facts.definition(name).found().into_iter();
                definition.flat_map(|it| &it.spec.depends_on).map(String::as_str).collect()
            };
            if let Some(chain) = way_back(name, own, waits_for) {
                let message = format!(
                    "`{}` waits for this addon already ({chain}); remove one of the two",
                    excerpt(name)
                );
                findings.add(
                    Finding::deny(Fault::Invalid, DEPENDENCY, path, message)
                        .resting_on(FactKey::Definition(name.clone())),
                );
            }
        } else {
            let message =
                format!("the catalogue has no addon `{}`; create it first, or remove it here", excerpt(name));
            findings.add(
                Finding::deny(Fault::NotFound, DEPENDENCY, path, message)
                    .resting_on(FactKey::Definition(name.clone())),
            );
        }
    }
    if let Some(Err(error)) = spec.values_schema.as_ref().map(compiled) {
        findings.invalid(SCHEMA, "spec.valuesSchema", format!("cannot be used: {error}"));
    }
}

/// Whether that is a duration in Go's notation, and longer than none at all.
fn is_duration(text: &str) -> bool {
    let (mut rest, mut is_some) = (text, false);
    while !rest.is_empty() {
        let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(end);
        let Ok(number) = number.parse::<f64>() else { return false };
        // The longer units first: `ms` is not `m` with an `s` behind it.
        let unit = ["ns", "us", "µs", "ms", "s", "m", "h"].iter().find_map(|unit| behind.strip_prefix(unit));
        let Some(next) = unit else { return false };
        is_some |= number > 0.0;
        rest = next;
    }
    is_some
}

/// Keeps an entry from being deleted while it is installed: its releases could not be uninstalled any more.
pub(super) fn protect(review: &Review<'_>, facts: &Facts, findings: &mut Findings) {
    let mut addons: Vec<NsRef> =
        facts.addons_of_definition(&review.name).map(|addon| place_of(&addon.metadata)).collect();
    addons.sort();
    if !addons.is_empty() {
        let message = format!("TenantAddons install it ({}); delete them first", places(&addons));
        let finding = Finding::deny(Fault::Forbidden, IN_USE, "metadata.name", message);
        findings.add(addons.into_iter().map(FactKey::Addon).fold(finding, Finding::resting_on));
    }
    let clusters =
        facts.clusters().filter(|it| asked(&it.spec.addons).iter().any(|addon| addon.name == review.name));
    let mut clusters: Vec<NsRef> = clusters.map(|cluster| place_of(&cluster.metadata)).collect();
    clusters.sort();
    if !clusters.is_empty() {
        let message = format!(
            "`spec.addons` of TenantClusters asks for it ({}); remove it there, or delete them first",
            places(&clusters)
        );
        // One witness is enough; reading thousands of clusters once more would take longer than the caller waits.
        let finding = Finding::deny(Fault::Forbidden, IN_USE, "metadata.name", message);
        findings.add(clusters.into_iter().take(1).map(FactKey::Cluster).fold(finding, Finding::resting_on));
    }
    let dependents = facts.definitions().filter(|it| it.spec.depends_on.iter().any(|on| *on == review.name));
    let mut dependents: Vec<&str> =
        dependents.map(|it| name_of(&it.metadata)).filter(|it| *it != review.name).collect();
    dependents.sort_unstable();
    if !dependents.is_empty() {
        let message = format!(
            "other addons need it ({}); remove it from their `spec.dependsOn` first",
            listed(dependents.iter().copied())
        );
        let finding = Finding::deny(Fault::Forbidden, IN_USE, "metadata.name", message);
        let keys = dependents.into_iter().map(|name| FactKey::Definition(name.to_owned()));
        findings.add(keys.fold(finding, Finding::resting_on));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::fixtures::*;
    use crate::review::Review;

    #[test]
    fn each_way_to_be_wrong() {
        let table: [(Value, &[&str]); 13] = [
            (json!({}), &[]),
            (json!({"valuesSchema": {"type": "object"}}), &[]),
            (json!({"defaults": {"namespace": "argocd", "releaseName": "argo-cd", "timeout": "1h30m"}}), &[]),
            (
                json!({"defaults": {"namespace": "Argo"}}),
                &[
                    "spec.defaults.namespace: `Argo` contains `A`; use only lower-case letters, digits and `-`",
                ],
            ),
            (
                json!({"defaults": {"releaseName": "argo_cd"}}),
                &[
                    "spec.defaults.releaseName: `argo_cd` contains `_`; use only lower-case letters, digits and `-`",
                ],
            ),
            (
                json!({"defaults": {"timeout": "soon"}}),
                &[
                    "spec.defaults.timeout: `soon` is no duration; write a number and a unit, such as `90s`, `15m` or `1h30m`",
                ],
            ),
            (
                json!({"defaults": {"timeout": "0s"}}),
                &[
                    "spec.defaults.timeout: `0s` is no duration; write a number and a unit, such as `90s`, `15m` or `1h30m`",
                ],
            ),
            (
                json!({"valuesSchema": {"$ref": "https://schemas.example.org/values.json"}}),
                &[
                    "spec.valuesSchema: cannot be used: it refers to another place, and nothing is fetched; put what it needs \
                   under `$defs`",
                ],
            ),
            (
                json!({"chart": {"repository": "ftp://charts"}}),
                &[
                    "spec.chart.repository: `ftp://charts` is no repository; write an address such as `https://charts.example.org`",
                ],
            ),
            (
                json!({"chart": {"defaultVersion": ""}}),
                &[
                    "spec.chart.defaultVersion: is empty; write the version to install when the user does not say",
                ],
            ),
            (
                json!({"dependsOn": ["argocd"]}),
                &["spec.dependsOn[0]: `argocd` would wait for itself; remove it"],
            ),
            (
                json!({"dependsOn": ["gone"]}),
                &["spec.dependsOn[0]: the catalogue has no addon `gone`; create it first, or remove it here"],
            ),
            (
                json!({"valuesSchema": {"type": 7}}),
                &[
                    "spec.valuesSchema: cannot be used: `type`: 7 is not valid under any of the schemas listed in \
                   the 'anyOf' keyword; write it by JSON Schema 2020-12",
                ],
            ),
        ];
        for (spec, expected) in table {
            let object = typed_definition(json!({"spec": spec}));
            assert_eq!(on_create(check, &object, &facts()), expected, "{spec}");
        }
    }

    #[test]
    fn a_schema_that_would_keep_the_gate_busy_is_refused() {
        let found = |schema: Value| {
            on_create(check, &typed_definition(json!({"spec": {"valuesSchema": schema}})), &facts())
        };
        let mut schema = json!({"$ref": "#/$defs/d0", "$defs": {"d26": {}}});
        for place in 0..26 {
            let next = json!({"$ref": format!("#/$defs/d{}", place + 1)});
            schema["$defs"][format!("d{place}")] = json!({"allOf": [next, next]});
        }
        assert_eq!(
            found(schema),
            [
                "spec.valuesSchema: cannot be used: it applies schemas to the same value too often; let fewer of them apply each \
                 other by `allOf`, `anyOf`, `oneOf` or `$ref`"
            ]
        );
        let of_pattern = |pattern: &str| found(json!({"properties": {"a": {"pattern": pattern}}}));
        assert_eq!(of_pattern("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"), [""; 0]);
        // Only an engine that tries one way after the other, and so can take for ever, knows these.
        for pattern in ["(?=a)b", "(a)\\1", "((a{100}){100}){100}"] {
            assert_eq!(of_pattern(pattern).len(), 1, "{pattern}");
        }
    }

    #[test]
    fn no_circle_of_addons_wait_for_each_other() {
        let waiting = |name: &str, on: &str| {
            definition(json!({"metadata": {"name": name}, "spec": {"dependsOn": [on]}}))
        };
        let facts =
            facts_with(&[waiting("queue", "store"), waiting("store", "argocd"), waiting("other", "other")]);
        let found =
            |on: &str| on_create(check, &typed_definition(json!({"spec": {"dependsOn": [on]}})), &facts);
        assert_eq!(
            found("queue"),
            [
                "spec.dependsOn[0]: `queue` waits for this addon already (`queue` waits for `store` waits for `argocd`); \
              remove one of the two"
            ]
        );
        assert_eq!(found("other"), [""; 0]);
    }

    #[test]
    fn installed_it_stays() {
        let body = review_body(
            "DELETE",
            "addondefinitions",
            &Value::Null,
            &definition(json!({})),
            "ana@example.org",
        );
        let review = Review::parse(body.as_bytes()).expect("review");
        assert!(crate::judge(&review, &facts()).allows());
        assert_eq!(
            crate::judge(&review, &facts_with(&[addon_json(json!({}))])).message(),
            "metadata.name: TenantAddons install it (`payments/orders-argocd`); delete them first"
        );
        let asking = cluster_json(json!({"spec": {"addons": {"gitops": {"provider": "argocd"}}}}));
        assert_eq!(
            crate::judge(&review, &facts_with(&[asking])).message(),
            "metadata.name: `spec.addons` of TenantClusters asks for it (`payments/orders`); remove it there, or delete them first"
        );
        let needing =
            definition(json!({"metadata": {"name": "rollouts"}, "spec": {"dependsOn": ["argocd"]}}));
        assert_eq!(
            crate::judge(&review, &facts_with(&[needing])).message(),
            "metadata.name: other addons need it (`rollouts`); remove it from their `spec.dependsOn` first"
        );
    }
}
