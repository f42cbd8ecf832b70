//! Answers for people.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::Full;

/// A line of plain text.
pub fn text(status: StatusCode, mut line: String) -> Response<Full<Bytes>> {
    line.push('\n');
    let mut response = Response::new(Full::from(line));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
