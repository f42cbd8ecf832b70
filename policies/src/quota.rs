//! What a change asks of its team's ledger, and how a no is told.
//!
//! Pure like the rest: the webhook asks the ledger, and whoever asks, the words are these. A change that raises nothing
//! asks for nothing.

pub(crate) mod lowered;

use butler_api::names::ObjectUid;
use butler_api::quota::ledger::Ask;
use butler_api::quota::{Dimension, Exceeded, Holding, Limit, Limits, Refusal, Scope};
use butler_api::reference::NsRef;
use butler_api::tenant_cluster::Workers;
use butler_api::{TeamSpec, TenantCluster, labels};
use serde::Deserialize;

use crate::facts::{FactKey, Facts, Lookup};
use crate::finding::{Fault, Finding, Findings};
use crate::ratchet;
use crate::review::{Change, Operation, Review, Subject};

/// The rule in findings and metrics.
const RULE: &str = "quota";
/// A limit would be exceeded.
const EXCEEDED: &str = "Exceeded";
/// The ledger cannot take up one more change.
const LEDGER_FULL: &str = "LedgerFull";
/// The ledger was lost or edited and is being made anew.
const LEDGER_LOST: &str = "LedgerLost";
/// The ledger could not be asked in time.
const NOT_DECIDED: &str = "NotDecided";
/// What would be counted cannot be.
const UNCOUNTABLE: &str = "Uncountable";

/// What a change asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Whose ledger is asked.
    pub team: String,
    /// What is asked.
    pub ask: Ask,
    /// Within which limits.
    pub limits: Vec<Limit>,
    /// The facts that the limits are from.
    pub rests_on: Vec<FactKey>,
}

/// What has to happen before a change may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: it raises nothing that is counted.
    Nothing,
    /// The ledger is asked.
    Grant(Box<Claim>),
    /// This fact is looked up first, and then it is asked again what is needed.
    Look(FactKey),
    /// It cannot be counted, and so not be granted.
    Denial(Finding),
}

/// What a review needs of a ledger.
pub fn need(review: &Review<'_>, facts: &Facts) -> Need {
    match &review.subject {
        Subject::TenantCluster(change) => match &**change {
            Change::Create(new) => {
                // An object that could not be read is repaired: it is there, and nobody knows what it takes.
                let base = (review.operation == Operation::Update).then_some(&new.metadata.resource_version);
                need_of(review, facts, None, new, base.map(Option::as_deref))
            }
            // Rules let pass whatever happens to what is being deleted. Its machines exist until it is gone, so it counts,
            // and taking more is asked for like anything else: or whoever deletes a cluster could have any number.
            Change::Update { old, new } if !ratchet::is_same(old, new) => {
                need_of(review, facts, Some(old), new, Some(old.metadata.resource_version.as_deref()))
            }
            Change::Update { .. } | Change::Delete(_) => Need::Nothing,
        },
        Subject::Scale { replicas } => need_of_scale(*replicas, review, facts),
        _ => Need::Nothing,
    }
}

/// What a cluster takes of its team, whose settings may name its provider.
pub fn holding(cluster: &TenantCluster, facts: &Facts) -> Holding {
    Holding::of(cluster, provider_of(cluster, facts).as_ref())
}

/// The same, unless nobody can say at the moment which provider it has: one that is named by none is the team's, or the
/// platform's.
pub fn known_holding(cluster: &TenantCluster, facts: &Facts) -> Option<Holding> {
    let is_unknown = || {
        let team = team_of(cluster).map(|name| facts.team(name));
        matches!(team, Some(Lookup::Unknown)) || matches!(facts.config(), Lookup::Unknown)
    };
    if cluster.spec.provider(None, None).is_none() && is_unknown() {
        return None;
    }
    Some(holding(cluster, facts))
}

/// Every limit that counts for what a cluster takes of a team.
///
/// # Errors
/// When one of them cannot be read, in words.
pub fn limits_of(
    name: &str,
    team: &TeamSpec,
    holding: &Holding,
    facts: &Facts,
) -> Result<Vec<Limit>, String> {
    let at = holding.provider.as_deref().and_then(|at| at.split_once('/'));
    let at = at.map(|(namespace, name)| NsRef { name: name.to_owned(), namespace: namespace.to_owned() });
    let provider = match at.as_ref().map(|at| facts.provider(at)) {
        Some(Lookup::Found(provider)) => Some(&provider.spec),
        Some(Lookup::Absent) | None => None,
        Some(Lookup::Unknown) => return Err("the ProviderConfig cannot be read at the moment".to_owned()),
    };
    if matches!(facts.config(), Lookup::Unknown) {
        return Err("the ButlerConfig cannot be read at the moment".to_owned());
    }
    let limits = Limits { name, team, config: facts.config_spec() };
    limits.for_cluster(holding, provider).map_err(|error| error.to_string())
}

fn provider_of(cluster: &TenantCluster, facts: &Facts) -> Option<NsRef> {
    let team = team_of(cluster).and_then(|name| facts.team(name).found());
    cluster.spec.provider(team.map(|team| &team.spec), facts.config_spec())
}

fn team_of(cluster: &TenantCluster) -> Option<&str> {
    cluster.spec.team_ref.as_ref().map(|team| team.name.as_str()).filter(|name| !name.is_empty())
}

/// `base` is the revision of the object that changes, if there is one.
fn need_of(
    review: &Review<'_>,
    facts: &Facts,
    old: Option<&TenantCluster>,
    new: &TenantCluster,
    base: Option<Option<&str>>,
) -> Need {
    let Some(name) = team_of(new) else { return Need::Nothing };
    // To the team that it joins, all of a cluster is new.
    let before = old.filter(|old| team_of(old) == Some(name)).map(|old| holding(old, facts));
    let after = holding(new, facts);
    if !after.raises(before.as_ref()) {
        return Need::Nothing;
    }
    match claim(review, facts, name, before, after, new, base) {
        Ok(claim) => Need::Grant(Box::new(claim)),
        Err(finding) => Need::Denial(*finding),
    }
}

fn claim(
    review: &Review<'_>,
    facts: &Facts,
    name: &str,
    old: Option<Holding>,
    new: Holding,
    cluster: &TenantCluster,
    base: Option<Option<&str>>,
) -> Result<Claim, Box<Finding>> {
    let mut rests_on = vec![FactKey::Team(name.to_owned()), FactKey::Config];
    let team = match facts.team(name) {
        Lookup::Found(team) => team,
        Lookup::Absent => {
            let message = "the team does not exist, so nobody says what it may use; create it first";
            return Err(denial(Fault::NotFound, UNCOUNTABLE, "spec.teamRef.name", message).into());
        }
        Lookup::Unknown => return Err(unknown("spec.teamRef.name", FactKey::Team(name.to_owned())).into()),
    };
    if matches!(facts.config(), Lookup::Unknown) {
        return Err(unknown("spec.teamRef.name", FactKey::Config).into());
    }
    if let Some(at) = provider_of(cluster, facts) {
        rests_on.push(FactKey::Provider(at.clone()));
        if matches!(facts.provider(&at), Lookup::Unknown) {
            return Err(unknown("spec.providerConfigRef.name", FactKey::Provider(at)).into());
        }
    }
    let limits = limits_of(name, &team.spec, &new, facts)
        .map_err(|why| denial(Fault::Forbidden, UNCOUNTABLE, "spec", why))?;
    let uncountable = |field: &'static str| {
        denial(Fault::Invalid, UNCOUNTABLE, field, "the API server gave it none that can be understood")
    };
    let uid = cluster.metadata.uid.as_deref().and_then(|uid| uid.parse::<ObjectUid>().ok());
    let uid = uid.ok_or_else(|| uncountable("metadata.uid"))?;
    let base = base.map(|base| base.and_then(|revision| revision.parse().ok()));
    let base = match base {
        Some(None) => return Err(uncountable("metadata.resourceVersion").into()),
        Some(Some(revision)) => Some(revision),
        None => None,
    };
    let namespace = cluster.metadata.namespace.clone().unwrap_or_else(|| review.namespace.to_string());
    let at =
        NsRef { name: cluster.metadata.name.clone().unwrap_or_else(|| review.name.to_string()), namespace };
    Ok(Claim { team: name.to_owned(), ask: Ask { at, uid, base, old, new }, limits, rests_on })
}

/// A number of workers is all that is sent, so the rest is taken from the object that it is about: at exactly the revision
/// that the API server showed, because a template that has grown since would count for nothing.
fn need_of_scale(replicas: i32, review: &Review<'_>, facts: &Facts) -> Need {
    #[derive(Default, Deserialize)]
    struct Scale {
        #[serde(default)]
        metadata: Metadata,
        #[serde(default)]
        spec: Spec,
    }
    #[derive(Default, Deserialize)]
    struct Spec {
        #[serde(default)]
        replicas: i32,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        resource_version: Option<String>,
    }
    let at = NsRef { name: review.name.to_string(), namespace: review.namespace.to_string() };
    let shown = review.old_object.and_then(|text| serde_json::from_str::<Scale>(text).ok());
    // Nothing but this number changes, so fewer are less of everything, whatever the object is.
    if shown.as_ref().is_some_and(|scale| replicas <= scale.spec.replicas) {
        return Need::Nothing;
    }
    let shown = shown.and_then(|scale| scale.metadata.resource_version?.parse::<u64>().ok());
    let known = facts.cluster(&at).found();
    let revision = known.and_then(|it| it.metadata.resource_version.as_deref()?.parse::<u64>().ok());
    match (known, shown, revision) {
        (Some(old), Some(shown), Some(known)) if shown == known => {
            let mut new = old.clone();
            new.spec.workers.get_or_insert_with(Workers::default).replicas = Some(replicas);
            need_of(review, facts, Some(old), &new, Some(old.metadata.resource_version.as_deref()))
        }
        // The object has changed since, so this is not stored: the API server asks again with what is there now.
        (_, Some(shown), Some(known)) if shown < known => Need::Nothing,
        _ => Need::Look(FactKey::Cluster(at)),
    }
}

/// The finding when what was looked up does not help.
pub fn unseen(fact: FactKey) -> Finding {
    unknown("spec.replicas", fact)
}

/// The findings of a refusal.
pub fn refused(refusal: Refusal, is_update: bool) -> Vec<Finding> {
    match refusal {
        Refusal::Exceeded(all) => {
            let told =
                |it: Exceeded| denial(Fault::Forbidden, EXCEEDED, path(&it.limit, is_update), it.to_string());
            all.into_iter().map(told).collect()
        }
        Refusal::TooManyChanges => {
            let message = "too many changes of this cluster are under way; try again in a minute";
            vec![denial(Fault::Forbidden, LEDGER_FULL, "spec", message)]
        }
        Refusal::Full => {
            let message = "the team has as many clusters as can be counted; delete some, or use another team";
            vec![denial(Fault::Forbidden, LEDGER_FULL, "spec", message)]
        }
        Refusal::Unknown => vec![not_decided("nobody knows of the cluster")],
    }
}

/// The finding when the ledger is not there or not to be trusted.
pub fn lost(seconds: u64) -> Finding {
    let message = format!(
        "what the team uses is being counted anew, because its QuotaLedger was deleted or edited; until that is done nothing can \
         be created or grow; try again in {seconds} seconds"
    );
    denial(Fault::Forbidden, LEDGER_LOST, "spec", message)
}

/// The finding when the ledger could not be asked.
pub fn not_decided(why: &str) -> Finding {
    let message = format!("it could not be decided whether the team's limits allow this: {why}; try again");
    denial(Fault::Forbidden, NOT_DECIDED, "spec", message)
}

/// The fields that upstream names.
fn path(limit: &Limit, is_update: bool) -> String {
    match (&limit.scope, limit.dimension) {
        (Scope::Environment(_), _) if is_update => format!("metadata.labels[{}]", labels::ENVIRONMENT),
        (Scope::Member { .. }, _) if is_update => {
            format!("metadata.annotations[{}]", labels::annotations::OWNER)
        }
        (_, Dimension::Clusters) => "spec".to_owned(),
        (_, Dimension::Nodes) => "spec.workers.replicas".to_owned(),
        (_, Dimension::Cpu | Dimension::Memory | Dimension::Storage) => "spec.workers".to_owned(),
    }
}

fn denial(
    fault: Fault,
    reason: &'static str,
    path: impl Into<std::borrow::Cow<'static, str>>,
    message: impl Into<String>,
) -> Finding {
    Finding { rule: RULE, ..Finding::deny(fault, reason, path, message) }
}

fn unknown(path: &'static str, fact: FactKey) -> Finding {
    let mut findings = Findings::default();
    findings.of_rule(RULE);
    findings.unknown(path, fact);
    let found = findings.into_found().kept.into_iter().next();
    found.unwrap_or_else(|| not_decided("something cannot be read"))
}

#[cfg(test)]
mod tests;
