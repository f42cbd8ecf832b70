//! `reviews` and `localreviews`: would this be admitted, and why. Asked by creating one; nothing is stored, and nothing of
//! what it is about is touched.
//!
//! Whoever asks is told what the API server would tell them, and no more: before the gate is asked, it is asked whether they
//! may do at all what the review is about.

mod answer;
mod object;
mod subject;

use butler_policies::review::{Kind, Operation};
use jiff::Timestamp;
use k8s_openapi::api::authorization::v1::ResourceAttributes;
use serde_json::Value;

pub(super) use self::object::{LocalReview, Review};
use self::object::{ReviewSpec, ReviewStatus};
use super::Shared;
use super::asked::Target;
use super::authenticate::User;
use super::authorize::Attributes;
use super::resources::Resource;
use super::status::Refusal;
use super::table::{Column, at};
use crate::admission::Question;

pub(super) const LOCAL: Resource = Resource {
    plural: "localreviews",
    singular: "localreview",
    kind: "LocalReview",
    is_namespaced: true,
    verbs: &["create"],
    about: "Whether an object of the namespace would be admitted, and why. Nothing is stored.",
    columns: COLUMNS,
    schema: |generator| generator.subschema_for::<LocalReview>(),
};

pub(super) const EVERYWHERE: Resource = Resource {
    plural: "reviews",
    singular: "review",
    kind: "Review",
    is_namespaced: false,
    verbs: &["create"],
    about: "Whether any object would be admitted, and why. Nothing is stored.",
    columns: COLUMNS,
    schema: |generator| generator.subschema_for::<Review>(),
};

const COLUMNS: &[Column] = &[
    Column { name: "Allowed", about: "Whether it is admitted.", is_wide: false, cell: allowed },
    Column { name: "Message", about: "Why not.", is_wide: false, cell: message },
];

fn allowed(review: &Value) -> String {
    if at(review, "/status/allowed") == true { "yes".to_owned() } else { "no".to_owned() }
}

fn message(review: &Value) -> String {
    at(review, "/status/message").as_str().unwrap_or_default().to_owned()
}

/// Answers a review.
pub(super) async fn create(
    shared: &Shared,
    user: &User,
    resource: &'static Resource,
    target: &Target,
    body: Value,
) -> Result<Value, Refusal> {
    let mut review = Review::read(resource, body)?;
    let subject = subject::read(resource, &target.namespace, &review.spec)?;
    let asked_as = subject::asker(shared, user, &review.spec).await?;
    review.status = Some(match may(shared, &asked_as, &subject).await {
        Err(denial) if denial.code == http::StatusCode::FORBIDDEN => ReviewStatus::forbidden(&denial),
        Err(refusal) => return Err(refusal),
        Ok(()) => {
            let question = question(&asked_as, &subject, &review.spec);
            let rehearsed = shared.admission.rehearse(question).await;
            answer::status(&rehearsed.map_err(|why| Refusal::unavailable(&why.to_string()))?)
        }
    });
    Ok(review.into_value(resource, &target.namespace))
}

/// What a review is about.
#[derive(Debug, PartialEq, Eq)]
struct Subject {
    kind: Kind,
    operation: Operation,
    namespace: String,
    name: String,
}

/// Whether the API server would let them do it.
async fn may(shared: &Shared, user: &User, subject: &Subject) -> Result<(), Refusal> {
    let verb = match subject.operation {
        Operation::Update => "update",
        Operation::Delete => "delete",
        Operation::Create | Operation::Connect => "create",
    };
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let attributes = ResourceAttributes {
        group: Some(butler_api::GROUP.to_owned()),
        version: Some(butler_api::VERSION.to_owned()),
        resource: Some(subject.kind.resource().to_owned()),
        verb: Some(verb.to_owned()),
        namespace: text(&subject.namespace),
        // An object that is made has no name yet when it is decided.
        name: text(&subject.name).filter(|_| verb != "create"),
        ..ResourceAttributes::default()
    };
    shared.authorizer.authorize(user, Attributes::Resource(&attributes)).await
}

fn question(user: &User, subject: &Subject, spec: &ReviewSpec) -> Question {
    Question {
        kind: subject.kind,
        operation: subject.operation,
        namespace: subject.namespace.clone(),
        user: user.info(),
        object: spec.object.clone(),
        old_object: spec.old_object.clone(),
        now: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    }
}
