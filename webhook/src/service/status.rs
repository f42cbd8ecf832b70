//! Every answer that is a no, as kube-apiserver words it: a `Status` with code and reason, so that clients behave.

use http::StatusCode;
use serde_json::{Value, json};

use super::{GROUP, MEDIA_TYPES};

/// Why a request is not answered with what it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: StatusCode,
    reason: &'static str,
    message: String,
    details: Value,
    /// When to come again, in seconds.
    pub(super) retry_after: Option<u32>,
}

impl Refusal {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Value::Null, retry_after: None }
    }

    fn with_details(self, details: Value) -> Self {
        Self { details, ..self }
    }

    pub(super) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// Somebody is known, and may not do this.
    pub(super) fn forbidden(what: impl Into<String>, details: Value) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Forbidden", what).with_details(details)
    }

    /// Nothing is served there.
    pub(super) fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).with_details(json!({}))
    }

    /// There is no such object.
    pub(super) fn not_found(resource: &str, name: &str) -> Self {
        let message = format!("{resource}.{GROUP} {name:?} not found");
        let details = json!({ "name": name, "group": GROUP, "kind": resource });
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).with_details(details)
    }

    pub(super) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).with_details(json!({}))
    }

    pub(super) fn not_acceptable() -> Self {
        let message = format!("only the following media types are accepted: {MEDIA_TYPES}");
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub(super) fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    pub(super) fn unsupported_media_type() -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {MEDIA_TYPES}"
        );
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    /// An object that cannot be answered.
    pub(super) fn invalid(kind: &str, field: &str, why: &str) -> Self {
        let message = format!("{kind}.{GROUP} \"\" is invalid: {field}: Invalid value: {why}");
        let cause = json!({ "reason": "FieldValueInvalid", "message": format!("Invalid value: {why}"), "field": field });
        let details = json!({ "group": GROUP, "kind": kind, "causes": [cause] });
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).with_details(details)
    }

    /// A query that contradicts itself.
    pub(super) fn invalid_options(field: &str, why: &str) -> Self {
        let message = format!("ListOptions.meta.k8s.io \"\" is invalid: {field}: {why}");
        let cause = json!({ "reason": "FieldValueForbidden", "message": why, "field": field });
        let details = json!({ "group": "meta.k8s.io", "kind": "ListOptions", "causes": [cause] });
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).with_details(details)
    }

    /// A resourceVersion that this replica does not know, be it too old or another replica's. Clients list again.
    pub(super) fn expired(version: &str) -> Self {
        Self::new(StatusCode::GONE, "Expired", format!("too old resource version: {version}"))
    }

    /// A list that cannot be continued. Clients begin it again.
    pub(super) fn list_expired() -> Self {
        let message = "The provided continue parameter is too old to display a consistent list result. You can start \
                       a new list without the continue parameter.";
        Self::new(StatusCode::GONE, "Expired", message)
    }

    pub(super) fn too_many_requests() -> Self {
        let message = "Too many requests, please try again later.";
        let details = json!({ "retryAfterSeconds": 1 });
        let refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message);
        Self { retry_after: Some(1), ..refusal.with_details(details) }
    }

    /// What is needed to answer is not there yet.
    pub(super) fn unavailable(why: &str) -> Self {
        let refusal = Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", why);
        Self { retry_after: Some(1), ..refusal.with_details(json!({ "retryAfterSeconds": 1 })) }
    }

    pub(super) fn timeout() -> Self {
        let message = "Timeout: request did not complete within the allotted timeout";
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message)
    }

    pub(super) fn internal(why: &str) -> Self {
        let message = format!("Internal error occurred: {why}");
        let details = json!({ "causes": [{ "message": why }] });
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message).with_details(details)
    }

    /// As it is sent.
    pub(super) fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code.as_u16(),
        });
        if let (Some(fields), false) = (status.as_object_mut(), self.details.is_null()) {
            fields.insert("details".to_owned(), self.details.clone());
        }
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Word for word what kube-apiserver says of its own resources.
    #[test]
    fn a_missing_object_is_told_as_kubernetes_tells_it() {
        let status = Refusal::not_found("policies", "rule.x").status();
        let expected = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "policies.policy.butler.butlerlabs.dev \"rule.x\" not found",
            "reason": "NotFound",
            "details": { "name": "rule.x", "group": "policy.butler.butlerlabs.dev", "kind": "policies" },
            "code": 404,
        });
        assert_eq!(status, expected);
    }

    #[test]
    fn who_is_told_to_come_again_is_told_when() {
        let refusals = [Refusal::too_many_requests(), Refusal::unavailable("not yet")];
        assert!(refusals.iter().all(|refusal| refusal.retry_after == Some(1)));
        assert_eq!(Refusal::expired("7").status()["reason"], "Expired");
        assert_eq!(Refusal::expired("7").status()["code"], 410);
    }
}
