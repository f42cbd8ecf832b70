//! User: a person known to the platform.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reference::SecretRef;

/// Who the person is and how they log in.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "User",
    doc = "A person known to the platform. Teams refer to people by the e-mail address given here.",
    status = "UserStatus",
    shortname = "usr",
    category = "butler",
    derive = "PartialEq",
    printcolumn = r#"{"name": "Email", "type": "string", "jsonPath": ".spec.email",
                      "description": "E-mail address of the person."}"#,
    printcolumn = r#"{"name": "Display Name", "type": "string", "jsonPath": ".spec.displayName",
                      "description": "Name for people."}"#,
    printcolumn = r#"{"name": "Auth", "type": "string", "jsonPath": ".spec.authType",
                      "description": "How the person logs in."}"#,
    printcolumn = r#"{"name": "Platform Role", "type": "string", "jsonPath": ".spec.platformRole",
                      "description": "What the person may do on the whole platform."}"#,
    printcolumn = r#"{"name": "Phase", "type": "string", "jsonPath": ".status.phase",
                      "description": "Whether the person can log in."}"#,
    printcolumn = r#"{"name": "Last Login", "type": "date", "jsonPath": ".status.lastLoginTime",
                      "description": "When the person last logged in."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name": "Platform Admin", "type": "boolean", "jsonPath": ".spec.isPlatformAdmin",
                      "description": "Whether the older flag makes the person an administrator.", "priority": 1}"#
)]
#[serde(rename_all = "camelCase")]
pub struct UserSpec {
    /// E-mail address of the person; Teams refer to the person by it, whatever its case.
    #[schemars(extend("format" = "email"))]
    pub email: String,
    /// Name for people. Left out, the e-mail address is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Address of a picture of the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avatar: Option<String>,
    /// Identity provider that the person logs in with, for `authType: sso`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sso_provider: Option<String>,
    /// Who the person is to that identity provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sso_subject: Option<String>,
    /// Whether the person is kept out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub disabled: Option<bool>,
    /// How the person logs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = AuthType::DEFAULT))]
    pub auth_type: Option<AuthType>,
    /// Whether the person is an administrator of the platform. The older way to say `platformRole: admin`,
    /// which is preferred; either of them is enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub is_platform_admin: Option<bool>,
    /// What the person may do on the whole platform. Left out or empty, it is `viewer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform_role: Option<PlatformRole>,
    /// Public SSH keys of the person, for workspaces.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub ssh_keys: Vec<SshKey>,
}

impl UserSpec {
    /// How the person logs in.
    pub fn auth_type(&self) -> AuthType {
        self.auth_type.unwrap_or(AuthType::DEFAULT)
    }

    /// Whether the person is kept out.
    pub fn disabled(&self) -> bool {
        self.disabled.unwrap_or(false)
    }

    /// What the person may do on the whole platform: administrator by either of the two fields, else viewer.
    pub fn platform_role(&self) -> PlatformRole {
        let admin = self.is_platform_admin == Some(true) || self.platform_role == Some(PlatformRole::Admin);
        if admin { PlatformRole::Admin } else { PlatformRole::Viewer }
    }
}

/// How a person logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthType {
    /// With an identity provider.
    Sso,
    /// With a password that Butler keeps.
    Internal,
}

impl AuthType {
    /// How a person logs in when nobody says.
    pub const DEFAULT: Self = Self::Internal;
}

/// What a person may do on the whole platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlatformRole {
    /// Everything.
    Admin,
    /// See what their teams have.
    Viewer,
    /// The same as `viewer`.
    #[serde(rename = "")]
    Unset,
}

/// A public SSH key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SshKey {
    /// Name of the key, at most 63 characters, for example `laptop`.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// The public key, as in `id_ed25519.pub`.
    #[schemars(length(min = 1))]
    pub public_key: String,
    /// Fingerprint of the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// When the key was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_at: Option<Time>,
}

/// What Butler knows about the person. Written by Butler only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserStatus {
    /// Whether the person can log in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<UserPhase>,
    /// Secret with the hash of the person's password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_secret_ref: Option<SecretRef>,
    /// Hash of the token in the invitation that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invite_token_hash: Option<String>,
    /// When the invitation stops working.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invite_expires_at: Option<Time>,
    /// When the invitation was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invite_sent_at: Option<Time>,
    /// When the password was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_changed_at: Option<Time>,
    /// When the person last logged in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_login_time: Option<Time>,
    /// Until when the person is kept out after too many wrong passwords.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_until: Option<Time>,
    /// How often the person has logged in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login_count: Option<i64>,
    /// Wrong passwords in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_login_attempts: Option<i32>,
    /// Teams that the person is in.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub teams: Vec<TeamMembership>,
    /// When `teams` was last worked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teams_resolved_at: Option<Time>,
    /// Groups that the identity provider reported at the last login.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub last_seen_groups: Vec<String>,
    /// The aspects of the person's state: InvitePending, InviteExpired, and Ready, which sums up.
    #[serde(default, deserialize_with = "crate::wire::conditions", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// Whether a person can log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum UserPhase {
    /// Invited, not here yet.
    Pending,
    /// Can log in.
    Active,
    /// Kept out by an administrator.
    Disabled,
    /// Kept out for a while after too many wrong passwords.
    Locked,
}

/// A team that a person is in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamMembership {
    /// Name of the team.
    pub name: String,
    /// Role of the person in the team.
    pub role: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_field_makes_an_administrator() {
        let user =
            |flag, role| UserSpec { is_platform_admin: flag, platform_role: role, ..Default::default() };
        assert_eq!(user(Some(true), None).platform_role(), PlatformRole::Admin);
        assert_eq!(user(Some(false), Some(PlatformRole::Admin)).platform_role(), PlatformRole::Admin);
        assert_eq!(user(None, Some(PlatformRole::Unset)).platform_role(), PlatformRole::Viewer);
        assert_eq!(user(None, None).platform_role(), PlatformRole::Viewer);
    }
}
