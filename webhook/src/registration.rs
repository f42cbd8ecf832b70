//! How the API server comes to ask us: the two webhook configurations, made from the table of endpoints.
//!
//! Pure: whoever installs them applies what is built here, be it from a file (`butlerctl registration`) or directly.
//! `caBundle` is left out, because the certificates of the running program are only known there; `butler-certs` fills it
//! in and keeps it right.

use std::borrow::Cow;

use butler_api::{
    AddonDefinition, ButlerConfig, ClusterCreationPolicy, NetworkPool, ProviderConfig, Team, TenantAddon,
    TenantCluster,
};
use butler_policies::review::Kind;
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ServiceReference,
    ValidatingWebhook, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use crate::endpoint::{ENDPOINTS, Endpoint, Stage};

/// The name of both configurations.
pub const NAME: &str = "butler-webhook";

/// The port of the Service.
const SERVICE_PORT: i32 = 443;
/// Long enough for a live read that confirms a denial, short enough that a person at a terminal does not wonder.
const TIMEOUT_SECONDS: i32 = 5;

/// What is never sent, because recovery must not need us: an object that is on its way out passes whatever it says, or
/// its finalizers could never be removed while we are down. The old object is looked at and not the new one, which is
/// what a caller claims and may leave its deletion out.
///
/// Like the other condition it is total: it has a value for every shape of object, and on creation and deletion, where
/// one of the objects is null. With `failurePolicy: Fail` a condition that fails would deny.
const NOT_ON_ITS_WAY_OUT: &str =
    "oldObject == null || oldObject.?metadata.?deletionTimestamp.orValue(null) == null";

/// The same of TenantClusters in the validating stage, where quotas are kept: the machines of a cluster that is being deleted
/// exist until it is gone, so if its spec, or where it counts, changes, that is looked at. Finalizers go without us all
/// the same.
const TAKES_NO_MORE_ON_ITS_WAY_OUT: &str = "oldObject == null || oldObject.?metadata.?deletionTimestamp.orValue(null) == null \
     || (object != null && (object.?spec != oldObject.?spec \
     || object.?metadata.?labels[?'butler.butlerlabs.dev/environment'] != oldObject.?metadata.?labels[?'butler.butlerlabs.dev/environment'] \
     || object.?metadata.?annotations[?'butler.butlerlabs.dev/owner'] != oldObject.?metadata.?annotations[?'butler.butlerlabs.dev/owner'] \
     || object.?metadata.?annotations[?'butler.butlerlabs.dev/creator-email'] != oldObject.?metadata.?annotations[?'butler.butlerlabs.dev/creator-email']))";

/// Also never sent: an update of nothing that anybody here looks at, such as finalizers and owner references. Labels and
/// annotations count as a whole; which of them matter is the ratchet's to know.
const CHANGES_WHAT_IS_JUDGED: &str = "object == null || oldObject == null \
     || object.?spec != oldObject.?spec \
     || object.?metadata.?labels != oldObject.?metadata.?labels \
     || object.?metadata.?annotations != oldObject.?metadata.?annotations";

/// Where the API server finds us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Behind a Service, on port 443.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// At an address that the API server can reach, for example `https://127.0.0.1:9443`.
    Url(String),
}

impl Target {
    fn client_config(&self, path: String) -> WebhookClientConfig {
        match self {
            Self::Service { namespace, name } => WebhookClientConfig {
                service: Some(ServiceReference {
                    namespace: namespace.clone(),
                    name: name.clone(),
                    path: Some(path),
                    port: Some(SERVICE_PORT),
                }),
                ..WebhookClientConfig::default()
            },
            Self::Url(base) => WebhookClientConfig {
                url: Some(format!("{}{path}", base.trim_end_matches('/'))),
                ..WebhookClientConfig::default()
            },
        }
    }
}

/// The configuration of the mutating stage.
pub fn mutating(target: &Target) -> MutatingWebhookConfiguration {
    let webhooks = at(Stage::Mutating).map(|endpoint| that_mutates(webhook(endpoint, target)));
    MutatingWebhookConfiguration { metadata: metadata(), webhooks: Some(webhooks.collect()) }
}

/// The configuration of the validating stage.
pub fn validating(target: &Target) -> ValidatingWebhookConfiguration {
    let webhooks = at(Stage::Validating).map(|endpoint| webhook(endpoint, target));
    ValidatingWebhookConfiguration { metadata: metadata(), webhooks: Some(webhooks.collect()) }
}

/// One endpoint, as both stages register it.
///
/// Neither stage has a namespaceSelector or an objectSelector, on purpose: whoever may label a namespace or an object
/// could then opt out of being judged. Nothing of the control plane is caught by that, since the rules name Butler's own
/// kinds only.
fn webhook(endpoint: Endpoint, target: &Target) -> ValidatingWebhook {
    ValidatingWebhook {
        name: endpoint.webhook.to_owned(),
        client_config: target.client_config(endpoint.path.to_owned()),
        rules: Some(rules(endpoint)),
        admission_review_versions: vec!["v1".to_owned()],
        failure_policy: Some("Fail".to_owned()),
        side_effects: "NoneOnDryRun".to_owned(),
        timeout_seconds: Some(TIMEOUT_SECONDS),
        match_policy: Some("Equivalent".to_owned()),
        match_conditions: Some(match_conditions(endpoint)),
        namespace_selector: None,
        object_selector: None,
    }
}

/// The same of the mutating stage, which Kubernetes gives a type of its own.
fn that_mutates(webhook: ValidatingWebhook) -> MutatingWebhook {
    let ValidatingWebhook {
        name,
        client_config,
        rules,
        admission_review_versions,
        failure_policy,
        side_effects,
        timeout_seconds,
        match_policy,
        match_conditions,
        namespace_selector,
        object_selector,
    } = webhook;
    MutatingWebhook {
        name,
        client_config,
        rules,
        admission_review_versions,
        failure_policy,
        side_effects,
        timeout_seconds,
        match_policy,
        match_conditions,
        namespace_selector,
        object_selector,
        // Another mutating webhook may take something out that was filled in here, or add what changes a default. Asking
        // twice is safe: defaults of what has its defaults change nothing.
        reinvocation_policy: Some("IfNeeded".to_owned()),
    }
}

fn at(stage: Stage) -> impl Iterator<Item = Endpoint> {
    ENDPOINTS.iter().copied().filter(move |endpoint| endpoint.stage == stage)
}

fn metadata() -> ObjectMeta {
    let labels = [("app.kubernetes.io/name", NAME), ("app.kubernetes.io/part-of", "butler")];
    ObjectMeta {
        name: Some(NAME.to_owned()),
        labels: Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()),
        ..ObjectMeta::default()
    }
}

fn rules(endpoint: Endpoint) -> Vec<RuleWithOperations> {
    let resource = plural(endpoint.kind);
    let mut operations = vec!["CREATE", "UPDATE"];
    // Something may depend on the object, or a policy may protect it. Like everything else, deletions wait while nobody
    // answers here: what is protected is not to be lost because the gate restarts.
    if endpoint.stage == Stage::Validating {
        operations.push("DELETE");
    }
    let mut rules = vec![rule(&resource, &operations)];
    // `kubectl scale` and autoscalers change the number of workers by a subresource that rules for the object itself do
    // not match. There is nothing to fill in there.
    if endpoint.kind == Kind::TenantCluster && endpoint.stage == Stage::Validating {
        rules.push(rule(&format!("{resource}/scale"), &["UPDATE"]));
    }
    rules
}

fn rule(resource: &str, operations: &[&str]) -> RuleWithOperations {
    RuleWithOperations {
        api_groups: Some(vec![butler_api::GROUP.to_owned()]),
        api_versions: Some(vec![butler_api::VERSION.to_owned()]),
        resources: Some(vec![resource.to_owned()]),
        operations: Some(operations.iter().copied().map(str::to_owned).collect()),
        scope: None,
    }
}

fn match_conditions(endpoint: Endpoint) -> Vec<MatchCondition> {
    let condition = |name: &str, expression: &str| MatchCondition {
        name: name.to_owned(),
        expression: expression.to_owned(),
    };
    let on_its_way_out = match (endpoint.kind, endpoint.stage) {
        (Kind::TenantCluster, Stage::Validating) => TAKES_NO_MORE_ON_ITS_WAY_OUT,
        _ => NOT_ON_ITS_WAY_OUT,
    };
    vec![
        condition("not-on-its-way-out", on_its_way_out),
        condition("changes-what-is-judged", CHANGES_WHAT_IS_JUDGED),
    ]
}

fn plural(kind: Kind) -> Cow<'static, str> {
    match kind {
        Kind::TenantCluster => TenantCluster::plural(&()),
        Kind::TenantAddon => TenantAddon::plural(&()),
        Kind::Team => Team::plural(&()),
        Kind::ButlerConfig => ButlerConfig::plural(&()),
        Kind::ProviderConfig => ProviderConfig::plural(&()),
        Kind::NetworkPool => NetworkPool::plural(&()),
        Kind::AddonDefinition => AddonDefinition::plural(&()),
        Kind::ClusterCreationPolicy => ClusterCreationPolicy::plural(&()),
    }
}

#[cfg(test)]
mod tests {
    use butler_policies::policy::{PolicySet, SourceFile};

    use super::*;

    fn service() -> Target {
        Target::Service { namespace: "butler-system".to_owned(), name: "butler-webhook".to_owned() }
    }

    #[test]
    fn every_endpoint_is_registered_once_under_its_name_and_path() {
        let (mutating, validating) = (mutating(&service()), validating(&service()));
        let path = |config: WebhookClientConfig| config.service.unwrap().path.unwrap();
        let mutating = mutating.webhooks.unwrap().into_iter().map(|it| (it.name, path(it.client_config)));
        let validating = validating.webhooks.unwrap().into_iter().map(|it| (it.name, path(it.client_config)));
        let registered: Vec<_> = mutating.chain(validating).collect();
        let served: Vec<_> = ENDPOINTS.iter().map(|it| (it.webhook.to_owned(), it.path.to_owned())).collect();
        assert_eq!(registered, served);
    }

    #[test]
    fn a_url_is_the_base_and_the_path() {
        for base in ["https://127.0.0.1:9443", "https://127.0.0.1:9443/"] {
            let webhooks = mutating(&Target::Url(base.to_owned())).webhooks.unwrap();
            let config = &webhooks.first().unwrap().client_config;
            assert_eq!(
                config.url.as_deref(),
                Some("https://127.0.0.1:9443/mutate-butler-butlerlabs-dev-v1alpha1-tenantcluster")
            );
            assert_eq!(config.service, None);
        }
    }

    #[test]
    fn scaling_and_deletions_are_judged_and_not_mutated() {
        let resources = |stage, kind| {
            let endpoint = at(stage).find(|it| it.kind == kind).unwrap();
            let flat =
                |it: RuleWithOperations| (it.resources.unwrap().concat(), it.operations.unwrap().join(" "));
            rules(endpoint).into_iter().map(flat).collect::<Vec<_>>()
        };
        let rule = |resource: &str, operations: &str| (resource.to_owned(), operations.to_owned());
        assert_eq!(
            resources(Stage::Validating, Kind::TenantCluster),
            [rule("tenantclusters", "CREATE UPDATE DELETE"), rule("tenantclusters/scale", "UPDATE")]
        );
        assert_eq!(
            resources(Stage::Mutating, Kind::TenantCluster),
            [rule("tenantclusters", "CREATE UPDATE")]
        );
        assert_eq!(
            resources(Stage::Validating, Kind::ProviderConfig),
            [rule("providerconfigs", "CREATE UPDATE DELETE")]
        );
    }

    /// Loading warns of policies that are about nothing that is sent here, so it has to know what is.
    #[test]
    fn loading_knows_what_is_sent() {
        for (stage, kind) in [(Stage::Mutating, "Mutating"), (Stage::Validating, "Validating")] {
            let sent: Vec<_> = at(stage).flat_map(rules).collect();
            let is_sent = |resource: &str, operation: &str| {
                let has =
                    |words: &Option<Vec<String>>, word| words.as_ref().unwrap().iter().any(|it| it == word);
                sent.iter().any(|rule| has(&rule.resources, resource) && has(&rule.operations, operation))
            };
            let resources = Kind::ALL.iter().flat_map(|kind| {
                let resource = plural(*kind);
                ["", "/scale", "/status"].map(|part| format!("{resource}{part}"))
            });
            for resource in resources.chain(["users".to_owned(), "ipallocations".to_owned()]) {
                for operation in ["CREATE", "UPDATE", "DELETE", "CONNECT"] {
                    assert_eq!(
                        !is_reported(kind, &resource, operation),
                        is_sent(&resource, operation),
                        "{kind} {operation} {resource}"
                    );
                }
            }
        }
    }

    /// Whether loading a policy about that says that it is about nothing.
    fn is_reported(kind: &str, resource: &str, operation: &str) -> bool {
        let body = match kind {
            "Mutating" => {
                "reinvocationPolicy: Never\n  mutations:\n  - patchType: JSONPatch\n    jsonPatch: {expression: '[]'}"
            }
            _ => "validations: [{expression: 'true'}]",
        };
        let text = format!(
            "apiVersion: admissionregistration.k8s.io/v1\nkind: {kind}AdmissionPolicy\nmetadata: {{name: one}}\nspec:\n  \
             matchConstraints:\n    resourceRules:\n    - apiGroups: [butler.butlerlabs.dev]\n      apiVersions: [v1alpha1]\n      \
             operations: [{operation}]\n      resources: [{resource}]\n  {body}\n"
        );
        let file = SourceFile { path: "one.yaml".to_owned(), text };
        let problems = match PolicySet::load(&[file]) {
            Ok(loaded) => loaded.problems,
            // A policy that changes what is deleted is refused, as in Kubernetes.
            Err(problems) => problems,
        };
        problems.iter().any(|problem| problem.code == "unmatched-kind")
    }
}
