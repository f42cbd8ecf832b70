//! Named formats of texts that Kubernetes itself checks.

mod checks;

use super::{Declaration, Scene, no_such_overload};
use crate::cel::value::{List, Opaque, Value};

macro_rules! constant {
    ($name:literal, $index:literal) => {
        Declaration {
            name: concat!("format.", $name),
            single: false,
            overloads: &[(concat!("format.", $name), "(): kubernetes.NamedFormat", |_, _| of($index))],
        }
    };
}

pub(super) const FUNCTIONS: &[Declaration] = &[
    constant!("dns1123Label", 0),
    constant!("dns1123Subdomain", 1),
    constant!("dns1035Label", 2),
    constant!("qualifiedName", 3),
    constant!("dns1123LabelPrefix", 4),
    constant!("dns1123SubdomainPrefix", 5),
    constant!("dns1035LabelPrefix", 6),
    constant!("labelValue", 7),
    constant!("uri", 8),
    constant!("uuid", 9),
    constant!("byte", 10),
    constant!("date", 11),
    constant!("datetime", 12),
    Declaration {
        name: "format.named",
        single: false,
        overloads: &[("format-named", "(string): optional(kubernetes.NamedFormat)", named)],
    },
    Declaration {
        name: "validate",
        single: false,
        overloads: &[(
            "format-validate",
            "kubernetes.NamedFormat.(string): optional(list(string))",
            validate,
        )],
    },
];

/// A named format.
#[derive(Debug)]
pub(crate) struct Format {
    /// The name by which it is asked for.
    key: &'static str,
    /// The name it has itself.
    pub(crate) name: &'static str,
    check: fn(&str) -> Vec<String>,
    /// The length of the pattern that checking is charged for.
    pub(crate) pattern_size: u64,
}

static FORMATS: [Format; 13] = [
    Format { key: "dns1123Label", name: "DNS1123Label", check: checks::dns_label, pattern_size: 30 },
    Format {
        key: "dns1123Subdomain",
        name: "DNS1123Subdomain",
        check: checks::dns_subdomain,
        pattern_size: 60,
    },
    Format { key: "dns1035Label", name: "DNS1035Label", check: checks::dns_1035_label, pattern_size: 30 },
    Format { key: "qualifiedName", name: "QualifiedName", check: checks::qualified_name, pattern_size: 60 },
    Format {
        key: "dns1123LabelPrefix",
        name: "DNS1123LabelPrefix",
        check: |text| checks::dns_label(&checks::prefix(text)),
        pattern_size: 30,
    },
    Format {
        key: "dns1123SubdomainPrefix",
        name: "DNS1123SubdomainPrefix",
        check: |text| checks::dns_subdomain(&checks::prefix(text)),
        pattern_size: 60,
    },
    Format {
        key: "dns1035LabelPrefix",
        name: "DNS1035LabelPrefix",
        check: |text| checks::dns_1035_label(&checks::prefix(text)),
        pattern_size: 30,
    },
    Format { key: "labelValue", name: "LabelValue", check: checks::label_value, pattern_size: 40 },
    Format { key: "uri", name: "URI", check: checks::uri, pattern_size: 1_103 },
    Format { key: "uuid", name: "uuid", check: checks::uuid, pattern_size: 71 },
    Format { key: "byte", name: "byte", check: checks::base64, pattern_size: 84 },
    Format { key: "date", name: "date", check: checks::date, pattern_size: 72 },
    Format { key: "datetime", name: "datetime", check: checks::datetime, pattern_size: 72 },
];

fn of<'a>(index: usize) -> Value<'a> {
    FORMATS.get(index).map_or_else(no_such_overload, |format| Value::opaque(Opaque::Format(format)))
}

fn named<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [Value::String(name)] = arguments else { return no_such_overload() };
    match FORMATS.iter().find(|format| format.key == &**name) {
        Some(format) => Value::some(Value::opaque(Opaque::Format(format))),
        None => Value::Optional(None),
    }
}

/// What is wrong with a text; nothing when it has the format.
fn validate<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [Value::Opaque(format), Value::String(text)] = arguments else { return no_such_overload() };
    let Opaque::Format(format) = &*format.0 else { return no_such_overload() };
    let wrong = (format.check)(text);
    if wrong.is_empty() {
        return Value::Optional(None);
    }
    Value::some(List::made(wrong.into_iter().map(Value::text).collect()))
}
