//! The envelope of a request.

use std::borrow::Cow;
use std::fmt;

use butler_api::excerpt::excerpt;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::quick;
use super::spans::{Object, Read};

/// Why a review cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewError {
    /// The uid of the request, if it could be read.
    pub uid: Option<String>,
    /// Whether the object is at fault, and not the envelope. The mutating stage lets such an object pass as it is:
    /// the API server's own schema comes right after and says what is wrong with it.
    pub is_about_the_object: bool,
    /// What is wrong.
    pub message: String,
}

impl ReviewError {
    /// The request is at fault.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self { uid: None, is_about_the_object: false, message: message.into() }
    }

    pub(super) fn object(message: impl Into<String>) -> Self {
        Self { uid: None, is_about_the_object: true, message: message.into() }
    }

    /// The same, of the request with that uid.
    #[must_use]
    pub fn with_uid(self, uid: String) -> Self {
        Self { uid: Some(uid), ..self }
    }
}

impl fmt::Display for ReviewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReviewError {}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Envelope<'a, R> {
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    request: Option<R>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request<'a> {
    #[serde(borrow)]
    pub(super) uid: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) resource: Resource<'a>,
    #[serde(borrow)]
    pub(super) sub_resource: Option<Cow<'a, str>>,
    pub(super) operation: Operation,
    #[serde(borrow, default)]
    pub(super) namespace: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) user_info: UserInfo<'a>,
    #[serde(borrow)]
    pub(super) object: Option<Object<'a>>,
    #[serde(borrow)]
    pub(super) old_object: Option<Object<'a>>,
    pub(super) dry_run: Option<bool>,
    /// All of the request, as it was sent.
    #[serde(skip)]
    pub(super) text: &'a str,
    /// The specs of the object and of the old one, where they were read in passing.
    #[serde(skip)]
    pub(super) read: (Read, Read),
}

#[derive(Debug, Deserialize)]
pub(super) struct Resource<'a> {
    #[serde(borrow, default)]
    pub(super) group: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) version: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) resource: Cow<'a, str>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct UserInfo<'a> {
    #[serde(borrow, default)]
    pub(super) username: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) groups: Vec<Cow<'a, str>>,
}

/// What is done to the object.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "each is the operation of its name")]
pub enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

impl Operation {
    /// As in a request.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// Reads the request of a review.
pub(super) fn read_request(text: &str) -> Result<Request<'_>, ReviewError> {
    quick::request(text).map_or_else(|| read_carefully(text), Ok)
}

pub(super) fn read_carefully(text: &str) -> Result<Request<'_>, ReviewError> {
    match serde_json::from_str::<Envelope<'_, &RawValue>>(text) {
        Ok(Envelope { request: Some(raw), api_version, kind }) if is_review(&api_version, &kind) => {
            let request = serde_json::from_str::<Request<'_>>(raw.get());
            request.map(|request| Request { text: raw.get(), ..request }).map_err(|_| what_is_wrong(text))
        }
        _ => Err(what_is_wrong(text)),
    }
}

fn is_review(api_version: &Option<Cow<'_, str>>, kind: &Option<Cow<'_, str>>) -> bool {
    (api_version.as_deref(), kind.as_deref()) == (Some("admission.k8s.io/v1"), Some("AdmissionReview"))
}

/// Reads once more what could not be read, step by step, for the first thing that is wrong and for the uid.
fn what_is_wrong(text: &str) -> ReviewError {
    let uid = uid_in(text);
    let failed = |message| ReviewError { uid: uid.clone(), ..ReviewError::malformed(message) };
    let envelope: Envelope<'_, &RawValue> = match serde_json::from_str(text) {
        Ok(envelope) => envelope,
        Err(error) => return failed(format!("the body is no AdmissionReview: {error}")),
    };
    if !is_review(&envelope.api_version, &envelope.kind) {
        return failed(format!(
            "the body is `{}` of `{}`; it has to be `AdmissionReview` of `admission.k8s.io/v1`",
            excerpt(envelope.kind.as_deref().unwrap_or_default()),
            excerpt(envelope.api_version.as_deref().unwrap_or_default()),
        ));
    }
    let Some(request) = envelope.request else {
        return failed("the AdmissionReview has no request".to_owned());
    };
    match serde_json::from_str::<Request<'_>>(request.get()) {
        Ok(_) => failed("the request of the AdmissionReview cannot be read".to_owned()),
        Err(error) => failed(format!("the request of the AdmissionReview cannot be read: {error}")),
    }
}

/// The uid of a review of which nothing else may be readable.
fn uid_in(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct OnlyRequest<'a> {
        #[serde(borrow)]
        request: &'a RawValue,
    }
    #[derive(Deserialize)]
    struct OnlyUid {
        uid: String,
    }
    let OnlyRequest { request } = serde_json::from_str(text).ok()?;
    serde_json::from_str(request.get()).ok().map(|OnlyUid { uid }| uid)
}
