//! What is to be done for a team. Pure.

use std::sync::Arc;

use butler_api::condition::reason;
use butler_api::labels::{self, MANAGED_BY, MANAGED_BY_BUTLER, annotations};
use butler_api::names::{dns_label, is_reserved_namespace};
use butler_api::{ButlerConfigSpec, Team};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::PartialObjectMeta;
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde_json::{Value, json};

use super::MANAGER;
use super::observe::Observed;
use super::rights::{self, Rights};
use crate::frame::child::{Step, is_butlers, label, put, step};
use crate::frame::{Error, Problem};

/// As it is watched.
type Ns = PartialObjectMeta<Namespace>;

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Plan {
    /// The team gets what it needs, also while it is being deleted and still has clusters: somebody has to be able to
    /// delete them, and nobody else.
    Stay {
        /// Its namespace, or why it has none.
        namespace: Result<Step<Ns>, Problem>,
        /// What its members may do there.
        access: Access,
        /// What its deletion waits for.
        clusters: Vec<String>,
    },
    /// The team is being deleted, and what that rests on could not be looked at: whoever is to lose access loses it, and
    /// nothing else happens.
    Unseen {
        /// Only what takes something away is done.
        access: Access,
        /// Why not.
        error: Error,
    },
    /// The team is being deleted, and what was made for it goes.
    Clear {
        /// First, so that nobody can change a team that is going.
        cluster_bindings: Vec<Step<ClusterRoleBinding>>,
        /// Then these.
        cluster_roles: Vec<Step<ClusterRole>>,
        /// With everything in it. Absent if it is not the team's, or gone.
        namespace: Option<Step<Ns>>,
        /// The namespace is on its way out, since then.
        going_since: Option<String>,
    },
}

/// What is to be done about what members may do.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// In the team's namespace.
    pub roles: Vec<Step<Role>>,
    /// In the team's namespace.
    pub bindings: Vec<Step<RoleBinding>>,
    /// For the Team itself.
    pub cluster_roles: Vec<Step<ClusterRole>>,
    /// For the Team itself.
    pub cluster_bindings: Vec<Step<ClusterRoleBinding>>,
    /// What has the name of something of ours and is not ours.
    pub in_the_way: Vec<String>,
}

impl Plan {
    /// Whether a team that is being deleted has nothing left.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Clear { cluster_bindings, cluster_roles, namespace: None, going_since: None }
            if cluster_bindings.is_empty() && cluster_roles.is_empty())
    }
}

/// What is to be done for a team.
pub(super) fn plan(team: &Team, observed: &Observed) -> Plan {
    let is_leaving = team.metadata.deletion_timestamp.is_some();
    let clusters = match &observed.clusters_now {
        Err(error) => return Plan::Unseen { access: access(team, observed), error: error.clone() },
        Ok(now) if is_leaving => clusters(team, observed, now),
        Ok(_) => Vec::new(),
    };
    if is_leaving && clusters.is_empty() {
        return clear(team, observed);
    }
    let namespace = match namespace(team, observed) {
        Ok(Step::Make(_)) if is_leaving => Err(Problem::new(
            reason::DELETING,
            "the namespace is gone, and a team that is being deleted gets no other",
        )),
        namespace => namespace,
    };
    Plan::Stay { namespace, access: access(team, observed), clusters }
}

fn namespace(team: &Team, observed: &Observed) -> Result<Step<Ns>, Problem> {
    let name = team.name_any();
    if let Err(error) = dns_label(&name) {
        let message =
            format!("metadata.name: the team gets the namespace of its name, but {error}; make it anew");
        return Err(Problem::new(reason::VALIDATION_FAILED, message));
    }
    let live = observed.namespace.as_deref();
    let is_its_own = live.is_some_and(|live| is_the_teams(&name, &live.metadata));
    let default = match &observed.config {
        // Settings that name a team's namespace afterwards are what is wrong then, and say so.
        _ if is_its_own => ButlerConfigSpec::DEFAULT_NAMESPACE,
        Some(config) => config.spec.default_namespace(),
        None => ButlerConfigSpec::DEFAULT_NAMESPACE,
    };
    if is_reserved_namespace(&name, default) {
        let message = format!(
            "`{name}` is a namespace of the platform, and a team gets the namespace of its name; make the team anew \
             under another name"
        );
        return Err(Problem::new(reason::NAMESPACE_ERROR, message));
    }
    if let Some(live) = live {
        if !is_its_own {
            let message = format!(
                "the namespace `{name}` exists and is not this team's, so it is left alone; remove it, or let the \
                 platform's administrators give it the labels `{MANAGED_BY}: {MANAGED_BY_BUTLER}` and `{}: {name}`",
                labels::TEAM
            );
            return Err(Problem::new(reason::NAMESPACE_ERROR, message));
        }
        if let Some(since) = going_since(&live.metadata) {
            let message = format!(
                "the namespace `{name}` is being deleted since {since}; the team gets a new one when it is gone \
                 (`kubectl get namespace {name} -o yaml` says what keeps it)"
            );
            return Err(Problem::new(reason::DELETING, message));
        }
    }
    Ok(step(desired_namespace(team), observed.namespace.clone(), MANAGER, &[]))
}

fn desired_namespace(team: &Team) -> Value {
    let name = team.name_any();
    // No owner: whoever restores a backup gives Teams new uids, and the garbage collector would then delete every
    // namespace with everything in it. What goes with a team is deleted here, on evidence.
    let mut metadata =
        json!({ "name": name, "labels": { MANAGED_BY: MANAGED_BY_BUTLER, (labels::TEAM): name } });
    if let Some(description) = team.spec.description.as_ref().filter(|it| !it.is_empty()) {
        put(&mut metadata, "annotations", json!({ (annotations::DESCRIPTION): description }));
    }
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata })
}

/// Whether Butler made a namespace for the team, or its administrators gave it to the team. What only we apply says so
/// too: a label that somebody has removed is put back.
fn is_the_teams(team: &str, namespace: &ObjectMeta) -> bool {
    let is_labelled = is_butlers(namespace) && label(namespace, labels::TEAM) == Some(team);
    let is_applied = namespace.managed_fields.iter().flatten().any(|entry| {
        entry.manager.as_deref() == Some(MANAGER) && entry.operation.as_deref() == Some("Apply")
    });
    (is_labelled || is_applied) && label(namespace, labels::TENANT).is_none()
}

fn going_since(metadata: &ObjectMeta) -> Option<String> {
    metadata.deletion_timestamp.as_ref().map(|since| since.0.to_string())
}

fn access(team: &Team, observed: &Observed) -> Access {
    let name = team.name_any();
    let clusters: Vec<_> = observed
        .clusters
        .iter()
        .map(Arc::as_ref)
        .filter(|cluster| cluster.namespace().as_deref() == Some(&name))
        .collect();
    let addons: Vec<_> = observed.addons.iter().map(Arc::as_ref).collect();
    let Rights { roles, bindings, cluster_roles, cluster_bindings } =
        rights::rights(team, &clusters, &addons);
    let mut in_the_way = Vec::new();
    Access {
        roles: steps(team, roles, &observed.roles, &[], &mut in_the_way),
        bindings: steps(team, bindings, &observed.bindings, &["roleRef"], &mut in_the_way),
        cluster_roles: steps(team, cluster_roles, &observed.cluster_roles, &[], &mut in_the_way),
        cluster_bindings: steps(
            team,
            cluster_bindings,
            &observed.cluster_bindings,
            &["roleRef"],
            &mut in_the_way,
        ),
        in_the_way,
    }
}

/// What to do about all children of a kind: what is desired is made, what is ours and not desired goes, what is somebody
/// else's is left alone.
fn steps<L>(
    team: &Team,
    desired: Vec<Value>,
    live: &[Arc<L>],
    fixed: &[&str],
    in_the_way: &mut Vec<String>,
) -> Vec<Step<L>>
where
    L: Resource<DynamicType = ()> + Serialize,
{
    let own = team.name_any();
    let is_ours = |it: &L| {
        is_butlers(it.meta()) && label(it.meta(), labels::TEAM) == Some(&own) || is_owned_by(it.meta(), team)
    };
    let names: Vec<String> = desired.iter().map(|it| text(it, "/metadata/name")).collect();
    let stale = live.iter().filter(|it| is_ours(it) && !names.contains(&it.name_any()));
    // First what is to go: whoever is not a member any more loses access before anything else happens.
    let mut steps: Vec<Step<L>> = stale.map(|it| Step::Remove(it.clone())).collect();
    for (one, name) in desired.into_iter().zip(&names) {
        let present = live.iter().find(|it| it.name_any() == *name);
        match present.filter(|it| !is_ours(it)) {
            Some(_) => in_the_way.push(format!("{} `{name}`", L::kind(&()))),
            None => steps.push(step(one, present.cloned(), MANAGER, fixed)),
        }
    }
    steps
}

/// Whether an object has the owner that it has if it is ours: then somebody has only removed its labels.
fn is_owned_by(metadata: &ObjectMeta, team: &Team) -> bool {
    let mut owners = metadata.owner_references.iter().flatten();
    owners.any(|owner| owner.controller == Some(true) && Some(&owner.uid) == team.metadata.uid.as_ref())
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The clusters that a team's deletion waits for.
fn clusters(team: &Team, observed: &Observed, now: &[String]) -> Vec<String> {
    let name = team.name_any();
    let mut clusters: Vec<String> = observed
        .clusters
        .iter()
        .filter(|it| it.namespace().as_deref() != Some(&name))
        .map(|it| format!("{}/{}", it.namespace().unwrap_or_default(), it.name_any()))
        .chain(now.iter().cloned())
        .collect();
    clusters.sort();
    clusters.dedup();
    clusters
}

fn clear(team: &Team, observed: &Observed) -> Plan {
    let name = team.name_any();
    let own = observed.namespace.as_ref().filter(|it| is_the_teams(&name, &it.metadata));
    let going_since = own.and_then(|it| going_since(&it.metadata));
    Plan::Clear {
        cluster_bindings: steps(team, Vec::new(), &observed.cluster_bindings, &[], &mut Vec::new()),
        cluster_roles: steps(team, Vec::new(), &observed.cluster_roles, &[], &mut Vec::new()),
        namespace: own.filter(|_| going_since.is_none()).map(|it| Step::Remove(it.clone())),
        going_since,
    }
}

#[cfg(test)]
mod tests;
