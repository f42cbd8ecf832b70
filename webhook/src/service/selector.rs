//! Which objects of a collection are wanted: label and field selectors, as Kubernetes writes them.

use std::collections::BTreeMap;

use super::status::Refusal;

/// A field selector and a label selector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selector {
    fields: Vec<(String, bool, String)>,
    labels: Vec<Requirement>,
}

/// What an object is selected by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selected<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) labels: &'a BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    Has(String),
    HasNot(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Above(String, i64),
    Below(String, i64),
}

impl Selector {
    /// Reads both. Without one of them it selects everything.
    pub(super) fn read(fields: Option<&str>, labels: Option<&str>) -> Result<Self, Refusal> {
        let fields = fields.unwrap_or_default().split(',').map(str::trim).filter(|term| !term.is_empty());
        let labels = split(labels.unwrap_or_default());
        Ok(Self {
            fields: fields.map(field).collect::<Result<_, _>>()?,
            labels: labels.into_iter().map(requirement).collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.labels.is_empty()
    }

    pub(super) fn selects(&self, object: Selected<'_>) -> bool {
        let field = |(field, is_equal, value): &(String, bool, String)| {
            let own = if field == "metadata.name" { object.name } else { object.namespace };
            (own == value) == *is_equal
        };
        self.fields.iter().all(field) && self.labels.iter().all(|label| label.holds(object.labels))
    }
}

impl Requirement {
    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        let number = |key: &String| labels.get(key).and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::Has(key) => labels.contains_key(key),
            Self::HasNot(key) => !labels.contains_key(key),
            Self::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
            // An object without the label is among them.
            Self::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
            Self::Above(key, bound) => number(key).is_some_and(|value| value > *bound),
            Self::Below(key, bound) => number(key).is_some_and(|value| value < *bound),
        }
    }
}

fn field(term: &str) -> Result<(String, bool, String), Refusal> {
    let parts = (term.split_once("!=").map(|(field, value)| (field, false, value)))
        .or_else(|| term.split_once("==").map(|(field, value)| (field, true, value)))
        .or_else(|| term.split_once('=').map(|(field, value)| (field, true, value)));
    let Some((field, is_equal, value)) = parts else {
        let message = format!("invalid field selector {term:?}: write `field=value` or `field!=value`");
        return Err(Refusal::bad_request(message));
    };
    if !matches!(field, "metadata.name" | "metadata.namespace") {
        return Err(Refusal::bad_request(format!("field label not supported: {field}")));
    }
    Ok((field.to_owned(), is_equal, value.to_owned()))
}

/// At the commas that are not between parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let terms = text.split(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    });
    terms.map(str::trim).filter(|term| !term.is_empty()).collect()
}

fn requirement(term: &str) -> Result<Requirement, Refusal> {
    read(term).ok_or_else(|| {
        let message = format!("unable to parse requirement: {term:?} is no label selector");
        Refusal::bad_request(message)
    })
}

fn read(term: &str) -> Option<Requirement> {
    if let Some(key) = term.strip_prefix('!') {
        return Some(Requirement::HasNot(key_of(key)?));
    }
    let one = |key: &str, value: &str| Some((key_of(key)?, vec![value_of(value)?]));
    if let Some((key, value)) = term.split_once("!=") {
        return one(key, value).map(|(key, values)| Requirement::NotIn(key, values));
    }
    if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        return one(key, value).map(|(key, values)| Requirement::In(key, values));
    }
    for (sign, is_above) in [('>', true), ('<', false)] {
        if let Some((key, value)) = term.split_once(sign) {
            let (key, bound) = (key_of(key)?, value.trim().parse().ok()?);
            return Some(if is_above {
                Requirement::Above(key, bound)
            } else {
                Requirement::Below(key, bound)
            });
        }
    }
    let Some((key, rest)) = term.split_once(char::is_whitespace) else {
        return key_of(term).map(Requirement::Has);
    };
    let (key, rest) = (key_of(key)?, rest.trim());
    let (is_in, rest) = match rest.strip_prefix("notin") {
        Some(rest) => (false, rest),
        None => (true, rest.strip_prefix("in")?),
    };
    let values = rest.trim().strip_prefix('(')?.strip_suffix(')')?;
    let values: Vec<String> = values.split(',').map(value_of).collect::<Option<_>>()?;
    Some(if is_in { Requirement::In(key, values) } else { Requirement::NotIn(key, values) })
}

/// A label's key, with or without a prefix.
fn key_of(text: &str) -> Option<String> {
    let text = text.trim();
    let (prefix, name) = text.rsplit_once('/').unwrap_or(("", text));
    let is_prefix = prefix.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
    (is_prefix && !name.is_empty() && is_label(name)).then(|| text.to_owned())
}

fn value_of(text: &str) -> Option<String> {
    let text = text.trim();
    is_label(text).then(|| text.to_owned())
}

fn is_label(text: &str) -> bool {
    let is_edge = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    text.len() <= 63
        && is_edge(bytes.first())
        && is_edge(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(fields: &str, labels: &str) -> Option<bool> {
        let own = BTreeMap::from([("type".to_owned(), "Rule".to_owned()), ("n".to_owned(), "5".to_owned())]);
        let selector = Selector::read(Some(fields), Some(labels)).ok()?;
        Some(selector.selects(Selected { namespace: "", name: "rule.team", labels: &own }))
    }

    #[test]
    fn labels_are_selected_as_kubernetes_selects_them() {
        let cases = [
            ("", Some(true)),
            ("type=Rule", Some(true)),
            ("type==Rule", Some(true)),
            ("type!=Rule", Some(false)),
            ("type", Some(true)),
            ("!type", Some(false)),
            ("!other", Some(true)),
            ("other!=x", Some(true)),
            ("type in (Rule, Policy)", Some(true)),
            ("type in (Policy),n", Some(false)),
            ("type notin (Policy),n=5", Some(true)),
            ("other notin (x)", Some(true)),
            ("n>4,n<6", Some(true)),
            ("n>5", Some(false)),
            ("example.com/type=Rule", Some(false)),
            ("type in Rule", None),
            ("type like Rule", None),
            ("type=a b", None),
            ("=x", None),
            ("n>x", None),
        ];
        for (labels, expected) in cases {
            assert_eq!(selects("", labels), expected, "{labels}");
        }
    }

    #[test]
    fn fields_are_names_and_namespaces_and_nothing_else() {
        let cases = [
            ("metadata.name=rule.team", Some(true)),
            ("metadata.name==rule.team", Some(true)),
            ("metadata.name!=rule.team", Some(false)),
            ("metadata.namespace=,metadata.name=rule.team", Some(true)),
            ("metadata.namespace=team-a", Some(false)),
            ("spec.type=Rule", None),
            ("metadata.name", None),
        ];
        for (fields, expected) in cases {
            assert_eq!(selects(fields, ""), expected, "{fields}");
        }
        let refused = Selector::read(Some("spec.type=Rule"), None).unwrap_err();
        assert_eq!(refused.status()["message"], "field label not supported: spec.type");
    }
}
