//! What an answer takes for granted: that there is nothing of a kind, somewhere, that speaks against it.
//!
//! A snapshot may lag behind. A no is confirmed by looking up what it rests on; a yes usually need not be, because what it
//! allows is judged again when it is used. Three kinds of yes are different, since nothing judges them later: deleting
//! what may be in use, removing an environment that may have clusters, and a policy that may contradict another. One kind
//! of no is different too: a ClusterCreationPolicy denies only if no narrower one allows, and nothing names one that is
//! not known yet. They are rare, so before one is given everything of that kind is listed once.

use crate::facts::{FactKind, Facts};
use crate::finding::Findings;
use crate::review::{Change, Kind, Review, Subject};
use crate::rules::{PROTECTIONS, creation_policy};
use crate::verdict::Verdict;

/// Objects that were looked for and not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presumption {
    /// Their kind.
    pub kind: FactKind,
    /// Where they would be; nothing means everywhere.
    pub namespace: Option<String>,
}

/// What that answer to a review takes for granted.
pub fn presumptions(review: &Review<'_>, verdict: &Verdict, facts: &Facts) -> Vec<Presumption> {
    let everywhere = |kind: FactKind| Presumption { kind, namespace: None };
    if !verdict.allows() {
        let is_by_policy = verdict.findings.iter().any(creation_policy::may_be_lifted);
        return if is_by_policy { vec![everywhere(FactKind::CreationPolicy)] } else { Vec::new() };
    }
    match &review.subject {
        Subject::Team(change) => match &**change {
            Change::Update { old, new } if loses_an_environment(old, new) => {
                vec![clusters_of_team(review, facts)]
            }
            Change::Delete(_) => vec![clusters_of_team(review, facts)],
            Change::Create(_) | Change::Update { .. } => Vec::new(),
        },
        Subject::ClusterCreationPolicy(change) => match **change {
            Change::Create(_) | Change::Update { .. } => vec![everywhere(FactKind::CreationPolicy)],
            Change::Delete(_) => Vec::new(),
        },
        Subject::TenantAddon(change) if matches!(**change, Change::Delete(_)) => {
            vec![Presumption { kind: FactKind::Addon, namespace: Some(review.namespace.to_string()) }]
        }
        Subject::ProviderConfig(change) if matches!(**change, Change::Delete(_)) => users_of(review.kind),
        Subject::NetworkPool(change) if matches!(**change, Change::Delete(_)) => users_of(review.kind),
        Subject::AddonDefinition(change) if matches!(**change, Change::Delete(_)) => users_of(review.kind),
        Subject::UnreadableDelete => users_of(review.kind),
        _ => Vec::new(),
    }
}

/// The answer when what a yes takes for granted cannot be listed: not knowing denies.
pub fn unverified(review: &Review<'_>, kind: FactKind) -> Verdict {
    let mut findings = Findings::default();
    findings.of_rule("presumption");
    findings.unknown_kind("metadata.name", kind);
    Verdict::of(review, findings.into_found())
}

fn users_of(kind: Kind) -> Vec<Presumption> {
    let protections = PROTECTIONS.iter().filter(|protection| protection.kind == kind);
    protections
        .flat_map(|protection| protection.users)
        .map(|kind| Presumption { kind: *kind, namespace: None })
        .collect()
}

/// A team's clusters are in its namespace.
fn clusters_of_team(review: &Review<'_>, facts: &Facts) -> Presumption {
    let namespace = facts.team(&review.name).found().map(|team| team.namespace().to_owned());
    Presumption {
        kind: FactKind::Cluster,
        namespace: Some(namespace.unwrap_or_else(|| review.name.to_string())),
    }
}

fn loses_an_environment(old: &butler_api::Team, new: &butler_api::Team) -> bool {
    old.spec.environments.iter().any(|environment| new.spec.environment(&environment.name).is_none())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::finding::Found;
    use crate::fixtures::*;

    fn of(operation: &str, resource: &str, object: &Value, old: &Value) -> Vec<(FactKind, Option<String>)> {
        let body = review_body(operation, resource, object, old, "ana@example.org");
        let review = Review::parse(body.as_bytes()).expect("review");
        let allowed = Verdict::of(&review, Found::default());
        presumptions(&review, &allowed, &facts()).into_iter().map(|it| (it.kind, it.namespace)).collect()
    }

    #[test]
    fn a_team_that_goes_or_loses_an_environment_has_no_clusters_there() {
        let (one, none) = (json!({"spec": {"environments": [{"name": "prod"}]}}), json!({}));
        let clusters = vec![(FactKind::Cluster, Some("payments".to_owned()))];
        assert_eq!(of("DELETE", "teams", &Value::Null, &team(none.clone())), clusters);
        assert_eq!(of("UPDATE", "teams", &team(none.clone()), &team(one.clone())), clusters);
        assert_eq!(of("UPDATE", "teams", &team(one.clone()), &team(none.clone())), []);
        assert_eq!(of("CREATE", "teams", &team(one), &Value::Null), []);
    }

    #[test]
    fn what_is_protected_is_used_by_nobody_when_it_goes() {
        let provider = provider(json!({}));
        assert_eq!(of("DELETE", "providerconfigs", &Value::Null, &provider)[0], (FactKind::Cluster, None));
        assert_eq!(of("CREATE", "providerconfigs", &provider, &Value::Null), []);
        let unreadable = json!({"metadata": {"name": "vlan50"}, "spec": "nonsense"});
        let kinds = of("DELETE", "networkpools", &Value::Null, &unreadable);
        assert_eq!(kinds, [(FactKind::Allocation, None), (FactKind::Provider, None)]);
    }

    #[test]
    fn a_policy_denies_unless_a_narrower_one_allows() {
        let other =
            json!({"spec": {"infrastructureOverride": {"harvester": {"imageName": "default/other"}}}});
        let old = json!({"spec": {"kubernetesVersion": "v1.20.0"}});
        let pinned = facts_with(&[creation_policy(json!({}))]);
        for (tweak, expected) in [(other, vec![FactKind::CreationPolicy]), (old, vec![])] {
            let body = review_body(
                "CREATE",
                "tenantclusters",
                &cluster_json(tweak),
                &Value::Null,
                "ana@example.org",
            );
            let review = Review::parse(body.as_bytes()).expect("review");
            let verdict = crate::judge(&review, &pinned);
            assert!(!verdict.allows());
            let kinds: Vec<_> = presumptions(&review, &verdict, &pinned).iter().map(|it| it.kind).collect();
            assert_eq!(kinds, expected);
        }
    }

    #[test]
    fn a_policy_contradicts_no_other_and_a_cluster_takes_nothing_for_granted() {
        let policy = creation_policy(json!({}));
        assert_eq!(
            of("CREATE", "clustercreationpolicies", &policy, &Value::Null),
            [(FactKind::CreationPolicy, None)]
        );
        assert_eq!(of("CREATE", "tenantclusters", &cluster_json(json!({})), &Value::Null), []);
        assert_eq!(of("DELETE", "tenantclusters", &Value::Null, &cluster_json(json!({}))), []);
    }
}
