//! The name of a TenantCluster and all that is derived from it.

use std::fmt;
use std::str::FromStr;

use super::digest::digest;
use super::syntax::{LABEL_LENGTH, NameError, NamespaceName, rfc1035_label};
use super::uid::ObjectUid;
use crate::excerpt::excerpt;

/// What is appended to a cluster's name where the result has a limit of its own. All other derived names belong to
/// Secrets and templates, which may have 253 characters and carry short suffixes.
const TIGHT_NAMES: [NameLimit; 3] = [
    NameLimit {
        derived: "the hosted control plane and its Service, named like the cluster",
        appended: 0,
        limit: LABEL_LENGTH,
    },
    NameLimit {
        derived: "the namespace of the cluster, its name with `-` and 8 characters of its uid",
        appended: 9,
        limit: LABEL_LENGTH,
    },
    NameLimit {
        derived: "the label that holds the name of the cluster's MachineDeployment, its name with `-workers`",
        appended: 8,
        limit: LABEL_LENGTH,
    },
];

/// The length limit of one derived name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameLimit {
    /// What bears the name, and how it is made.
    pub derived: &'static str,
    /// How many characters are added to the cluster's name.
    pub appended: usize,
    /// How many the result may have.
    pub limit: usize,
}

impl NameLimit {
    /// How long this leaves the cluster's name.
    pub const fn longest_cluster_name(&self) -> usize {
        self.limit - self.appended
    }
}

/// The derived name that limits the name of a TenantCluster most, and so how long that may be.
pub fn longest_cluster_name() -> NameLimit {
    let [first, others @ ..] = TIGHT_NAMES;
    others.into_iter().fold(first, |tightest, limit| {
        if limit.longest_cluster_name() < tightest.longest_cluster_name() { limit } else { tightest }
    })
}

/// The name of a TenantCluster from which all other names can be made: a label that begins with a letter, because the
/// hosted control plane and its Service need that, and no longer than [`longest_cluster_name`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterName(String);

/// What addresses are allocated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllocationPurpose {
    /// The worker machines.
    Nodes,
    /// Services of type LoadBalancer: the first allocation.
    LoadBalancer,
    /// A later allocation for them, counted from 1.
    LoadBalancerGrowth(u32),
}

impl ClusterName {
    /// The name as text; the Cluster, StewardControlPlane and infrastructure cluster have the same.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The namespace that holds everything the cluster consists of.
    pub fn tenant_namespace(&self, uid: ObjectUid) -> String {
        format!("{self}-{}", uid.short())
    }

    /// The MachineDeployment.
    pub fn workers(&self) -> String {
        format!("{self}-workers")
    }

    /// The machine and bootstrap templates, in their first version.
    pub fn worker_template(&self) -> String {
        format!("{self}-worker")
    }

    /// A template with this content. Templates cannot be changed: a new content needs a new name, and an old one must
    /// find its name again.
    pub fn worker_template_for(&self, content: &[u8]) -> String {
        format!("{self}-worker-{}", digest(content))
    }

    /// The Secret with the machine configuration of Talos workers.
    pub fn talos_bootstrap(&self) -> String {
        format!("{self}-talos-bootstrap")
    }

    /// The Secret with the credentials for Nutanix.
    pub fn nutanix_credentials(&self) -> String {
        format!("{self}-nutanix-creds")
    }

    /// The Secret in which Steward keeps the administrator's kubeconfig.
    pub fn admin_kubeconfig(&self) -> String {
        format!("{self}-admin-kubeconfig")
    }

    /// The Secret in which Cluster API looks for a kubeconfig.
    pub fn kubeconfig(&self) -> String {
        format!("{self}-kubeconfig")
    }

    /// The IPAllocation of this cluster in that namespace.
    ///
    /// `payments-orders-lb` as long as it can be read in one way only, which is when neither name contains a hyphen;
    /// otherwise a dot, which neither can contain, stands between the two: `a-b.c-lb` and `a.b-c-lb`.
    pub fn ip_allocation(&self, namespace: &NamespaceName, purpose: AllocationPurpose) -> String {
        let ambiguous = namespace.as_str().contains('-') || self.0.contains('-');
        self.joined_with(namespace, if ambiguous { '.' } else { '-' }, purpose)
    }

    /// The name that earlier releases gave to the same IPAllocation. One that is found under it may belong to another
    /// cluster: look at its `tenantClusterRef` before adopting it.
    pub fn former_ip_allocation(&self, namespace: &NamespaceName, purpose: AllocationPurpose) -> String {
        self.joined_with(namespace, '-', purpose)
    }

    fn joined_with(&self, namespace: &NamespaceName, separator: char, purpose: AllocationPurpose) -> String {
        match purpose {
            AllocationPurpose::Nodes => format!("{namespace}{separator}{self}-nodes"),
            AllocationPurpose::LoadBalancer => format!("{namespace}{separator}{self}-lb"),
            AllocationPurpose::LoadBalancerGrowth(count) => {
                format!("{namespace}{separator}{self}-lb-{count}")
            }
        }
    }
}

impl FromStr for ClusterName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let tightest = longest_cluster_name();
        let longest = tightest.longest_cluster_name();
        match rfc1035_label(text) {
            Err(NameError::Empty { .. }) => Err(NameError::Empty { longest }),
            Err(NameError::TooLong { .. }) | Ok(()) if text.len() > longest => {
                let because = format!(", because {} has at most {}", tightest.derived, tightest.limit);
                Err(NameError::TooLong { text: excerpt(text), length: text.len(), longest, because })
            }
            Err(error) => Err(error),
            Ok(()) => Ok(Self(text.to_owned())),
        }
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
