//! The envelope of a request.

use std::borrow::Cow;
use std::fmt;

use butler_api::excerpt::excerpt;
use serde::Deserialize;
use serde_json::value::RawValue;

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
pub(super) struct Envelope<'a> {
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    request: Option<&'a RawValue>,
}

#[derive(Deserialize)]
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
    pub(super) object: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) old_object: Option<&'a RawValue>,
    pub(super) dry_run: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct Resource<'a> {
    #[serde(borrow, default)]
    pub(super) group: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) version: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) resource: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
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

impl<'a> Envelope<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Request<'a>, ReviewError> {
        let envelope: Self = serde_json::from_str(text)
            .map_err(|error| ReviewError::malformed(format!("the body is no AdmissionReview: {error}")))?;
        let failed = |message: String| ReviewError {
            uid: envelope.request.and_then(uid_of),
            ..ReviewError::malformed(message)
        };
        let version = envelope.api_version.as_deref().unwrap_or_default();
        let kind = envelope.kind.as_deref().unwrap_or_default();
        if (version, kind) != ("admission.k8s.io/v1", "AdmissionReview") {
            return Err(failed(format!(
                "the body is `{}` of `{}`; it has to be `AdmissionReview` of `admission.k8s.io/v1`",
                excerpt(kind),
                excerpt(version),
            )));
        }
        let Some(request) = envelope.request else {
            return Err(failed("the AdmissionReview has no request".to_owned()));
        };
        serde_json::from_str(request.get())
            .map_err(|error| failed(format!("the request of the AdmissionReview cannot be read: {error}")))
    }
}

/// The uid of a request of which nothing else may be readable.
fn uid_of(request: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct OnlyUid {
        uid: String,
    }
    serde_json::from_str(request.get()).ok().map(|OnlyUid { uid }| uid)
}
