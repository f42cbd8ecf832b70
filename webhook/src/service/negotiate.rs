//! In which form an answer is given: what the caller's `Accept` prefers of what there is.

use http::HeaderMap;
use http::header::ACCEPT;

use super::status::Refusal;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Yaml,
}

/// What is made of an object before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Nothing: it is sent as it is.
    Whole,
    /// A row of a table, as kubectl prints it.
    Table,
    /// Its metadata alone.
    Metadata,
}

/// One thing that a caller accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Clause<'a> {
    media_type: &'a str,
    /// In thousandths.
    quality: u16,
    /// `as`, `g` and `v`: into what objects are to be converted.
    wanted: (Option<&'a str>, Option<&'a str>, Option<&'a str>),
}

/// The form that objects are answered in.
pub(super) fn objects(headers: &HeaderMap) -> Result<(Format, Shape), Refusal> {
    first(headers, |clause| {
        let shape = match clause.wanted {
            (None, ..) => Shape::Whole,
            (Some("Table"), Some("meta.k8s.io"), Some("v1")) => Shape::Table,
            (
                Some("PartialObjectMetadata" | "PartialObjectMetadataList"),
                Some("meta.k8s.io"),
                Some("v1"),
            ) => Shape::Metadata,
            _ => return None,
        };
        Some((format(clause.media_type)?, shape))
    })
}

/// The form that anything else is answered in.
pub(super) fn plain(headers: &HeaderMap) -> Result<Format, Refusal> {
    first(headers, |clause| clause.wanted.0.is_none().then(|| format(clause.media_type)).flatten())
}

/// Whether discovery is wanted aggregated, in the version of that which there is.
pub(super) fn is_aggregated(headers: &HeaderMap) -> bool {
    let found = first(headers, |clause| match clause.wanted {
        (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2")) => {
            format(clause.media_type).map(|_| true)
        }
        (None, ..) => format(clause.media_type).map(|_| false),
        _ => None,
    });
    found.unwrap_or(false)
}

fn format(media_type: &str) -> Option<Format> {
    Some(match media_type {
        "application/json" | "application/*" | "*/*" => Format::Json,
        "application/yaml" => Format::Yaml,
        _ => return None,
    })
}

/// What the first clause comes to that comes to anything, the most wanted first.
fn first<T>(headers: &HeaderMap, choose: impl Fn(&Clause<'_>) -> Option<T>) -> Result<T, Refusal> {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut clauses: Vec<Clause<'_>> = values.flat_map(|value| value.split(',')).filter_map(clause).collect();
    if clauses.is_empty() {
        // Who says nothing takes anything.
        clauses.extend(clause("*/*"));
    }
    // Stable: of two that are wanted as much, the first counts.
    clauses.sort_by_key(|clause| std::cmp::Reverse(clause.quality));
    clauses.iter().filter(|clause| clause.quality > 0).find_map(choose).ok_or_else(Refusal::not_acceptable)
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let media_type = parts.next().filter(|media_type| !media_type.is_empty())?;
    let mut clause = Clause { media_type, quality: 1000, wanted: (None, None, None) };
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name.trim() {
            "as" => clause.wanted.0 = Some(value.trim()),
            "g" => clause.wanted.1 = Some(value.trim()),
            "v" => clause.wanted.2 = Some(value.trim()),
            "q" => clause.quality = quality(value.trim()),
            _ => {}
        }
    }
    Some(clause)
}

/// `0.8` is 800. What is no number is not wanted.
fn quality(text: &str) -> u16 {
    let (whole, parts) = text.split_once('.').unwrap_or((text, ""));
    let thousandths = format!("{parts:0<3}");
    match (whole, thousandths.get(..3).and_then(|digits| digits.parse::<u16>().ok())) {
        ("0" | "", Some(thousandths)) => thousandths,
        ("1", Some(0)) => 1000,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn accepting(text: &str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT, HeaderValue::from_str(text).unwrap())])
    }

    #[test]
    fn the_most_wanted_form_that_there_is_is_given() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let cases = [
            ("application/json", Some((Format::Json, Shape::Whole))),
            ("*/*", Some((Format::Json, Shape::Whole))),
            ("application/yaml", Some((Format::Yaml, Shape::Whole))),
            (table, Some((Format::Json, Shape::Table))),
            // As kubectl asks.
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
                Some((Format::Json, Shape::Table)),
            ),
            ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", None),
            // As client libraries ask that speak protobuf where they can.
            ("application/vnd.kubernetes.protobuf,application/json", Some((Format::Json, Shape::Whole))),
            ("application/vnd.kubernetes.protobuf", None),
            ("application/json;q=0.5,application/yaml;q=0.9", Some((Format::Yaml, Shape::Whole))),
            ("application/json;q=0", None),
            (
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                Some((Format::Json, Shape::Metadata)),
            ),
            ("text/html", None),
        ];
        for (accept, expected) in cases {
            assert_eq!(objects(&accepting(accept)).ok(), expected, "{accept}");
        }
        assert_eq!(objects(&HeaderMap::new()), Ok((Format::Json, Shape::Whole)));
    }

    #[test]
    fn discovery_is_aggregated_for_who_asks_for_it_in_a_version_that_there_is() {
        let of =
            |version| format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
        let cases = [
            (of("v2"), true),
            (format!("{},application/json", of("v2beta1")), false),
            (format!("{},{}", of("v2"), of("v2beta1")), true),
            ("application/json".to_owned(), false),
        ];
        for (accept, expected) in cases {
            assert_eq!(is_aggregated(&accepting(&accept)), expected, "{accept}");
        }
    }
}
