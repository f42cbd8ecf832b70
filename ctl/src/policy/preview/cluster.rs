//! What is read from the cluster: who asks, every object, and what is known around it.

use std::{path::Path, sync::Arc, time::Duration};

use butler_api::reference::NsRef;
use butler_policies::{
    Facts,
    cel::Tree,
    facts::{Fact, FactKey, Lookup},
    policy::{Document, ParamKind, ParamScope, PolicySet, complete_namespace},
    review::Kind,
};
use butler_webhook::facts::{self, Metrics, Pace, Snapshots};
use kube::{
    Client, Config,
    api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams},
    config::{KubeConfigOptions, Kubeconfig},
    discovery::{self, Scope},
};
use serde_json::{Value, json};

use crate::failure::Failure;

/// Objects per page of a list.
const PAGE: u32 = 250;
/// How long reading what is known may take.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Cluster {
    client: Client,
}

impl Cluster {
    pub(super) async fn connect(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Self, Failure> {
        let file = match kubeconfig {
            Some(path) => Kubeconfig::read_from(path)?,
            None => Kubeconfig::read()?,
        };
        let options =
            KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
        let config = Config::from_custom_kubeconfig(file, &options).await?;
        Ok(Self { client: Client::try_from(config)? })
    }

    /// Who asks, as the API server knows them.
    pub(super) async fn user(&self) -> Result<Value, Failure> {
        let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
        let request = http::Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body.to_string().into_bytes())?;
        let mut review: Value = self.client.request(request).await?;
        Ok(review.pointer_mut("/status/userInfo").map(Value::take).unwrap_or_default())
    }

    /// What the webhook would know, read by the webhook's own code, and the params that the policies take.
    pub(super) async fn facts(&self, set: &PolicySet) -> Result<Facts, Failure> {
        let snapshots = Arc::new(Snapshots::default());
        let (mut synced, watching) =
            facts::watch(self.client.clone(), Arc::clone(&snapshots), Metrics::default(), Pace::default());
        let state = synced.clone();
        tokio::select! {
            never = watching => match never {},
            () = synced.wait() => {}
            () = tokio::time::sleep(PATIENCE) => {
                let missing: Vec<String> = state.missing().iter().map(ToString::to_string).collect();
                return Err(Failure::new(format_args!(
                    "cannot list {} within {} seconds; see that Butler's kinds are installed and that you may list and watch them",
                    missing.join(", "),
                    PATIENCE.as_secs()
                )));
            }
        }
        let mut facts = Facts::clone(&snapshots.current());
        self.learn_namespaces(&mut facts).await?;
        for kind in set.param_kinds() {
            self.learn_params(kind, &mut facts).await?;
        }
        Ok(facts)
    }

    /// Namespaces as expressions see them.
    async fn learn_namespaces(&self, facts: &mut Facts) -> Result<(), Failure> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace"));
        let mut found = Vec::new();
        self.each(&resource, |namespace| found.push(namespace)).await?;
        for mut namespace in found {
            complete_namespace(&mut namespace);
            let name = namespace.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            let mut fact = match facts.namespace(name) {
                Lookup::Found(fact) => fact.clone(),
                Lookup::Absent | Lookup::Unknown => continue,
            };
            let key = FactKey::Namespace(name.to_owned());
            fact.object = document(&namespace);
            facts.learn(key, Fact::Namespace(fact));
        }
        Ok(())
    }

    async fn learn_params(&self, kind: &ParamKind, facts: &mut Facts) -> Result<(), Failure> {
        let (group, version) = kind.api_version.split_once('/').unwrap_or(("", &kind.api_version));
        let wanted = GroupVersionKind::gvk(group, version, &kind.kind);
        // A kind that is not served is unknown, as it is to the webhook: the policy then says so itself.
        let Ok((resource, capabilities)) = discovery::pinned_kind(&self.client, &wanted).await else {
            return Ok(());
        };
        let scope = match capabilities.scope {
            Scope::Cluster => ParamScope::Cluster,
            Scope::Namespaced => ParamScope::Namespaced,
        };
        facts.params.watch(kind.clone(), scope);
        self.each(&resource, |param| {
            let text = |name: &str| {
                let value = param.pointer(&format!("/metadata/{name}")).and_then(Value::as_str);
                value.unwrap_or_default().to_owned()
            };
            let at = NsRef { namespace: text("namespace"), name: text("name") };
            facts.params.learn(kind, at, document(&param));
        })
        .await?;
        facts.params.regain(kind);
        Ok(())
    }

    /// Every Butler object that the gate is asked about, a page at a time.
    pub(super) async fn each_object(&self, mut then: impl FnMut(Kind, Value)) -> Result<(), Failure> {
        for kind in Kind::ALL {
            let wanted = GroupVersionKind::gvk(butler_api::GROUP, butler_api::VERSION, kind.as_str());
            let resource = ApiResource::from_gvk_with_plural(&wanted, kind.resource());
            self.each(&resource, |object| then(kind, object)).await?;
        }
        Ok(())
    }

    /// Every object of a kind, whole, a page at a time.
    async fn each(&self, resource: &ApiResource, mut then: impl FnMut(Value)) -> Result<(), Failure> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), resource);
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = api
                .list(&params)
                .await
                .map_err(|error| Failure::new(format_args!("cannot list {}: {error}", resource.plural)))?;
            for mut object in page.items {
                // Items of a list do not say what they are.
                object.types = Some(kube::api::TypeMeta {
                    api_version: resource.api_version.clone(),
                    kind: resource.kind.clone(),
                });
                then(serde_json::to_value(object)?);
            }
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                return Ok(());
            }
        }
    }
}

fn document(value: &Value) -> Option<Document> {
    Tree::parse(&value.to_string()).ok().map(|tree| Arc::new(tree.into_owned()))
}
