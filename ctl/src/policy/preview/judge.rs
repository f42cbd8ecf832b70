//! One object, judged as if it were created today.

use std::collections::BTreeMap;

use butler_api::reference::NsRef;
use butler_policies::{
    Facts, Review,
    facts::{Fact, FactKey},
    policy::{
        Asked, Evaluation, Kind as PolicyKind, Known, Outcome, PolicySet, Request, Shown, VALIDATION_FAILURE,
        complete, mutate, validate,
    },
    review::Kind,
};
use serde_json::{Value, json};

/// What is the same for all objects.
pub(super) struct Judge {
    set: PolicySet,
    facts: Facts,
    user: Value,
    shown: Shown,
}

/// What the policies say of an object.
#[derive(Debug, Default)]
pub(super) struct Finding {
    pub(super) kind: &'static str,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) denied: Vec<String>,
    pub(super) warnings: Vec<String>,
    pub(super) audited: Vec<String>,
    /// The policies that would change it.
    pub(super) changed_by: Vec<String>,
    /// What each policy came to, the gravest over its bindings.
    pub(super) outcomes: BTreeMap<(PolicyKind, String), Outcome>,
}

impl Finding {
    fn note(&mut self, kind: PolicyKind, evaluations: &[Evaluation]) {
        for Evaluation { policy, result, .. } in evaluations {
            let outcome = self.outcomes.entry((kind, policy.to_string())).or_insert(*result);
            *outcome = (*outcome).max(*result);
        }
    }
}

impl Judge {
    pub(super) fn new(set: PolicySet, facts: Facts, user: Value) -> Self {
        Self { set, facts, user, shown: Shown::default() }
    }

    pub(super) fn judge(&self, kind: Kind, mut object: Value) -> Finding {
        as_created(&mut object);
        let text = |name: &str| {
            let value = object.pointer(&format!("/metadata/{name}")).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let mut finding = Finding {
            kind: kind.as_str(),
            namespace: text("namespace"),
            name: text("name"),
            ..Finding::default()
        };
        let mut request = Asked::Create.request(kind, object, Value::Null);
        if let Value::Object(request) = &mut request {
            request.insert("userInfo".to_owned(), self.user.clone());
        }
        complete(&mut request);
        let body =
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
                .to_string();
        match Review::parse(body.as_bytes()) {
            Ok(review) => self.ask(&review, &mut finding),
            // The gate would refuse it, whatever policies say.
            Err(error) => finding.denied.push(error.to_string()),
        }
        finding
    }

    fn ask(&self, review: &Review<'_>, finding: &mut Finding) {
        let facts = self.without(review);
        let known = Known::new(&facts, review, &self.shown);
        let request = Request::of_review(review);
        let mutated = mutate(&self.set, &request, &known);
        finding.note(PolicyKind::Mutating, &mutated.evaluations);
        let changed = finding.outcomes.iter().filter(|(_, outcome)| **outcome == Outcome::Changed);
        finding.changed_by = changed.map(|((_, policy), _)| policy.clone()).collect();
        finding.denied.extend(mutated.refusals.iter().map(|refusal| refusal.message()));
        if !mutated.refusals.is_empty() {
            return;
        }
        let judged = match &mutated.object {
            Some(object) => validate(&self.set, &request.with_object(&object.to_string()), &known),
            None => validate(&self.set, &request, &known),
        };
        finding.note(PolicyKind::Validating, &judged.evaluations);
        finding.denied.extend(judged.denials.iter().map(|denial| denial.message()));
        finding.warnings.extend(judged.warnings.iter().map(|warning| warning.message()));
        let failures = judged.annotations.iter().filter(|(key, _)| key == VALIDATION_FAILURE);
        finding.audited.extend(failures.map(|(_, failures)| failures.clone()));
    }

    /// The facts without the object itself: what is not created yet counts nowhere.
    fn without(&self, review: &Review<'_>) -> Facts {
        let mut facts = self.facts.clone();
        let at = NsRef { namespace: review.namespace.to_string(), name: review.name.to_string() };
        let key = match review.kind {
            Kind::TenantCluster => FactKey::Cluster(at),
            Kind::TenantAddon => FactKey::Addon(at),
            Kind::ProviderConfig => FactKey::Provider(at),
            Kind::NetworkPool => FactKey::Pool(at),
            Kind::Team => FactKey::Team(at.name),
            Kind::AddonDefinition => FactKey::Definition(at.name),
            Kind::ClusterCreationPolicy => FactKey::CreationPolicy(at.name),
            Kind::ButlerConfig => FactKey::Config,
        };
        facts.learn(key, Fact::Absent);
        facts
    }
}

/// The object as it would be sent: without what the API server writes itself.
fn as_created(object: &mut Value) {
    const WRITTEN: [&str; 6] = [
        "resourceVersion",
        "generation",
        "managedFields",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ];
    let Value::Object(fields) = object else { return };
    fields.remove("status");
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        for name in WRITTEN {
            metadata.remove(name);
        }
    }
}
