//! Who is in a Team.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::role::TeamRole;
use crate::wire::given;

/// People and groups with their roles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamAccess {
    /// Single people, each listed once.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub users: Vec<TeamUser>,
    /// Groups of an identity provider; everybody in a group gets its role.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<TeamGroup>,
}

impl TeamAccess {
    /// Finds whom an environment of the team means. There may be very many of both.
    pub fn roster(&self) -> Roster<'_> {
        let mut roster = Roster::default();
        for user in &self.users {
            roster.exact.entry(&user.name).or_insert(user);
            roster.folded.entry(user.name.to_lowercase()).or_insert(user);
        }
        for group in &self.groups {
            roster.groups.entry(&group.name).or_default().push(group);
        }
        roster
    }
}

/// Everybody in a team, by name.
#[derive(Clone, Debug, Default)]
pub struct Roster<'a> {
    exact: HashMap<&'a str, &'a TeamUser>,
    folded: HashMap<String, &'a TeamUser>,
    groups: HashMap<&'a str, Vec<&'a TeamGroup>>,
}

impl<'a> Roster<'a> {
    /// The person whom an environment means by that name: the team's, however it is spelt. Addresses are the same in large
    /// and small letters.
    pub fn user(&self, name: &str) -> Option<&'a TeamUser> {
        self.exact.get(name).or_else(|| self.folded.get(&name.to_lowercase())).copied()
    }

    /// The groups of the team that an environment means by this one: of the same name, and of its identity provider if it
    /// names one.
    pub fn groups(&self, group: &TeamGroup) -> impl Iterator<Item = &'a TeamGroup> {
        let provider = group.identity_provider().map(str::to_owned);
        let named = self.groups.get(group.name.as_str()).cloned().unwrap_or_default();
        named
            .into_iter()
            .filter(move |own| provider.is_none() || provider.as_deref() == own.identity_provider())
    }
}

/// A person in a team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamUser {
    /// E-mail address of the person, for example `ana@example.org`.
    #[schemars(length(min = 1))]
    pub name: String,
    /// What the person may do. Left out, it is `viewer`.
    // Not a default of the schema: inside a list it would make `kubectl apply` of the same file report a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<TeamRole>,
}

impl TeamUser {
    /// What the person may do.
    pub fn role(&self) -> TeamRole {
        self.role.unwrap_or(DEFAULT_ROLE)
    }
}

/// A group in a team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamGroup {
    /// Name of the group, as the identity provider reports it.
    #[schemars(length(min = 1))]
    pub name: String,
    /// What members of the group may do. Left out, it is `viewer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<TeamRole>,
    /// Identity provider that must have reported the group: only a group that the API server knows as
    /// `provider:name` counts then. Left out, it is the name alone, whichever provider reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity_provider: Option<String>,
}

impl TeamGroup {
    /// What members of the group may do.
    pub fn role(&self) -> TeamRole {
        self.role.unwrap_or(DEFAULT_ROLE)
    }

    /// The name under which Kubernetes knows the group: that of its identity provider comes first, if it is tied to one.
    pub fn subject(&self) -> String {
        match self.identity_provider() {
            Some(provider) => format!("{provider}:{}", self.name),
            None => self.name.clone(),
        }
    }

    /// The only identity provider that counts, if the group is tied to one.
    pub fn identity_provider(&self) -> Option<&str> {
        given(&self.identity_provider)
    }
}

/// The least that a member may do.
const DEFAULT_ROLE: TeamRole = TeamRole::Viewer;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::role::Role;

    #[test]
    fn the_older_name_of_an_operator_is_read() {
        let group: TeamGroup =
            serde_json::from_value(json!({"name": "engineers", "role": "member"})).expect("group");
        assert_eq!(group.role().canonical(), Role::Operator);
    }

    #[test]
    fn a_group_of_one_provider_is_not_the_same_of_another() {
        let group = |value| serde_json::from_value::<TeamGroup>(value).expect("group").subject();
        assert_eq!(group(json!({"name": "sre"})), "sre");
        assert_eq!(group(json!({"name": "sre", "identityProvider": ""})), "sre");
        assert_eq!(group(json!({"name": "sre", "identityProvider": "okta"})), "okta:sre");
    }

    #[test]
    fn an_environment_means_the_people_and_groups_of_its_team() {
        let access: TeamAccess = serde_json::from_value(json!({
            "users": [{"name": "Bo@example.org"}, {"name": "ana"}, {"name": "Ana"}],
            "groups": [{"name": "sre", "identityProvider": "okta"}, {"name": "sre"}, {"name": "dev"}],
        }))
        .expect("access");
        let user = |name: &str| access.roster().user(name).map(|user| user.name.as_str());
        assert_eq!(user("bo@EXAMPLE.org"), Some("Bo@example.org"));
        assert_eq!((user("Ana"), user("ANA"), user("eve")), (Some("Ana"), Some("ana"), None));
        let groups = |value| {
            let group: TeamGroup = serde_json::from_value(value).expect("group");
            access.roster().groups(&group).map(TeamGroup::subject).collect::<Vec<_>>()
        };
        assert_eq!(groups(json!({"name": "sre"})), ["okta:sre", "sre"]);
        assert_eq!(groups(json!({"name": "sre", "identityProvider": "okta"})), ["okta:sre"]);
        assert_eq!(groups(json!({"name": "dev", "identityProvider": "okta"})), [""; 0]);
        assert_eq!(groups(json!({"name": "SRE"})), [""; 0]);
    }

    #[test]
    fn a_member_without_a_role_only_views() {
        let access: TeamAccess =
            serde_json::from_value(json!({"users": [{"name": "a"}], "groups": [{"name": "g"}]}))
                .expect("access");
        assert_eq!(access.users[0].role(), TeamRole::Viewer);
        assert_eq!(access.groups[0].role(), TeamRole::Viewer);
        assert_eq!(access.groups[0].identity_provider(), None);
    }
}
