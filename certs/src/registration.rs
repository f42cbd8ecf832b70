//! Objects that tell the API server where we are and whom to trust there, and their `caBundle`.
//!
//! Only `caBundle` of webhooks that point at us is written, by a patch that merges webhooks by name, so whoever owns
//! the rest (GitOps, Helm, kubectl) keeps it and sees no conflict as long as it leaves `caBundle` out. Every write
//! names the resourceVersion that was read, so a replica that was asleep cannot put an old bundle back.
//!
//! What we write, we do not own for long: our entry in `managedFields` is taken out again. A webhook of which
//! anybody else owns a field cannot be dropped by server-side apply; it stays behind as `name` and `caBundle`, and the
//! API server refuses that as incomplete. A registration that is applied by GitOps must stay GitOps' to change.

use std::fmt;

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, PartialObjectMeta, Patch, PatchParams};
use serde_json::{Value, json};

use crate::certificate::Certificate;
use crate::state::Trusted;

/// The field manager of what we write.
pub(crate) const FIELD_MANAGER: &str = "butler-certs";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Validating,
    Mutating,
    ApiService,
}

/// One registration by its name. By name and not by label, so that the right to read and patch can be given for
/// exactly these objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Registration {
    kind: Kind,
    name: String,
}

impl Registration {
    /// A ValidatingWebhookConfiguration.
    pub fn validating(name: impl Into<String>) -> Self {
        Self { kind: Kind::Validating, name: name.into() }
    }

    /// A MutatingWebhookConfiguration.
    pub fn mutating(name: impl Into<String>) -> Self {
        Self { kind: Kind::Mutating, name: name.into() }
    }

    /// An APIService.
    pub fn api_service(name: impl Into<String>) -> Self {
        Self { kind: Kind::ApiService, name: name.into() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn resource(&self) -> ApiResource {
        let (group, kind, plural) = match self.kind {
            Kind::Validating => (
                "admissionregistration.k8s.io",
                "ValidatingWebhookConfiguration",
                "validatingwebhookconfigurations",
            ),
            Kind::Mutating => (
                "admissionregistration.k8s.io",
                "MutatingWebhookConfiguration",
                "mutatingwebhookconfigurations",
            ),
            Kind::ApiService => ("apiregistration.k8s.io", "APIService", "apiservices"),
        };
        ApiResource {
            group: group.to_owned(),
            version: "v1".to_owned(),
            api_version: format!("{group}/v1"),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        }
    }

    fn api(&self, client: &Client) -> Api<DynamicObject> {
        Api::all_with(client.clone(), &self.resource())
    }

    /// What it trusts now; `None` if it does not exist.
    pub(crate) async fn read(&self, client: &Client, ours: &Ours) -> Result<Option<Registered>, kube::Error> {
        let Some(object) = self.api(client).get_opt(&self.name).await? else { return Ok(None) };
        Ok(Some(Registered {
            bundles: match self.kind {
                Kind::ApiService => bundle_of_api_service(&object.data, ours).into_iter().collect(),
                Kind::Validating | Kind::Mutating => bundles_of_webhooks(&object.data, ours),
            },
            metadata: object.metadata,
        }))
    }

    /// Writes the bundle. A conflict means that the registration has changed since it was read.
    pub(crate) async fn publish(
        &self,
        client: &Client,
        registered: &Registered,
        bundle: &str,
    ) -> Result<(), kube::Error> {
        let text = ByteString(bundle.as_bytes().to_vec());
        let version = json!({ "resourceVersion": registered.metadata.resource_version });
        let patch = match self.kind {
            Kind::ApiService => json!({ "metadata": version, "spec": { "caBundle": text } }),
            Kind::Validating | Kind::Mutating => {
                let entry =
                    |bundle: &Bundle| json!({ "name": bundle.webhook, "clientConfig": { "caBundle": text } });
                let webhooks: Vec<Value> = registered.bundles.iter().map(entry).collect();
                json!({ "metadata": version, "webhooks": webhooks })
            }
        };
        let written = self.patch(client, &Patch::Strategic(patch)).await?;
        // Where this fails, the next look sees it and tries again.
        let _ = self.disown(client, &written.metadata).await;
        Ok(())
    }

    /// Gives up what the last write made ours, if it did.
    pub(crate) async fn disown(&self, client: &Client, metadata: &ObjectMeta) -> Result<(), kube::Error> {
        let entries = metadata.managed_fields.as_deref().unwrap_or_default();
        let others: Vec<_> = entries.iter().filter(|entry| !is_ours(entry)).collect();
        // An empty list means something else to the API server, and is not worth the risk.
        if others.len() == entries.len() || others.is_empty() {
            return Ok(());
        }
        let patch =
            json!({ "metadata": { "resourceVersion": metadata.resource_version, "managedFields": others } });
        self.patch(client, &Patch::Merge(patch)).await.map(drop)
    }

    async fn patch(
        &self,
        client: &Client,
        patch: &Patch<Value>,
    ) -> Result<PartialObjectMeta<DynamicObject>, kube::Error> {
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        self.api(client).patch_metadata(&self.name, &params, patch).await
    }
}

fn is_ours(entry: &ManagedFieldsEntry) -> bool {
    entry.manager.as_deref() == Some(FIELD_MANAGER)
}

impl fmt::Display for Registration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} `{}`", self.resource().kind, self.name)
    }
}

/// How to tell which webhooks point at us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ours {
    pub(crate) namespace: String,
    pub(crate) service: String,
    pub(crate) urls: Vec<String>,
}

impl Ours {
    fn has_service(&self, service: Option<&Value>) -> bool {
        let text = |key| service.and_then(|service| service.get(key)).and_then(Value::as_str);
        text("namespace") == Some(&self.namespace) && text("name") == Some(&self.service)
    }

    fn has_url(&self, url: Option<&Value>) -> bool {
        let below = |url: &str| {
            let rest = |ours: &String| url.strip_prefix(ours.as_str());
            self.urls.iter().filter_map(rest).any(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        url.and_then(Value::as_str).is_some_and(below)
    }
}

/// A registration as it was read.
#[derive(Debug, PartialEq)]
pub(crate) struct Registered {
    pub(crate) metadata: ObjectMeta,
    pub(crate) bundles: Vec<Bundle>,
}

impl Registered {
    /// Whether a write of ours was not followed by giving it up.
    pub(crate) fn is_owned(&self) -> bool {
        self.metadata.managed_fields.iter().flatten().any(is_ours)
    }

    pub(crate) fn differs_from(&self, bundle: &str) -> bool {
        self.bundles.iter().any(|it| it.content != bundle.as_bytes())
    }
}

/// One `caBundle` that is ours.
#[derive(Debug, PartialEq)]
pub(crate) struct Bundle {
    webhook: String,
    content: Vec<u8>,
}

impl Bundle {
    /// The authorities in it; what is no certificate is trusted by nobody.
    pub(crate) fn trusted(&self) -> Vec<Trusted> {
        let certificates = Certificate::all_from_pem(&self.content).unwrap_or_default();
        certificates.iter().map(Trusted::from).collect()
    }
}

fn bundles_of_webhooks(data: &Value, ours: &Ours) -> Vec<Bundle> {
    let webhooks = data.get("webhooks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let bundle = |webhook: &Value| {
        let config = webhook.get("clientConfig")?;
        let is_ours = ours.has_service(config.get("service")) || ours.has_url(config.get("url"));
        let webhook = webhook.get("name")?.as_str()?.to_owned();
        is_ours.then(|| Bundle { webhook, content: content(config) })
    };
    webhooks.iter().filter_map(bundle).collect()
}

fn bundle_of_api_service(data: &Value, ours: &Ours) -> Option<Bundle> {
    let spec = data.get("spec")?;
    // One that verifies nothing may not have a bundle.
    let is_blind = spec.get("insecureSkipTLSVerify").and_then(Value::as_bool).unwrap_or(false);
    let is_ours = ours.has_service(spec.get("service")) && !is_blind;
    is_ours.then(|| Bundle { webhook: String::new(), content: content(spec) })
}

fn content(holder: &Value) -> Vec<u8> {
    let text = holder.get("caBundle").cloned().unwrap_or_default();
    serde_json::from_value::<ByteString>(text).map(|bytes| bytes.0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Ours {
        Ours {
            namespace: "butler-system".to_owned(),
            service: "webhook".to_owned(),
            urls: vec!["https://127.0.0.1:9443".to_owned()],
        }
    }

    #[test]
    fn only_webhooks_that_point_at_us_are_ours() {
        let service = |namespace, name| json!({ "service": { "namespace": namespace, "name": name } });
        let url = |url| json!({ "url": url });
        let cases = [
            (service("butler-system", "webhook"), true),
            (service("butler-system", "other"), false),
            (service("other", "webhook"), false),
            (url("https://127.0.0.1:9443"), true),
            (url("https://127.0.0.1:9443/validate"), true),
            (url("https://127.0.0.1:94430/validate"), false),
            (url("https://127.0.0.1:944"), false),
            (json!({}), false),
        ];
        for (config, expected) in cases {
            let data = json!({ "webhooks": [{ "name": "one", "clientConfig": config }] });
            assert_eq!(bundles_of_webhooks(&data, &ours()).len() == 1, expected, "{config}");
        }
        assert_eq!(bundles_of_webhooks(&json!({}), &ours()), []);
        let nobody = Ours { urls: Vec::new(), ..ours() };
        let data = json!({ "webhooks": [{ "name": "one", "clientConfig": url("https://127.0.0.1:9443") }] });
        assert_eq!(bundles_of_webhooks(&data, &nobody), []);
    }

    #[test]
    fn a_bundle_is_decoded_and_garbage_trusts_nobody() {
        let config =
            json!({ "service": { "namespace": "butler-system", "name": "webhook" }, "caBundle": "aGVsbG8=" });
        let data = json!({ "webhooks": [{ "name": "one", "clientConfig": config }] });
        let bundles = bundles_of_webhooks(&data, &ours());
        assert_eq!(bundles[0].content, b"hello");
        assert!(bundles[0].trusted().is_empty());
        let spec = |blind: bool| {
            json!({ "spec": { "service": { "namespace": "butler-system", "name": "webhook" },
                "insecureSkipTLSVerify": blind } })
        };
        assert!(bundle_of_api_service(&spec(false), &ours()).is_some());
        assert!(bundle_of_api_service(&spec(true), &ours()).is_none());
        assert!(bundle_of_api_service(&json!({ "spec": {} }), &ours()).is_none());
    }
}
