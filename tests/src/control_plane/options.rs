//! What a caller may choose about a control plane.

use std::path::PathBuf;

/// How a control plane is to be started. The default suits tests: temporary, on free ports, with the
/// controllers that delete namespaces, collect garbage, look after service accounts and aggregate roles.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) data_directory: Option<PathBuf>,
    pub(super) api_port: Option<u16>,
    pub(super) controllers: Vec<String>,
    pub(super) api_server_flags: Vec<String>,
    pub(super) audit_policy: Option<String>,
    pub(super) webhook_client_certificate: bool,
}

/// The controllers of kube-controller-manager without which objects do not go away, pods cannot be made, and
/// the roles `view`, `edit` and `admin` are empty.
pub const CONTROLLERS: [&str; 6] = [
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
];

impl Default for Options {
    fn default() -> Self {
        Self {
            data_directory: None,
            api_port: None,
            controllers: CONTROLLERS.map(str::to_owned).to_vec(),
            api_server_flags: Vec::new(),
            audit_policy: None,
            webhook_client_certificate: false,
        }
    }
}

impl Options {
    /// Keeps the state in this directory, so that a later start goes on with the same objects.
    #[must_use]
    pub fn data_directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.data_directory = Some(path.into());
        self
    }

    /// Serves on exactly this port of 127.0.0.1, and fails if somebody else does.
    #[must_use]
    pub fn api_port(mut self, port: u16) -> Self {
        self.api_port = Some(port);
        self
    }

    /// Runs these controllers beside the usual ones, for example `deployment-controller`.
    #[must_use]
    pub fn with_controllers<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.controllers.extend(names.into_iter().map(str::to_owned));
        self
    }

    /// Runs no kube-controller-manager: namespaces then stay in Terminating and nothing is collected.
    #[must_use]
    pub fn without_controllers(mut self) -> Self {
        self.controllers.clear();
        self
    }

    /// Adds flags to kube-apiserver, after ours, so that they win.
    #[must_use]
    pub fn api_server_flags<'a>(mut self, flags: impl IntoIterator<Item = &'a str>) -> Self {
        self.api_server_flags.extend(flags.into_iter().map(str::to_owned));
        self
    }

    /// Records requests by this audit policy; read them from [`audit_log`](super::ControlPlane::audit_log).
    #[must_use]
    pub fn audit_policy(mut self, policy: impl Into<String>) -> Self {
        self.audit_policy = Some(policy.into());
        self
    }

    /// Lets the API server present a client certificate, `kube-apiserver-webhook-client`, to every admission
    /// webhook. By default it presents none.
    #[must_use]
    pub fn webhook_client_certificate(mut self) -> Self {
        self.webhook_client_certificate = true;
        self
    }
}
