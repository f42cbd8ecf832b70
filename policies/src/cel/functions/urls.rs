//! URLs, as Go's `net/url` reads them.

mod parse;

use super::quoted::quoted;
use super::{Declaration, Scene, no_such_overload};
use crate::cel::cost::too_much;
use crate::cel::value::{List, Made, Map, Opaque, Value};

pub(crate) use parse::{Url, is_request_uri};

pub(super) const FUNCTIONS: &[Declaration] = &[
    Declaration {
        name: "url",
        single: false,
        overloads: &[("string_to_url", "(string): kubernetes.URL", url)],
    },
    Declaration {
        name: "isURL",
        single: false,
        overloads: &[("is_url_string", "(string): bool", |_, arguments| match arguments {
            [Value::String(text)] => Value::Bool(is_request_uri(text).is_ok()),
            _ => no_such_overload(),
        })],
    },
    Declaration {
        name: "getScheme",
        single: false,
        overloads: &[("url_get_scheme", "kubernetes.URL.(): string", |_, arguments| {
            with(arguments, |url| Value::text(url.scheme.as_str()))
        })],
    },
    Declaration {
        name: "getHost",
        single: false,
        overloads: &[("url_get_host", "kubernetes.URL.(): string", |_, arguments| {
            with(arguments, |url| Value::text(lossy(&url.host)))
        })],
    },
    Declaration {
        name: "getHostname",
        single: false,
        overloads: &[("url_get_hostname", "kubernetes.URL.(): string", |_, arguments| {
            with(arguments, |url| Value::text(url.host_and_port().0))
        })],
    },
    Declaration {
        name: "getPort",
        single: false,
        overloads: &[("url_get_port", "kubernetes.URL.(): string", |_, arguments| {
            with(arguments, |url| Value::text(url.host_and_port().1))
        })],
    },
    Declaration {
        name: "getEscapedPath",
        single: false,
        overloads: &[("url_get_escaped_path", "kubernetes.URL.(): string", |_, arguments| {
            with(arguments, |url| Value::text(url.escaped_path()))
        })],
    },
    Declaration {
        name: "getQuery",
        single: false,
        overloads: &[("url_get_query", "kubernetes.URL.(): map(string, list(string))", query)],
    },
];

/// Bytes that are no text stand for what cannot be shown.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn with<'a>(arguments: &[Value<'a>], then: impl FnOnce(&Url) -> Value<'a>) -> Value<'a> {
    match arguments {
        [Value::Opaque(value)] => match &*value.0 {
            Opaque::Url(url) => then(url),
            _ => no_such_overload(),
        },
        _ => no_such_overload(),
    }
}

fn url<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [Value::String(text)] = arguments else { return no_such_overload() };
    if !scene.meter.take(text.len().saturating_mul(4)) {
        return too_much();
    }
    let parsed = is_request_uri(text).and_then(|()| Url::parse(text));
    match parsed {
        Ok(url) => Value::opaque(Opaque::Url(Box::new(url))),
        Err(reason) => Value::error(format!(
            "URL parse error during conversion from string: parse {}: {reason}",
            quoted(text)
        )),
    }
}

fn query<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    with(arguments, |url| {
        if !scene.meter.take(url.query.len().saturating_mul(64)) {
            return too_much();
        }
        let mut parameters: Vec<(String, Vec<Value<'a>>)> = Vec::new();
        for (key, value) in url.parameters() {
            let value = Value::text(value);
            match parameters.iter_mut().find(|(known, _)| *known == key) {
                Some((_, values)) => values.push(value),
                None => parameters.push((key, vec![value])),
            }
        }
        let mut made = Made::default();
        for (key, values) in parameters {
            made.insert(Value::text(key), List::made(values));
        }
        Map::made(made)
    })
}
