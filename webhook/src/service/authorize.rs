//! Whether somebody may: the API server is asked, by a SubjectAccessReview, and its answer is kept for a moment.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use butler_program::{Failure, patiently};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::json;
use tokio::time::timeout;

use super::asked::Target;
use super::authenticate::User;
use super::status::Refusal;
use super::{GROUP, VERSION};

/// How long the API server may think.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an answer holds: half of what Kubernetes' own servers keep theirs for, so that a right that was taken away is
/// gone soon.
const KEPT: Duration = Duration::from_secs(5);
/// How many answers are kept, and how long a question may be to be kept. What is beyond is asked again.
const MOST_KEPT: usize = 4096;
const LONGEST_KEPT: usize = 8192;
/// They may do everything, also while the API server cannot be asked; it says so itself to whoever asks.
const MASTERS: &str = "system:masters";

/// Asks the API server who may do what.
pub(super) struct Authorizer {
    client: Client,
    answers: Mutex<Answers>,
}

impl std::fmt::Debug for Authorizer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Authorizer").finish_non_exhaustive()
    }
}

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Attributes<'a> {
    /// Of ours.
    Target(&'a Target),
    /// Of anybody's.
    Resource(&'a ResourceAttributes),
    /// Method in lower case, and path.
    Path(&'a str, &'a str),
}

impl Authorizer {
    pub(super) fn new(client: Client) -> Self {
        Self { client, answers: Mutex::default() }
    }

    /// Whether the user may.
    ///
    /// # Errors
    /// With the words of Kubernetes if not, and if nobody can say.
    pub(super) async fn authorize(&self, user: &User, attributes: Attributes<'_>) -> Result<(), Refusal> {
        if user.groups.iter().any(|group| group == MASTERS) {
            return Ok(());
        }
        let spec = question(user, attributes);
        let key = serde_json::to_string(&spec).unwrap_or_default();
        let kept = self.answers().get(&key, Instant::now());
        let answer = match kept {
            Some(answer) => answer,
            None => {
                let answer = self.ask(spec).await?;
                self.answers().keep(key, answer.clone(), Instant::now());
                answer
            }
        };
        match answer {
            Answer::Yes => Ok(()),
            Answer::No(why) => Err(denial(user, attributes, &why)),
        }
    }

    async fn ask(&self, spec: SubjectAccessReviewSpec) -> Result<Answer, Refusal> {
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let api: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let params = PostParams::default();
        let ask = || async { api.create(&params, &review).await.map_err(Failure::from) };
        match timeout(PATIENCE, patiently(ask)).await {
            Ok(Ok(answer)) => {
                let status = answer.status.unwrap_or_default();
                Ok(if status.allowed { Answer::Yes } else { Answer::No(status.reason.unwrap_or_default()) })
            }
            Ok(Err(error)) => {
                tracing::warn!("the API server does not say who may do what: {error}");
                Err(Refusal::internal("the API server does not say who may do this"))
            }
            Err(_) => Err(Refusal::internal("the API server does not answer")),
        }
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn question(user: &User, attributes: Attributes<'_>) -> SubjectAccessReviewSpec {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let (resource_attributes, non_resource_attributes) = match attributes {
        Attributes::Target(target) => (Some(of_target(target)), None),
        Attributes::Resource(resource) => (Some(resource.clone()), None),
        Attributes::Path(verb, path) => {
            (None, Some(NonResourceAttributes { path: text(path), verb: text(verb) }))
        }
    };
    SubjectAccessReviewSpec {
        user: text(&user.name),
        uid: text(&user.uid),
        groups: Some(user.groups.clone()),
        extra: (!user.extra.is_empty()).then(|| user.extra.clone()),
        resource_attributes,
        non_resource_attributes,
    }
}

fn of_target(target: &Target) -> ResourceAttributes {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    ResourceAttributes {
        group: Some(GROUP.to_owned()),
        version: Some(VERSION.to_owned()),
        resource: text(&target.resource),
        subresource: text(&target.subresource),
        verb: text(target.verb),
        namespace: text(&target.namespace),
        name: text(&target.name),
        ..ResourceAttributes::default()
    }
}

/// As kube-apiserver says it.
fn denial(user: &User, attributes: Attributes<'_>, why: &str) -> Refusal {
    let who = &user.name;
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    let attributes = match attributes {
        Attributes::Path(verb, path) => {
            let message = format!("forbidden: User {who:?} cannot {verb} path {path:?}{why}");
            return Refusal::forbidden(message, json!({}));
        }
        Attributes::Target(target) => of_target(target),
        Attributes::Resource(resource) => resource.clone(),
    };
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let (group, resource) = (text(&attributes.group), text(&attributes.resource));
    let (verb, name) = (text(&attributes.verb), text(&attributes.name));
    let of_group = if group.is_empty() { String::new() } else { format!(".{group}") };
    let part = attributes.subresource.as_ref().map_or_else(String::new, |part| format!("/{part}"));
    let scope = match &attributes.namespace {
        None => "at the cluster scope".to_owned(),
        Some(namespace) => format!("in the namespace {namespace:?}"),
    };
    let what = if name.is_empty() { String::new() } else { format!(" {name:?}") };
    let message = format!(
        "{resource}{of_group}{what} is forbidden: User {who:?} cannot {verb} resource \"{resource}{part}\" in API \
         group {group:?} {scope}{why}"
    );
    let mut details = json!({ "kind": resource });
    if let Some(fields) = details.as_object_mut() {
        for (field, value) in [("group", group), ("name", name)] {
            if !value.is_empty() {
                fields.insert(field.to_owned(), value.into());
            }
        }
    }
    Refusal::forbidden(message, details)
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    No(String),
}

/// Answers that still hold.
#[derive(Debug, Default)]
struct Answers(HashMap<String, (Instant, Answer)>);

impl Answers {
    fn get(&self, key: &str, now: Instant) -> Option<Answer> {
        let (since, answer) = self.0.get(key)?;
        (now.duration_since(*since) < KEPT).then(|| answer.clone())
    }

    fn keep(&mut self, key: String, answer: Answer, now: Instant) {
        if key.len() > LONGEST_KEPT {
            return;
        }
        if self.0.len() >= MOST_KEPT {
            self.0.retain(|_, (since, _)| now.duration_since(*since) < KEPT);
        }
        // So many at once are no ordinary use, and asking again is always right.
        if self.0.len() >= MOST_KEPT {
            self.0.clear();
        }
        self.0.insert(key, (now, answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(verb: &'static str, namespace: &str, name: &str) -> Target {
        Target {
            verb,
            resource: "policies".to_owned(),
            subresource: String::new(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn a_denial_has_the_words_of_kubernetes() {
        let user = User { name: "ana".to_owned(), ..User::default() };
        let (one, all) = (target("get", "", "rule.team"), target("create", "team-a", ""));
        let said =
            |attributes| denial(&user, attributes, "").status()["message"].as_str().unwrap().to_owned();
        assert_eq!(
            said(Attributes::Target(&one)),
            "policies.policy.butler.butlerlabs.dev \"rule.team\" is forbidden: User \"ana\" cannot get resource \
             \"policies\" in API group \"policy.butler.butlerlabs.dev\" at the cluster scope"
        );
        assert_eq!(
            said(Attributes::Target(&all)),
            "policies.policy.butler.butlerlabs.dev is forbidden: User \"ana\" cannot create resource \"policies\" in \
             API group \"policy.butler.butlerlabs.dev\" in the namespace \"team-a\""
        );
        assert_eq!(
            said(Attributes::Path("get", "/metrics")),
            "forbidden: User \"ana\" cannot get path \"/metrics\""
        );
    }

    #[test]
    fn answers_hold_for_a_moment_and_never_become_many() {
        let (mut answers, start) = (Answers::default(), Instant::now());
        answers.keep("a".to_owned(), Answer::Yes, start);
        assert_eq!(answers.get("a", start + KEPT / 2), Some(Answer::Yes));
        assert_eq!(answers.get("a", start + KEPT), None);
        for number in 0..3 * MOST_KEPT {
            answers.keep(number.to_string(), Answer::No(String::new()), start);
            assert!(answers.0.len() <= MOST_KEPT);
        }
        answers.keep("x".repeat(LONGEST_KEPT + 1), Answer::Yes, start);
        assert_eq!(answers.get(&"x".repeat(LONGEST_KEPT + 1), start), None);
    }
}
