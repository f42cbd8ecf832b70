//! A namespace with registrations, and questions about what is stored and trusted there.

use std::time::{Duration, Instant};

use butler_bench::ControlPlane;
use butler_certs::{Lifetimes, Registration, Settings};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;

/// How long anything may take on a busy machine before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct World<'plane> {
    pub(crate) plane: &'plane ControlPlane,
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

impl<'plane> World<'plane> {
    pub(crate) async fn new(plane: &'plane ControlPlane) -> Self {
        let (client, namespace) = (plane.client().await.unwrap(), plane.namespace().await.unwrap());
        Self { plane, client, namespace }
    }

    /// Days of life, so that only hands make things happen, and a second of settling.
    pub(crate) fn settings(&self) -> Settings {
        let day = Duration::from_secs(24 * 60 * 60);
        let lifetimes = Lifetimes::new(30 * day, 10 * day, Duration::from_secs(1)).unwrap();
        Settings::for_service(&self.namespace, "webhook")
            .name("127.0.0.1")
            .registration(Registration::validating(&self.namespace))
            .lifetimes(lifetimes)
    }

    /// A configuration named after the namespace with a webhook for each port, called for ConfigMaps there, and
    /// one that is not ours.
    pub(crate) fn registration(&self, ports: &[u16]) -> String {
        let namespace = &self.namespace;
        let webhooks: String = ports
            .iter()
            .enumerate()
            .map(|(number, port)| {
                format!(
                    "
  - name: replica-{number}.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
    timeoutSeconds: 10
    namespaceSelector: {{ matchLabels: {{ kubernetes.io/metadata.name: {namespace} }} }}
    clientConfig: {{ url: 'https://127.0.0.1:{port}/judge' }}
    rules: [{{ apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps] }}]"
                )
            })
            .collect();
        format!(
            "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{ name: {namespace} }}
webhooks:{webhooks}
  - name: foreign.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    clientConfig: {{ service: {{ namespace: {namespace}, name: foreign }}, caBundle: Zm9yZWlnbg== }}
    rules: [{{ apiGroups: [nobody.example.com], apiVersions: [v1], operations: [CREATE], resources: [things] }}]
"
        )
    }

    pub(crate) async fn register(&self, ports: &[u16]) {
        self.plane.apply(&self.registration(ports)).await.unwrap();
    }

    pub(crate) fn configurations(&self) -> Api<ValidatingWebhookConfiguration> {
        Api::all(self.client.clone())
    }

    /// `caBundle` of every webhook that is ours.
    pub(crate) async fn bundles(&self) -> Vec<Vec<u8>> {
        let configuration = self.configurations().get(&self.namespace).await.unwrap();
        let ours = configuration.webhooks.unwrap_or_default().into_iter();
        ours.filter(|webhook| webhook.name.starts_with("replica"))
            .map(|webhook| webhook.client_config.ca_bundle.unwrap_or_default().0)
            .collect()
    }

    pub(crate) fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) async fn secret(&self) -> Option<Secret> {
        self.secrets().get_opt("webhook-certificates").await.unwrap()
    }

    pub(crate) async fn entry(&self, key: &str) -> Option<Vec<u8>> {
        self.secret().await?.data?.remove(key).map(|value| value.0)
    }

    /// Sets keys of the Secret, or removes them.
    pub(crate) async fn damage(&self, keys: &[(&str, Option<&str>)]) {
        let data: serde_json::Map<_, _> = keys
            .iter()
            .map(|(key, value)| {
                ((*key).to_owned(), json!(value.map(|value| ByteString(value.as_bytes().to_vec()))))
            })
            .collect();
        let patch = Patch::Merge(json!({ "data": data }));
        self.secrets().patch("webhook-certificates", &PatchParams::default(), &patch).await.unwrap();
    }

    /// Whether what is stored is complete and at rest, every registration trusting exactly what is stored.
    pub(crate) async fn is_at_rest(&self) -> bool {
        let Some(secret) = self.secret().await else { return false };
        let data = secret.data.clone().unwrap_or_default();
        let is_complete =
            ["tls.crt", "tls.key", "ca.crt", "ca.key"].iter().all(|key| data.contains_key(*key));
        let is_rotating = data.contains_key("ca-next.key");
        let trusted = data.get("ca.crt").map(|value| &value.0);
        let bundles = self.bundles().await;
        is_complete && !is_rotating && bundles.iter().all(|bundle| Some(bundle) == trusted)
    }

    pub(crate) async fn rest(&self) {
        eventually("certificates at rest", async || self.is_at_rest().await).await;
    }

    /// Notes of our events with this reason.
    pub(crate) async fn events(&self, reason: &str) -> Vec<String> {
        let events: Api<k8s_openapi::api::events::v1::Event> =
            Api::namespaced(self.client.clone(), &self.namespace);
        let events = events.list(&Default::default()).await.unwrap();
        let ours = events.items.into_iter().filter(|event| event.reason.as_deref() == Some(reason));
        ours.filter_map(|event| event.note).collect()
    }

    /// Who owns fields of the registration.
    pub(crate) async fn managers(&self) -> Vec<String> {
        let configuration = self.configurations().get(&self.namespace).await.unwrap();
        configuration.managed_fields().iter().filter_map(|entry| entry.manager.clone()).collect()
    }

    pub(crate) async fn resource_version(&self) -> Option<String> {
        self.configurations().get(&self.namespace).await.unwrap().resource_version()
    }
}

pub(crate) async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !condition().await {
        assert!(started.elapsed() < PATIENCE, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
