//! Users of the API server besides its administrator.

use std::path::{Path, PathBuf};

use super::{ControlPlane, ControlPlaneError, kubeconfig};

/// Somebody the API server knows by a client certificate. What they may do is up to RBAC: at first, next to
/// nothing.
#[derive(Clone, Debug)]
pub struct User {
    name: String,
    kubeconfig: PathBuf,
}

impl User {
    /// The user's name as the API server sees it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The user's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A new client that acts as this user.
    ///
    /// # Errors
    /// When the kubeconfig has been removed or changed.
    pub async fn client(&self) -> Result<kube::Client, ControlPlaneError> {
        kubeconfig::client(&self.kubeconfig).await
    }
}

impl ControlPlane {
    /// A user of this name in these groups. Asking again with other groups gives a second identity of the
    /// same name.
    ///
    /// # Errors
    /// When the kubeconfig cannot be written.
    pub fn user(&self, name: &str, groups: &[&str]) -> Result<User, ControlPlaneError> {
        let identity = self.pki.cluster().client(name, groups)?;
        let kubeconfig = self.data_directory().join("users").join(file_name(name, groups));
        kubeconfig::write(&kubeconfig, self.url(), self.pki.cluster().certificate(), name, &identity)?;
        Ok(User { name: name.to_owned(), kubeconfig })
    }
}

/// User names may hold slashes, colons and more: everything unusual is spelled out, so that no two names
/// share a file.
fn file_name(name: &str, groups: &[&str]) -> String {
    let mut spelled = String::new();
    for part in std::iter::once(&name).chain(groups) {
        if !spelled.is_empty() {
            spelled.push('+');
        }
        for character in part.chars() {
            match character {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '@' | '.' => spelled.push(character),
                other => spelled.push_str(&format!("%{:x}", u32::from(other))),
            }
        }
    }
    // File names end at 255 bytes; what matters is only that they differ.
    if spelled.len() > 200 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        spelled.hash(&mut hasher);
        spelled = format!("{:x}", hasher.finish());
    }
    format!("{spelled}.kubeconfig")
}
