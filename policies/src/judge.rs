//! The one entry: what was asked and what is known go in, the answer comes out.
//!
//! The same functions judge in the webhook, in `butlerctl`, in the aggregated API and, through [`standing`], in the
//! reconciler, which refuses to work on what slipped past the gate.

use butler_api::TenantCluster;
use butler_api::reference::NsRef;
use butler_api::tenant_cluster::Workers;

use crate::defaults::{self, Completion};
use crate::facts::{FactKey, Facts, Lookup};
use crate::finding::{Fault, Finding, Findings, Found};
use crate::policy::{Known, PolicySet, Request, Shown, validate_at_the_gate};
use crate::ratchet;
use crate::review::{Change, Review, Subject};
use crate::rules::{self, Case, Moment, Rule};
use crate::verdict::Verdict;

/// The mutating stage: what the user left out.
pub fn complete(review: &Review<'_>, facts: &Facts) -> Completion {
    match &review.subject {
        Subject::TenantCluster(change) if !ratchet::passes(change) => {
            defaults::tenant_cluster::complete(review, change, facts)
        }
        Subject::Team(change) if !ratchet::passes(change) => defaults::team::complete(review, change, facts),
        Subject::TenantAddon(change) if !ratchet::passes(change) => {
            defaults::tenant_addon::complete(review, change, facts)
        }
        _ => Completion::default(),
    }
}

/// The validating stage: whether the change may happen.
pub fn judge(review: &Review<'_>, facts: &Facts) -> Verdict {
    let findings = match &review.subject {
        Subject::TenantCluster(change) => judge_change(rules::TENANT_CLUSTER, change, review, facts),
        Subject::TenantAddon(change) => judge_change(rules::TENANT_ADDON, change, review, facts),
        Subject::Team(change) => judge_change(rules::TEAM, change, review, facts),
        Subject::ButlerConfig(change) => judge_change(rules::BUTLER_CONFIG, change, review, facts),
        Subject::ProviderConfig(change) => judge_change(rules::PROVIDER_CONFIG, change, review, facts),
        Subject::NetworkPool(change) => judge_change(rules::NETWORK_POOL, change, review, facts),
        Subject::AddonDefinition(change) => judge_change(rules::ADDON_DEFINITION, change, review, facts),
        Subject::ClusterCreationPolicy(change) => {
            judge_change(rules::CLUSTER_CREATION_POLICY, change, review, facts)
        }
        Subject::Scale { replicas } => judge_scale(*replicas, review, facts),
        Subject::Untouched => Found::default(),
        Subject::UnreadableDelete => protections(review, facts),
    };
    Verdict::of(review, findings)
}

/// The validating stage with policies, which come after the rules.
pub fn judge_by_policies(review: &Review<'_>, facts: &Facts, set: &PolicySet, shown: &Shown) -> Verdict {
    let mut verdict = judge(review, facts);
    let request = Request::of_review(review).seen_by(set);
    verdict.policies = validate_at_the_gate(set, &request, &Known::new(facts, review, shown));
    verdict
}

/// What is wrong with a cluster as it stands, without a change and whoever made it.
pub fn standing(cluster: &TenantCluster, facts: &Facts) -> Vec<Finding> {
    let case = Case::new(cluster, Moment::Standing, None, facts);
    run(rules::TENANT_CLUSTER, &case, Findings::default()).into_found().kept
}

/// Whether a cluster as it stands would be where it belongs, were the facts these: asked of a mode that the platform is
/// not in, before anybody switches to it.
pub fn out_of_place(cluster: &TenantCluster, facts: &Facts) -> Vec<Finding> {
    let case = Case::new(cluster, Moment::Standing, None, facts);
    run(&[rules::TENANCY_MODE], &case, Findings::default()).into_found().kept
}

fn judge_change<T: ratchet::Ratcheted>(
    rules: &[Rule<T>],
    change: &Change<T>,
    review: &Review<'_>,
    facts: &Facts,
) -> Found {
    let caller = Some(&review.caller);
    match change {
        Change::Delete(_) => protections(review, facts),
        Change::Create(new) => {
            run(rules, &Case::new(new, Moment::Create, caller, facts), Findings::default()).into_found()
        }
        Change::Update { old, new } => {
            if ratchet::passes(change) {
                return Found::default();
            }
            let after = Case::new(new, Moment::Update { old }, caller, facts);
            let before = Case::new(old, Moment::Standing, caller, facts);
            ratchet::forgive(
                run(rules, &after, Findings::default()).into_found(),
                || run(rules, &before, Findings::before()).into_standing(),
                |standing| run(rules, &after, Findings::forgiving(standing)).into_found(),
            )
        }
    }
}

fn run<T>(rules: &[Rule<T>], case: &Case<'_, T>, mut findings: Findings) -> Findings {
    for rule in rules {
        findings.of_rule(rule.id);
        (rule.check)(case, &mut findings);
    }
    findings
}

fn protections(review: &Review<'_>, facts: &Facts) -> Found {
    let mut findings = Findings::default();
    for protection in rules::PROTECTIONS.iter().filter(|protection| protection.kind == review.kind) {
        findings.of_rule(protection.id);
        for user in protection.users.iter().filter(|kind| !facts.knows_all(**kind)) {
            findings.unknown_kind("metadata.name", *user);
        }
        (protection.check)(review, facts, &mut findings);
    }
    findings.into_found()
}

/// `kubectl scale` sends a number and not the cluster, which is therefore looked up; then the same rules apply as if
/// the number had been edited.
fn judge_scale(replicas: i32, review: &Review<'_>, facts: &Facts) -> Found {
    let at = NsRef { name: review.name.to_string(), namespace: review.namespace.to_string() };
    let old = match facts.cluster(&at) {
        Lookup::Found(cluster) => cluster,
        Lookup::Absent | Lookup::Unknown => {
            let message = "the cluster is not known yet; try again in a moment";
            let finding = Finding::deny(Fault::NotFound, "Unknown", "spec.replicas", message);
            return vec![Finding { rule: "worker-size", ..finding.resting_on(FactKey::Cluster(at)) }].into();
        }
    };
    let mut new = old.clone();
    new.spec.workers.get_or_insert_with(Workers::default).replicas = Some(replicas);
    let change = Change::Update { old: old.clone(), new };
    judge_change(rules::TENANT_CLUSTER, &change, review, facts)
}
