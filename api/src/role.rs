//! What a person or group may do in a team.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The role as written in a Team.
///
/// - `admin`: everything in the team, its members included
/// - `operator`: creates, changes and deletes clusters and addons
/// - `member`: an older name of `operator`
/// - `viewer` (default): looks, and changes nothing
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum TeamRole {
    /// Everything in the team.
    Admin,
    /// Clusters and addons.
    Operator,
    /// An older name of `operator`.
    Member,
    /// Reading only.
    #[default]
    Viewer,
}

/// A role without its spellings, ordered by power: each may do all that the one before may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Reading only.
    Viewer,
    /// Clusters and addons.
    Operator,
    /// Everything in the team.
    Admin,
}

impl TeamRole {
    /// The role meant, whatever its spelling.
    pub const fn canonical(self) -> Role {
        match self {
            Self::Admin => Role::Admin,
            Self::Operator | Self::Member => Role::Operator,
            Self::Viewer => Role::Viewer,
        }
    }

    /// The newer spelling, when the one used has one.
    pub const fn newer_spelling(self) -> Option<Self> {
        match self {
            Self::Member => Some(Self::Operator),
            Self::Admin | Self::Operator | Self::Viewer => None,
        }
    }

    /// The role as users write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Operator => "operator",
            Self::Member => "member",
            Self::Viewer => "viewer",
        }
    }
}

impl Role {
    /// The most powerful of several roles: someone in two groups has what either gives. `None` for no role at all.
    pub fn highest_of(roles: impl IntoIterator<Item = TeamRole>) -> Option<Self> {
        roles.into_iter().map(TeamRole::canonical).max()
    }

    /// The role as users write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Role, TeamRole};

    const ALL: [TeamRole; 4] = [TeamRole::Admin, TeamRole::Operator, TeamRole::Member, TeamRole::Viewer];

    #[test]
    fn roles_on_the_wire_are_lower_case_and_viewer_is_the_default() {
        for role in ALL {
            let json = format!("\"{}\"", role.as_str());
            assert_eq!(serde_json::to_string(&role).unwrap(), json);
            assert_eq!(serde_json::from_str::<TeamRole>(&json).unwrap(), role);
        }
        assert_eq!(TeamRole::default(), TeamRole::Viewer);
    }

    #[test]
    fn a_member_is_an_operator() {
        assert_eq!(TeamRole::Member.canonical(), TeamRole::Operator.canonical());
        assert_eq!(TeamRole::Member.newer_spelling(), Some(TeamRole::Operator));
        assert_eq!(TeamRole::Operator.newer_spelling(), None);
    }

    #[test]
    fn roles_are_ordered_by_power() {
        assert!(Role::Viewer < Role::Operator && Role::Operator < Role::Admin);
    }

    #[test]
    fn the_highest_of_several_roles_counts() {
        assert_eq!(Role::highest_of([TeamRole::Viewer, TeamRole::Member]), Some(Role::Operator));
        assert_eq!(Role::highest_of(ALL), Some(Role::Admin));
        assert_eq!(Role::highest_of([]), None);
    }
}
