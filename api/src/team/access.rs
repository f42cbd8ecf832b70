//! Who is in a Team.

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
    fn a_member_without_a_role_only_views() {
        let access: TeamAccess =
            serde_json::from_value(json!({"users": [{"name": "a"}], "groups": [{"name": "g"}]}))
                .expect("access");
        assert_eq!(access.users[0].role(), TeamRole::Viewer);
        assert_eq!(access.groups[0].role(), TeamRole::Viewer);
        assert_eq!(access.groups[0].identity_provider(), None);
    }
}
