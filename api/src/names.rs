//! The names Butler gives to what it creates.
//!
//! Every derived name fits the limits of the object that bears it, because the one name a user chooses, that of the
//! TenantCluster, is checked against the tightest of them ([`longest_cluster_name`]). And no two clusters, members or pools
//! ever share one: where joining two names with `-` could be read two ways, a character that neither can contain
//! separates them.

mod binding;
mod cluster;
mod digest;
mod syntax;
#[cfg(test)]
mod tests;
mod uid;

pub use self::binding::{Subject, tenant_access_binding};
pub use self::cluster::{AllocationPurpose, ClusterName, NameLimit, longest_cluster_name};
pub use self::digest::bounded;
pub use self::syntax::{
    LABEL_LENGTH, NameError, NamespaceName, SUBDOMAIN_LENGTH, dns_label, dns_subdomain,
    is_reserved_namespace, rfc1035_label,
};
pub use self::uid::{ObjectUid, UidError};
