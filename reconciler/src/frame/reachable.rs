//! How an object is reached by its key, in a namespace or in none.

use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::api::Api;
use kube::{Client, Resource};

use super::Key;

/// A kind of which objects can be asked for by key.
pub trait Reachable: Resource<DynamicType = ()> + Sized {
    /// Objects of the kind where this one is.
    fn api(client: Client, key: &Key) -> Api<Self>;
}

/// What makes an API out of a client, by scope.
pub trait Scoped<K> {
    /// The API of that scope.
    fn api(client: Client, namespace: Option<&str>) -> Api<K>;
}

impl<K: Resource<DynamicType = (), Scope = ClusterResourceScope>> Scoped<K> for ClusterResourceScope {
    fn api(client: Client, _: Option<&str>) -> Api<K> {
        Api::all(client)
    }
}

impl<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>> Scoped<K> for NamespaceResourceScope {
    fn api(client: Client, namespace: Option<&str>) -> Api<K> {
        match namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::default_namespaced(client),
        }
    }
}

impl<K> Reachable for K
where
    K: Resource<DynamicType = ()>,
    K::Scope: Scoped<K>,
{
    fn api(client: Client, key: &Key) -> Api<Self> {
        K::Scope::api(client, key.namespace.as_deref())
    }
}
