//! Who may do what, by role. Pure.
//!
//! What a role means is in three ClusterRoles of the installation (`manifests/reconciler/team-roles.yaml`), which a
//! RoleBinding for each member makes good in the team's namespace and nowhere else. A Team itself is in no namespace, so
//! reading it, and changing it for its admins, takes a ClusterRole of its own, for that one name. Who has a higher role in
//! one environment gets the right to change its clusters, by their names; a right to create cannot be given for one
//! environment, so that takes the role in the team.

use std::collections::{BTreeMap, BTreeSet};

use butler_api::labels::{self, MANAGED_BY, MANAGED_BY_BUTLER};
use butler_api::names::Subject;
use butler_api::role::Role;
use butler_api::team::TeamAccess;
use butler_api::{GROUP, Team, TenantAddon, TenantCluster};
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::frame::child::put;

const RBAC: &str = "rbac.authorization.k8s.io";
const RBAC_V1: &str = "rbac.authorization.k8s.io/v1";

/// Somebody, as Kubernetes knows them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Member {
    /// By the name they log in with.
    User(String),
    /// Everybody in a group.
    Group(String),
}

impl Member {
    fn subject(&self) -> Value {
        let (kind, name) = match self {
            Self::User(name) => ("User", name),
            Self::Group(name) => ("Group", name),
        };
        json!({ "apiGroup": RBAC, "kind": kind, "name": name })
    }

    fn binding(&self) -> String {
        match self {
            Self::User(name) => Subject::User(name).role_binding(),
            Self::Group(name) => Subject::Group(name).role_binding(),
        }
    }
}

/// Everybody who is named, each with the highest role of those they are named with.
pub(super) fn members(access: &TeamAccess) -> BTreeMap<Member, Role> {
    let users = access.users.iter().map(|user| (Member::User(user.name.clone()), user.role().canonical()));
    let groups = access.groups.iter().map(|group| (Member::Group(group.subject()), group.role().canonical()));
    let mut members = BTreeMap::new();
    for (member, role) in users.chain(groups) {
        let highest = members.entry(member).or_insert(role);
        *highest = role.max(*highest);
    }
    members
}

/// What a team's rights consist of, as bodies of server-side applies.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rights {
    /// In the team's namespace.
    pub(super) roles: Vec<Value>,
    /// In the team's namespace.
    pub(super) bindings: Vec<Value>,
    /// For the Team itself.
    pub(super) cluster_roles: Vec<Value>,
    /// For the Team itself.
    pub(super) cluster_bindings: Vec<Value>,
}

/// The ClusterRoles, and their bindings, of a team's members and of its admins. No team's name has a colon, and so no two
/// teams share one.
pub(super) fn cluster_wide_names(team: &str) -> [String; 2] {
    [format!("butler:team:{team}:member"), format!("butler:team:{team}:admin")]
}

/// Everything a team's members may do.
pub(super) fn rights(team: &Team, clusters: &[&TenantCluster], addons: &[&TenantAddon]) -> Rights {
    let name = team.name_any();
    let members = members(&team.spec.access);
    let mut rights = Rights::default();
    for (member, role) in &members {
        let role = format!("butler-team-{}", role.as_str());
        rights.bindings.push(binding(team, &member.binding(), "ClusterRole", &role, &[member]));
    }
    let everybody: Vec<&Member> = members.keys().collect();
    let admins: Vec<&Member> =
        members.iter().filter(|(_, role)| **role == Role::Admin).map(|(member, _)| member).collect();
    let [member, admin] = cluster_wide_names(&name);
    let wide = [(member, everybody, json!(["get"])), (admin, admins, json!(["get", "update", "patch"]))];
    for (own, subjects, verbs) in wide.into_iter().filter(|(_, subjects, _)| !subjects.is_empty()) {
        let rules = json!([rule("teams", &json!([name]), &verbs)]);
        rights.cluster_roles.push(json!({
            "apiVersion": RBAC_V1, "kind": "ClusterRole", "metadata": metadata(team, &own, false), "rules": rules,
        }));
        rights.cluster_bindings.push(json!({
            "apiVersion": RBAC_V1, "kind": "ClusterRoleBinding", "metadata": metadata(team, &own, false),
            "roleRef": { "apiGroup": RBAC, "kind": "ClusterRole", "name": own }, "subjects": listed(&subjects),
        }));
    }
    for environment in &team.spec.environments {
        let raised: Vec<Member> =
            raised(&team.spec.access, &members, &environment.access).into_iter().collect();
        let rules = rules_of_environment(&environment.name, clusters, addons);
        if raised.is_empty() || rules.is_empty() {
            continue;
        }
        let own = format!("butler-environment-{}", environment.name);
        rights.roles.push(json!({
            "apiVersion": RBAC_V1, "kind": "Role", "metadata": metadata(team, &own, true), "rules": rules,
        }));
        let raised: Vec<&Member> = raised.iter().collect();
        rights.bindings.push(binding(team, &own, "Role", &own, &raised));
    }
    rights
}

/// Members of the team who may do more in an environment than in the team. Whoever is not in the team at all has slipped
/// past the gate, and gets nothing; whom an environment means, the gate and this agree on.
fn raised(team: &TeamAccess, members: &BTreeMap<Member, Role>, environment: &TeamAccess) -> BTreeSet<Member> {
    let roster = team.roster();
    let users = environment.users.iter().filter_map(|user| {
        let own = roster.user(&user.name)?;
        Some((Member::User(own.name.clone()), user.role().canonical()))
    });
    let groups = environment.groups.iter().flat_map(|group| {
        let role = group.role().canonical();
        roster.groups(group).map(move |own| (Member::Group(own.subject()), role))
    });
    let is_raised = |(member, role): &(Member, Role)| {
        *role >= Role::Operator && members.get(member).is_some_and(|own| *own < Role::Operator)
    };
    users.chain(groups).filter(is_raised).map(|(member, _)| member).collect()
}

fn rules_of_environment(
    environment: &str,
    clusters: &[&TenantCluster],
    addons: &[&TenantAddon],
) -> Vec<Value> {
    let here: BTreeSet<String> = clusters
        .iter()
        .filter(|cluster| cluster.environment() == Some(environment))
        .map(|cluster| cluster.name_any())
        .collect();
    let on_them: BTreeSet<String> = addons
        .iter()
        .filter(|addon| here.contains(&addon.spec.cluster_ref.name))
        .map(|addon| addon.name_any())
        .collect();
    let change = json!(["update", "patch", "delete"]);
    let mut rules = Vec::new();
    if !here.is_empty() {
        rules.push(rule("tenantclusters", &json!(here), &change));
        rules.push(rule("tenantclusters/scale", &json!(here), &json!(["get", "update", "patch"])));
    }
    if !on_them.is_empty() {
        rules.push(rule("tenantaddons", &json!(on_them), &change));
    }
    rules
}

fn rule(resource: &str, names: &Value, verbs: &Value) -> Value {
    json!({ "apiGroups": [GROUP], "resources": [resource], "resourceNames": names, "verbs": verbs })
}

fn binding(team: &Team, name: &str, kind: &str, role: &str, subjects: &[&Member]) -> Value {
    json!({
        "apiVersion": RBAC_V1, "kind": "RoleBinding", "metadata": metadata(team, name, true),
        "roleRef": { "apiGroup": RBAC, "kind": kind, "name": role }, "subjects": listed(subjects),
    })
}

fn listed(subjects: &[&Member]) -> Vec<Value> {
    subjects.iter().map(|member| member.subject()).collect()
}

/// The Team owns what it is made of, also across namespaces, which an owner in none may.
fn metadata(team: &Team, name: &str, is_namespaced: bool) -> Value {
    let own = team.name_any();
    let mut metadata = json!({
        "name": name,
        "labels": { MANAGED_BY: MANAGED_BY_BUTLER, (labels::TEAM): own },
        "ownerReferences": [{
            "apiVersion": format!("{GROUP}/{}", butler_api::VERSION), "kind": "Team", "name": own,
            "uid": team.metadata.uid, "controller": true,
        }],
    });
    if is_namespaced {
        put(&mut metadata, "namespace", json!(own));
    }
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(spec: Value) -> Team {
        let team = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team",
            "metadata": { "name": "payments", "uid": "u" }, "spec": spec,
        });
        serde_json::from_value(team).unwrap()
    }

    /// Each binding as `name: role <- subjects`.
    fn shown(bindings: &[Value]) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let subjects = |binding: &Value| {
            let all = binding["subjects"].as_array().unwrap().iter();
            all.map(|it| format!("{} {}", text(&it["kind"]), text(&it["name"])))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let line = |it: &Value| {
            format!("{}: {} <- {}", text(&it["metadata"]["name"]), text(&it["roleRef"]["name"]), subjects(it))
        };
        bindings.iter().map(line).collect()
    }

    #[test]
    fn every_member_gets_the_role_that_they_have_and_no_other() {
        let team = team(json!({ "access": {
            "users": [{ "name": "ana@example.org", "role": "admin" }, { "name": "bo", "role": "member" }, { "name": "cy" }],
            "groups": [{ "name": "sre", "role": "operator", "identityProvider": "okta" }],
        } }));
        let rights = rights(&team, &[], &[]);
        let bindings = shown(&rights.bindings);
        assert_eq!(bindings[0].split_once(": ").unwrap().1, "butler-team-admin <- User ana@example.org");
        assert_eq!(
            bindings[1..3],
            [
                "butler-team-user-bo: butler-team-operator <- User bo",
                "butler-team-user-cy: butler-team-viewer <- User cy",
            ]
        );
        assert_eq!(bindings[3].split_once(": ").unwrap().1, "butler-team-operator <- Group okta:sre");
        assert_eq!(
            shown(&rights.cluster_bindings),
            [
                "butler:team:payments:member: butler:team:payments:member <- User ana@example.org, User bo, User cy, \
                 Group okta:sre",
                "butler:team:payments:admin: butler:team:payments:admin <- User ana@example.org",
            ]
        );
        assert_eq!(
            rights.cluster_roles[1]["rules"],
            json!([{ "apiGroups": ["butler.butlerlabs.dev"], "resources": ["teams"], "resourceNames": ["payments"],
                "verbs": ["get", "update", "patch"] }])
        );
        assert!(rights.roles.is_empty());
    }

    #[test]
    fn a_group_that_is_named_twice_has_the_higher_role() {
        let team = team(json!({ "access": { "groups": [
            { "name": "dev", "role": "operator" }, { "name": "dev" }, { "name": "dev", "role": "viewer" }] } }));
        let rights = rights(&team, &[], &[]);
        assert_eq!(shown(&rights.bindings), ["butler-team-group-dev: butler-team-operator <- Group dev"]);
        assert!(rights.cluster_bindings.len() == 1, "nobody is an admin");
    }

    #[test]
    fn a_team_without_members_has_no_rights_to_give() {
        assert_eq!(rights(&team(json!({})), &[], &[]), Rights::default());
    }

    #[test]
    fn an_environment_means_the_same_people_and_groups_as_at_the_gate() {
        let access = |users: Value, groups: Value| -> TeamAccess {
            serde_json::from_value(json!({ "users": users, "groups": groups })).unwrap()
        };
        let team = access(
            json!([{ "name": "Bo@example.org" }]),
            json!([{ "name": "sre", "identityProvider": "okta" }, { "name": "dev" }]),
        );
        let operators = |name: &str| json!([{ "name": name, "role": "operator" }]);
        let tied = json!([{ "name": "dev", "identityProvider": "okta", "role": "operator" }]);
        let raised = |environment: TeamAccess| -> Vec<Member> {
            raised(&team, &members(&team), &environment).into_iter().collect()
        };
        assert_eq!(
            raised(access(operators("bo@example.org"), operators("sre"))),
            [Member::User("Bo@example.org".to_owned()), Member::Group("okta:sre".to_owned())],
            "under the names that the team has for them"
        );
        assert_eq!(raised(access(operators("eve"), tied)), []);
    }

    #[test]
    fn who_is_raised_in_an_environment_may_change_its_clusters_and_no_others() {
        let team = team(json!({
            "access": { "users": [{ "name": "bo" }, { "name": "ana", "role": "operator" }] },
            "environments": [
                { "name": "dev", "access": { "users": [
                    { "name": "bo", "role": "operator" }, { "name": "ana", "role": "admin" }, { "name": "eve", "role": "admin" }] } },
                { "name": "empty", "access": { "users": [{ "name": "bo", "role": "operator" }] } },
            ],
        }));
        let cluster = |name: &str, environment: &str| -> TenantCluster {
            serde_json::from_value(json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
                "metadata": { "name": name, "namespace": "payments", "labels": { (labels::ENVIRONMENT): environment } },
                "spec": {},
            }))
            .unwrap()
        };
        let addon = |name: &str, of: &str| -> TenantAddon {
            serde_json::from_value(json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon",
                "metadata": { "name": name, "namespace": "payments" },
                "spec": { "clusterRef": { "name": of }, "addon": "velero" },
            }))
            .unwrap()
        };
        let clusters = [cluster("b", "dev"), cluster("a", "dev"), cluster("p", "prod")];
        let addons = [addon("backup", "a"), addon("other", "p")];
        let rights = rights(&team, &clusters.iter().collect::<Vec<_>>(), &addons.iter().collect::<Vec<_>>());
        assert_eq!(
            shown(&rights.bindings)[2..],
            ["butler-environment-dev: butler-environment-dev <- User bo"]
        );
        assert_eq!(rights.roles.len(), 1);
        let names: Vec<&Value> =
            rights.roles[0]["rules"].as_array().unwrap().iter().map(|rule| &rule["resourceNames"]).collect();
        assert_eq!(names, [&json!(["a", "b"]), &json!(["a", "b"]), &json!(["backup"])]);
    }
}
