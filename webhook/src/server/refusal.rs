//! Every answer that the gate does not give: short plain text that says what is expected.

use std::time::Duration;

use butler_program::text;
use bytes::Bytes;
use http::header::{ALLOW, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use http_body_util::Full;

/// Why a request gets no review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    NoSuchPath,
    NotAPost,
    NotJson,
    BodyTooLarge { limit: usize },
    BodyTooSlow { limit: Duration },
    BodyEndedEarly,
    TooManyRequests { limit: usize },
    TooManyBytes,
    NotAReview(String),
    ReviewTooSlow { limit: Duration },
    ReviewPanicked,
}

impl Refusal {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::NoSuchPath => StatusCode::NOT_FOUND,
            Self::NotAPost => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::BodyTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
            Self::BodyEndedEarly | Self::NotAReview(_) => StatusCode::BAD_REQUEST,
            Self::TooManyRequests { .. } | Self::TooManyBytes => StatusCode::TOO_MANY_REQUESTS,
            Self::ReviewTooSlow { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Self::ReviewPanicked => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Whether the caller does not send as they said, so that waiting for more leads nowhere.
    pub(super) fn is_about_sending(&self) -> bool {
        matches!(self, Self::BodyTooSlow { .. } | Self::BodyEndedEarly)
    }

    fn text(self) -> String {
        match self {
            Self::NoSuchPath => "nothing is served at this path; reviews are sent to the paths of the webhook \
                                 configurations, such as `/validate-butler-butlerlabs-dev-v1alpha1-tenantcluster`"
                .to_owned(),
            Self::NotAPost => "only POST is served at this path, with an AdmissionReview".to_owned(),
            Self::NotJson => {
                "the content type must be `application/json`, and the body an AdmissionReview".to_owned()
            }
            Self::BodyTooLarge { limit } => format!("the body is larger than the {limit} bytes that are read"),
            Self::BodyTooSlow { limit } => format!("the body did not arrive within {limit:?}"),
            Self::BodyEndedEarly => "the body ended before its length".to_owned(),
            Self::TooManyRequests { limit } => {
                format!("{limit} reviews are in progress, which is the most at a time; try again in a second")
            }
            Self::TooManyBytes => {
                "the reviews in progress hold as much memory as they may; try again in a second".to_owned()
            }
            Self::NotAReview(why) => why,
            Self::ReviewTooSlow { limit } => format!("the review took longer than {limit:?} and was given up"),
            Self::ReviewPanicked => {
                "the review failed inside the webhook, which is a defect of it; its log says where".to_owned()
            }
        }
    }

    /// As it is sent. kube-apiserver comes again by itself after the seconds of `Retry-After`, as long as the timeout
    /// of the webhook allows.
    pub(super) fn into_response(self) -> Response<Full<Bytes>> {
        let status = self.status();
        let mut response = text(status, self.text());
        match status {
            StatusCode::METHOD_NOT_ALLOWED => {
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            }
            StatusCode::TOO_MANY_REQUESTS => {
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}
