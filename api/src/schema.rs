//! Pieces of CRD schema that several kinds share.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// The most names of a certificate: it is sent at every connection, and clients refuse large ones.
pub(crate) const MOST_NAMES: u32 = 256;
/// The most servers of one kind, of which programs try a handful.
pub(crate) const MOST_SERVERS: u32 = 64;

/// An http or https address.
pub(crate) const HTTP_URL: &str = "^https?://";
/// A full Kubernetes release, as in `v1.31.4`.
pub(crate) const KUBERNETES_VERSION: &str = r"^v\d+\.\d+\.\d+$";
/// The name of an environment: a valid label value.
pub(crate) const LABEL_VALUE: &str = "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";

/// The longest text of an IP address: an IPv6 address that ends in IPv4 notation. Without a bound the API
/// server assumes megabytes and refuses the rule as too expensive.
pub(crate) const IP_LENGTH: u32 = 45;
/// The longest text of a CIDR: the longest address, a slash and `128`.
pub(crate) const CIDR_LENGTH: u32 = IP_LENGTH + 4;

/// The rule that a text is an IPv4 or IPv6 address. A pattern can only check the shape and lets `999.1.1.1`
/// pass.
pub(crate) fn is_ip() -> Value {
    json!([{"rule": "isIP(self)", "message": "must be an IPv4 or IPv6 address, for example 10.50.1.10"}])
}

/// The rule that a text is an address or nothing: clients written in Go send `""` for what was never set.
pub(crate) fn is_ip_or_empty() -> Value {
    json!([{
        "rule": "self == '' || isIP(self)",
        "message": "must be an IPv4 or IPv6 address, for example 10.50.1.10"
    }])
}

/// The rule that a text is an address range in CIDR notation.
pub(crate) fn is_cidr() -> Value {
    json!([{"rule": "isCIDR(self)", "message": "must be a CIDR, for example 10.50.0.0/22"}])
}

/// An integer of whatever width: fields that Kubernetes declares without a format.
pub(crate) fn plain_integer(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer"})
}

/// The standard conditions of an object, one per type, with the bounds that Kubernetes itself puts on them. Only type and
/// status are required, and a reason may be empty: people write conditions by hand with nothing else, and Butler must be
/// able to write back what it read, where a missing reason has become an empty one.
pub(crate) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "description": "One aspect of the object's state.",
            "type": "object",
            "required": ["type", "status"],
            "properties": {
                "type": {
                    "description": "Aspect that the condition is about, in CamelCase.",
                    "type": "string",
                    "maxLength": 316,
                    "pattern": concat!(
                        r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?",
                        r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
                    )
                },
                "status": {
                    "description": "Whether the condition holds: True, False, or Unknown while that cannot be told.",
                    "type": "string",
                    "enum": ["True", "False", "Unknown"]
                },
                "observedGeneration": {
                    "description": "Generation of the object that the condition was computed for. If it is lower \
                                    than metadata.generation, the condition does not know the latest change yet.",
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0
                },
                "lastTransitionTime": {
                    "description": "When the status last changed from one value to another.",
                    "type": "string",
                    "format": "date-time"
                },
                "reason": {
                    "description": "Why the condition has its status, as one CamelCase word for programs.",
                    "type": "string",
                    "maxLength": 1024,
                    "pattern": "^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?)?$"
                },
                "message": {
                    "description": "Why the condition has its status, as a sentence for people. May be empty.",
                    "type": "string",
                    "maxLength": 32768
                }
            }
        }
    })
}
