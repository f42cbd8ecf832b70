use serde_json::{Value, json};

use super::check;
use crate::facts::{Fact, FactKey, FactKind, Facts};
use crate::fixtures::*;
use crate::review::Review;

fn found(spec: Value, facts: &Facts) -> Vec<String> {
    on_create(check, &addon(json!({"spec": spec})), facts)
}

fn own_chart(helm: Value) -> Value {
    json!({"addon": null, "version": "1.2.3", "helm": merged(json!({"repository": "https://charts.example.org", "chart": "queue"}), helm)})
}

#[test]
fn one_chart_into_a_cluster_that_exists() {
    let table: [(Value, &[&str]); 10] = [
        (json!({}), &[]),
        (json!({"version": null}), &[]),
        (own_chart(json!({})), &[]),
        (
            json!({"helm": {"repository": "https://charts.example.org", "chart": "queue"}}),
            &[
                "spec.helm: gives a chart, but `spec.addon` names one from the catalogue; remove one of the two",
            ],
        ),
        (
            json!({"addon": null}),
            &[
                "spec.addon: nothing says what to install; name an addon of the catalogue, or give a chart in `spec.helm`",
            ],
        ),
        (
            json!({"clusterRef": {"name": "gone"}}),
            &[
                "spec.clusterRef.name: there is no TenantCluster `gone` in namespace `payments`; create it first, or name one of \
               this namespace",
            ],
        ),
        (
            json!({"addon": "gone"}),
            &["spec.addon: the catalogue has no addon `gone`; choose one of `argocd`"],
        ),
        (
            json!({"addon": null, "version": null, "helm": {"repository": "https://charts.example.org", "chart": "queue"}}),
            &[
                "spec.version: a chart of your own needs one; write it as the repository lists it, for example `1.2.3`",
            ],
        ),
        (
            own_chart(json!({"repository": "http://charts.example.org"})),
            &[
                "spec.helm.repository: `http://charts.example.org` is no repository; write an address that begins with `https://` \
               or `oci://`",
            ],
        ),
        (
            own_chart(json!({"releaseName": "Queue"})),
            &["spec.helm.releaseName: `Queue` contains `Q`; use only lower-case letters, digits and `-`"],
        ),
    ];
    for (spec, expected) in table {
        assert_eq!(found(spec.clone(), &facts()), expected, "{spec}");
    }
}

#[test]
fn a_cluster_on_its_way_out_takes_no_addons() {
    let facts =
        facts_with(&[cluster_json(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}))]);
    assert_eq!(
        found(json!({}), &facts),
        ["spec.clusterRef.name: the TenantCluster `orders` is being deleted; name another"]
    );
}

#[test]
fn the_catalogue_decides_on_versions_and_platform_addons() {
    let facts = facts_with(&[definition(json!({"spec": {"chart": {"availableVersions": ["7.7.0"]}}}))]);
    assert_eq!(found(json!({"version": "7.7.0"}), &facts), [""; 0]);
    assert_eq!(
        found(json!({"version": "2.10.0"}), &facts),
        [
            "spec.version: the catalogue does not offer version `2.10.0` of `argocd`; choose one of `7.7.0`, `7.7.5`"
        ]
    );
    let facts = facts_with(&[definition(json!({"spec": {"platform": true}}))]);
    assert_eq!(
        found(json!({}), &facts),
        [
            "spec.addon: `argocd` is an addon that the platform installs itself; set it in `spec.addons` of the TenantCluster \
          instead"
        ]
    );
    assert_eq!(on_create_by(&master(), check, &addon(json!({})), &facts), [""; 0]);
    let facts = facts_with(&[team(json!({"spec": {"resourceLimits": {"deniedAddons": ["argocd"]}}}))]);
    assert_eq!(
        found(json!({}), &facts),
        ["spec.addon: the Team `payments` may not install `argocd`; remove it"]
    );
}

#[test]
fn charts_come_from_where_the_platform_allows() {
    let sources =
        |list: Value| facts_with(&[config(json!({"spec": {"chartSources": {"allowedRepositories": list}}}))]);
    assert_eq!(found(own_chart(json!({})), &sources(json!(["https://charts.example.org"]))), [""; 0]);
    assert_eq!(
        found(own_chart(json!({})), &sources(json!(["https://other.example.org/*"]))),
        ["spec.helm.repository: charts may not come from `https://charts.example.org`; use one of \
          `https://other.example.org/*`"]
    );
    assert_eq!(
        found(own_chart(json!({})), &sources(json!([]))),
        [
            "spec.helm.repository: charts may not come from `https://charts.example.org`; this platform allows only addons of the \
          catalogue"
        ]
    );
}

#[test]
fn a_release_is_installed_once() {
    let twin = addon_json(json!({"metadata": {"name": "twin"}}));
    assert_eq!(
        found(json!({}), &facts_with(&[twin])),
        [
            "spec.addon: the TenantAddon `twin` is already the release `argocd` in namespace `argocd` of this cluster; change that \
          one, or delete it first"
        ]
    );
    let elsewhere =
        addon_json(json!({"metadata": {"name": "twin"}, "spec": {"clusterRef": {"name": "other"}}}));
    assert_eq!(found(json!({}), &facts_with(&[elsewhere])), [""; 0]);
}

#[test]
fn nobody_takes_a_release_of_the_cluster_or_of_the_platform() {
    let cilium = || {
        definition(json!({
            "metadata": {"name": "cilium"}, "spec": {"platform": true, "defaults": {"namespace": "kube-system"}}
        }))
    };
    let posing =
        || own_chart(json!({"chart": "cilium", "releaseName": "cilium", "namespace": "kube-system"}));
    assert_eq!(
        found(posing(), &facts_with(&[cilium()])),
        [
            "spec.helm.releaseName: the release `cilium` in namespace `kube-system` is kept for the platform's addon `cilium`; \
          choose another name or namespace"
        ]
    );
    let elsewhere = own_chart(json!({"releaseName": "cilium", "namespace": "queue"}));
    assert_eq!(found(elsewhere, &facts_with(&[cilium()])), [""; 0]);
    let with_network = cluster_json(json!({"spec": {"addons": {"cni": {"provider": "cilium"}}}}));
    assert_eq!(
        found(posing(), &facts_with(&[cilium(), with_network])),
        [
            "spec.helm.releaseName: `spec.addons.cni` of the TenantCluster is already the release `cilium` in namespace \
          `kube-system`; change that, or choose another name"
        ]
    );
    let with_gitops = cluster_json(json!({"spec": {"addons": {"gitops": {"provider": "argocd"}}}}));
    assert_eq!(
        found(json!({}), &facts_with(&[with_gitops])),
        [
            "spec.addon: the cluster installs `argocd` itself; set it in `spec.addons.gitops` of the TenantCluster instead"
        ]
    );
    let mut unknown = facts();
    unknown.lose(FactKind::Definition);
    assert_eq!(
        found(posing(), &unknown),
        [
            "spec.helm.releaseName: not every AddonDefinition can be read at the moment; try again, and tell the platform's \
          administrators if it stays so"
        ]
    );
}

#[test]
fn an_addon_that_the_team_may_not_have_does_not_come_as_a_chart_of_ones_own() {
    let argo = || own_chart(json!({"chart": "argo-cd", "releaseName": "deploy"}));
    let limited = |limits: Value| facts_with(&[team(json!({"spec": {"resourceLimits": limits}}))]);
    assert_eq!(found(argo(), &facts()), [""; 0]);
    assert_eq!(found(argo(), &limited(json!({"deniedAddons": ["velero"]}))), [""; 0]);
    assert_eq!(found(argo(), &limited(json!({"allowedAddons": ["argocd"]}))), [""; 0]);
    assert_eq!(found(own_chart(json!({})), &limited(json!({"allowedAddons": ["velero"]}))), [""; 0]);
    assert_eq!(
        found(argo(), &limited(json!({"deniedAddons": ["argocd"]}))),
        [
            "spec.helm.chart: this is the chart of the addon `argocd`, and the Team `payments` may not install `argocd`; remove it"
        ]
    );
    assert_eq!(
        found(argo(), &limited(json!({"allowedAddons": ["velero"]}))),
        [
            "spec.helm.chart: this is the chart of the addon `argocd`, and the Team `payments` may not install `argocd`; choose \
             among `velero`"
        ]
    );
    let twice = [
        definition(json!({"metadata": {"name": "argo"}})),
        team(json!({"spec": {"resourceLimits": {"allowedAddons": ["argo"]}}})),
    ];
    assert_eq!(found(argo(), &facts_with(&twice)), [""; 0]);
    let spelled = own_chart(
        json!({"repository": "https://Charts.example.org:443/", "chart": "argo-cd", "releaseName": "deploy"}),
    );
    assert_eq!(found(spelled, &limited(json!({"deniedAddons": ["argocd"]}))).len(), 1);
}

#[test]
fn a_release_whose_definition_nobody_can_read_may_be_the_same() {
    let other = addon_json(json!({"metadata": {"name": "gitops"}, "spec": {"addon": "flux"}}));
    let own = addon_json(json!({"metadata": {"name": "backup"}, "spec": own_chart(json!({}))}));
    let mut facts = facts_with(&[other, own]);
    assert_eq!(found(json!({}), &facts), [""; 0]);
    facts.learn(FactKey::Definition("flux".to_owned()), Fact::Unreadable);
    assert_eq!(
        found(json!({}), &facts),
        [
            "spec.addon: the AddonDefinition `flux` cannot be read at the moment; try again, and tell the platform's administrators \
             if it stays so"
        ]
    );
}

#[test]
fn what_nobody_can_say_is_not_taken_for_a_yes() {
    let lost = |kind: FactKind, objects: &[Value]| {
        let mut facts = facts_with(objects);
        facts.lose(kind);
        facts
    };
    assert_eq!(
        found(json!({}), &lost(FactKind::Team, &[])),
        [
            "spec.addon: the Team `payments` cannot be read at the moment; try again, and tell the platform's administrators if it \
          stays so"
        ]
    );
    let body = review_body("DELETE", "tenantaddons", &Value::Null, &addon_json(json!({})), "ana@example.org");
    let review = Review::parse(body.as_bytes()).expect("review");
    let platforms = definition(json!({"spec": {"platform": true}}));
    let verdict = crate::judge(&review, &lost(FactKind::Cluster, std::slice::from_ref(&platforms)));
    assert_eq!(
        verdict.message(),
        "metadata.name: the platform depends on this addon; only its administrators may remove it"
    );
    assert!(!crate::judge(&review, &lost(FactKind::Definition, &[])).allows());
    // A User who is disabled is no administrator, whatever the API server's authorization says.
    let mut facts = lost(FactKind::User, &[platforms]);
    facts.learn(FactKey::Administrator("ana@example.org".to_owned()), Fact::Administrator);
    assert!(!crate::judge(&review, &facts).allows());
    facts.regain(FactKind::User);
    assert!(crate::judge(&review, &facts).allows());
}

#[test]
fn an_addon_waits_for_others_but_never_for_itself() {
    let other = |depends_on: Value| {
        let mut other = addon_json(json!({"metadata": {"name": "queue"}, "spec": own_chart(json!({}))}));
        other["spec"]["dependsOn"] = depends_on;
        facts_with(&[other])
    };
    let waiting = json!({"dependsOn": [{"name": "queue"}]});
    assert_eq!(found(waiting.clone(), &other(json!([]))), [""; 0]);
    assert_eq!(
        found(waiting.clone(), &facts()),
        [
            "spec.dependsOn[0].name: there is no TenantAddon `queue` for the cluster `orders`; create it first, or remove it here"
        ]
    );
    assert_eq!(
        found(waiting, &other(json!([{"name": "orders-argocd"}]))),
        [
            "spec.dependsOn[0].name: `queue` waits for this addon already (`queue` waits for `orders-argocd`); remove one of the \
          two"
        ]
    );
    assert_eq!(
        found(json!({"dependsOn": [{"name": "orders-argocd"}]}), &facts()),
        ["spec.dependsOn[0].name: `orders-argocd` would wait for itself; remove it"]
    );
}

#[test]
fn values_satisfy_the_schema_of_the_catalogue() {
    let schema = json!({
        "type": "object", "required": ["replicas"],
        "properties": {"replicas": {"type": "integer", "minimum": 1}, "affinity": {"type": "object"}}
    });
    let facts = facts_with(&[definition(
        json!({"spec": {"valuesSchema": schema, "defaults": {"values": {"replicas": 2}}}}),
    )]);
    assert_eq!(found(json!({}), &facts), [""; 0]);
    assert_eq!(found(json!({"values": {"replicas": 3}}), &facts), [""; 0]);
    let mut dropped = addon_json(json!({}));
    dropped["spec"]["values"] = json!({"replicas": 2, "affinity": null});
    let dropped = serde_json::from_value(dropped).expect("addon");
    assert_eq!(on_create(check, &dropped, &facts), [""; 0], "helm drops a null before the chart sees it");
    assert_eq!(
        found(json!({"values": {"replicas": 0}}), &facts),
        [
            "spec.values.replicas: 0 is less than the minimum of 1; see `valuesSchema` of the AddonDefinition `argocd`"
        ]
    );
    assert_eq!(
        found(json!({"values": {"replicas": "three"}}), &facts),
        [
            "spec.values.replicas: \"three\" is not of type \"integer\"; see `valuesSchema` of the AddonDefinition `argocd`"
        ]
    );
}

#[test]
fn cluster_and_addon_stay() {
    let old = addon(json!({}));
    let moved = addon(json!({"spec": own_chart(json!({}))}));
    assert_eq!(
        on_update(check, &old, &moved, &facts()),
        ["spec.addon: cannot change from `argocd` to nothing; delete this TenantAddon and create another"]
    );
    let facts = facts_with(&[cluster_json(json!({"metadata": {"name": "other"}}))]);
    let moved = addon(json!({"spec": {"clusterRef": {"name": "other"}}}));
    assert_eq!(
        on_update(check, &old, &moved, &facts),
        [
            "spec.clusterRef.name: cannot change from `orders` to `other`; delete this TenantAddon and create another"
        ]
    );
}

#[test]
fn an_addon_that_others_depend_on_stays() {
    let dependent = addon_json(json!({
        "metadata": {"name": "queue"}, "spec": merged(own_chart(json!({})), json!({"dependsOn": [{"name": "orders-argocd"}]}))
    }));
    let body = review_body("DELETE", "tenantaddons", &Value::Null, &addon_json(json!({})), "ana@example.org");
    let review = Review::parse(body.as_bytes()).expect("review");
    let verdict = crate::judge(&review, &facts_with(std::slice::from_ref(&dependent)));
    assert_eq!(
        verdict.message(),
        "metadata.name: it is needed by `queue`; delete those first, or remove it from their `spec.dependsOn`"
    );
    assert!(crate::judge(&review, &facts()).allows());
    let leaving = cluster_json(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
    assert!(crate::judge(&review, &facts_with(&[dependent, leaving])).allows());
}

#[test]
fn an_addon_that_the_platform_depends_on_is_removed_by_administrators_only() {
    let facts = facts_with(&[definition(json!({"spec": {"platform": true}}))]);
    let body = review_body("DELETE", "tenantaddons", &Value::Null, &addon_json(json!({})), "ana@example.org");
    let verdict = crate::judge(&Review::parse(body.as_bytes()).expect("review"), &facts);
    assert_eq!(
        verdict.message(),
        "metadata.name: the platform depends on this addon; only its administrators may remove it"
    );
    assert_eq!((verdict.code(), verdict.reason()), (403, "Forbidden"));
    let body = body.replace("system:authenticated", "system:masters");
    assert!(crate::judge(&Review::parse(body.as_bytes()).expect("review"), &facts).allows());
}

#[test]
fn values_that_a_schema_makes_too_much_of_are_not_checked_but_refused() {
    let twice = json!({"properties": {"a": {"$ref": "#"}}, "required": ["never"]});
    let schema = json!({"anyOf": [twice, twice]});
    let facts = facts_with(&[definition(json!({"spec": {"valuesSchema": schema}}))]);
    let values = (0..30).fold(json!({}), |inner, _| json!({"a": inner}));
    let object = addon(json!({"spec": {"values": values}}));
    assert_eq!(
        on_create(check, &object, &facts),
        [
            "spec.values: these cannot be checked, because `valuesSchema` of the AddonDefinition `argocd` makes too much work of \
             them: it applies schemas to the same value too often; let fewer of them apply each other by `allOf`, `anyOf`, \
             `oneOf` or `$ref`; shorten the values, or ask the platform's administrators to mend the AddonDefinition"
        ]
    );
}

#[test]
fn a_long_name_of_a_value_is_shortened() {
    let facts = facts_with(&[definition(json!({"spec": {"valuesSchema": {"additionalProperties": false}}}))]);
    let deep = definition(json!({"spec": {"valuesSchema": {"additionalProperties": {"type": "object"}}}}));
    let values = json!({"values": {("a".repeat(100_000)): 1}});
    for facts in [facts, facts_with(&[deep])] {
        let lines = found(values.clone(), &facts);
        assert!(!lines.is_empty() && lines.iter().all(|line| line.len() < 1000), "{lines:?}");
    }
}
