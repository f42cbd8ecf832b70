//! What an operator sees of providers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use butler_api::provider_config::ScopeType;
use butler_api::{ProviderConfig, ProviderConfigStatus};
use kube::ResourceExt;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::frame::Key;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Described {
    provider: String,
    namespace: String,
    r#type: &'static str,
    scope: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Named {
    provider: String,
    namespace: String,
}

/// Metrics of providers, of which there are few. They go with the provider.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    ready: Family<Described, Gauge>,
    available: Family<Named, Gauge>,
    tenants: Family<Named, Gauge>,
    /// What is shown of each, so that a provider that changes its type is not shown twice.
    shown: Arc<Mutex<HashMap<Key, Described>>>,
}

impl Metrics {
    /// Adds them to the registry of the program, as `butler_provider_config_…`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("butler_provider_config");
        registry.register("ready", "Whether clusters can be placed on the provider", self.ready.clone());
        registry.register("available_ips", "Addresses that are left in its pools", self.available.clone());
        registry.register(
            "estimated_tenants",
            "Clusters of the usual size that those suffice for",
            self.tenants.clone(),
        );
    }

    pub(super) fn show(&self, provider: &ProviderConfig, status: &ProviderConfigStatus) {
        let (name, namespace) = (provider.name_any(), provider.namespace().unwrap_or_default());
        let described = Described {
            provider: name.clone(),
            namespace: namespace.clone(),
            r#type: provider.spec.provider.as_str(),
            scope: match provider.spec.scope.scope_type() {
                ScopeType::Platform => "platform",
                ScopeType::Team => "team",
            },
        };
        let before = self.lock().insert(Key::of(&provider.metadata), described.clone());
        if let Some(before) = before.filter(|before| *before != described) {
            self.ready.remove(&before);
        }
        self.ready.get_or_create(&described).set(status.ready.unwrap_or_default().into());
        let named = Named { provider: name, namespace };
        let capacity = status.capacity.clone().unwrap_or_default();
        for (family, value) in
            [(&self.available, capacity.available_ips), (&self.tenants, capacity.estimated_tenants)]
        {
            match value {
                Some(value) => {
                    family.get_or_create(&named).set(value.into());
                }
                None => {
                    family.remove(&named);
                }
            }
        }
    }

    pub(super) fn forget(&self, key: &Key) {
        let Some(described) = self.lock().remove(key) else { return };
        self.ready.remove(&described);
        let Described { provider, namespace, .. } = described;
        let named = Named { provider, namespace };
        self.available.remove(&named);
        self.tenants.remove(&named);
    }

    /// Forgets all of them.
    pub(super) fn clear(&self) {
        self.lock().clear();
        self.ready.clear();
        self.available.clear();
        self.tenants.clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Described>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn they_read_as_an_operator_expects_and_go_with_the_provider() {
        let (metrics, mut registry) = (Metrics::default(), Registry::default());
        metrics.register(&mut registry);
        let text = || {
            let mut text = String::new();
            prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
            text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
        };
        let mut provider: ProviderConfig = serde_json::from_value(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig",
            "metadata": { "name": "p", "namespace": "butler-system" }, "spec": { "provider": "local" },
        }))
        .unwrap();
        let status: ProviderConfigStatus = serde_json::from_value(
            json!({ "ready": true, "capacity": { "availableIPs": 52, "estimatedTenants": 3 } }),
        )
        .unwrap();
        metrics.show(&provider, &status);
        provider.spec.provider = butler_api::provider_config::ProviderKind::Aws;
        metrics.show(&provider, &status);
        assert_eq!(
            text(),
            "butler_provider_config_ready{provider=\"p\",namespace=\"butler-system\",type=\"aws\",scope=\"platform\"} 1\n\
             butler_provider_config_available_ips{provider=\"p\",namespace=\"butler-system\"} 52\n\
             butler_provider_config_estimated_tenants{provider=\"p\",namespace=\"butler-system\"} 3"
        );
        metrics.forget(&Key::of(&provider.metadata));
        assert_eq!(text(), "");
        metrics.show(&provider, &status);
        metrics.clear();
        assert_eq!(text(), "", "whoever does not lead any more shows nothing");
    }
}
