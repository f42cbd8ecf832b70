//! The names of RoleBindings.

use super::digest::digest;
use super::syntax::{LABEL_LENGTH, NamespaceName};
use crate::role::Role;

/// Someone a Team gives a role to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject<'a> {
    /// A user, by the name they log in with.
    User(&'a str),
    /// A group of the identity provider.
    Group(&'a str),
}

impl Subject<'_> {
    /// The RoleBinding of this subject in its team's namespace.
    ///
    /// A name made of lower-case letters, digits and hyphens in between is used as it is. Any other, such as an e-mail address,
    /// is made readable and followed by a dot and a digest of the original, so that `a.b@x` and `a-b@x` stay two members.
    pub fn role_binding(self) -> String {
        let (prefix, name) = match self {
            Self::User(name) => ("butler-team-user", name),
            Self::Group(name) => ("butler-team-group", name),
        };
        let readable = readable(name);
        if readable == name && !name.is_empty() {
            return format!("{prefix}-{name}");
        }
        let hyphen = if readable.is_empty() { "" } else { "-" };
        format!("{prefix}{hyphen}{readable}.{}", digest(name.as_bytes()))
    }
}

/// Lower case, hyphens for everything unusual, none at the ends, at most 63 characters; possibly nothing.
fn readable(name: &str) -> String {
    let plain: String = name
        .chars()
        .take(LABEL_LENGTH)
        .map(|character| character.to_ascii_lowercase())
        .map(
            |character| {
                if character.is_ascii_lowercase() || character.is_ascii_digit() { character } else { '-' }
            },
        )
        .collect();
    plain.trim_matches('-').to_owned()
}

/// The RoleBinding that gives a team's members of one role access to a tenant namespace. There is one per role, because
/// what a RoleBinding points to cannot be changed.
pub fn tenant_access_binding(team: &NamespaceName, role: Role) -> String {
    format!("butler-team-{team}-{}", role.as_str())
}
