//! Addresses.

mod refused;

use std::net::IpAddr;

pub(super) use self::refused::refused;
use super::quoted::quoted;
use super::{Declaration, Scene, no_such_overload};
use crate::cel::value::{Opaque, Value};

pub(super) const FUNCTIONS: &[Declaration] = &[
    Declaration { name: "ip", single: false, overloads: &[("string_to_ip", "(string): net.IP", ip)] },
    Declaration { name: "isIP", single: false, overloads: &[("is_ip", "(string): bool", is_ip)] },
    Declaration {
        name: "ip.isCanonical",
        single: false,
        overloads: &[("ip_is_canonical", "(string): bool", is_canonical)],
    },
    Declaration {
        name: "family",
        single: false,
        overloads: &[("ip_family", "net.IP.(): int", |_, arguments| {
            with(arguments, |ip| Value::Int(if ip.0.is_ipv4() { 4 } else { 6 }))
        })],
    },
    Declaration {
        name: "isUnspecified",
        single: false,
        overloads: &[("ip_is_unspecified", "net.IP.(): bool", |_, arguments| {
            with(arguments, |ip| Value::Bool(ip.0.is_unspecified()))
        })],
    },
    Declaration {
        name: "isLoopback",
        single: false,
        overloads: &[("ip_is_loopback", "net.IP.(): bool", |_, arguments| {
            with(arguments, |ip| Value::Bool(ip.0.is_loopback()))
        })],
    },
    Declaration {
        name: "isLinkLocalMulticast",
        single: false,
        overloads: &[("ip_is_link_local_multicast", "net.IP.(): bool", |_, arguments| {
            with(arguments, |ip| Value::Bool(ip.is_link_local_multicast()))
        })],
    },
    Declaration {
        name: "isLinkLocalUnicast",
        single: false,
        overloads: &[("ip_is_link_local_unicast", "net.IP.(): bool", |_, arguments| {
            with(arguments, |ip| Value::Bool(ip.is_link_local_unicast()))
        })],
    },
    Declaration {
        name: "isGlobalUnicast",
        single: false,
        overloads: &[("ip_is_global_unicast", "net.IP.(): bool", |_, arguments| {
            with(arguments, |ip| Value::Bool(ip.is_global_unicast()))
        })],
    },
    Declaration {
        name: "string",
        single: false,
        overloads: &[("ip_to_string", "(net.IP): string", |_, arguments| {
            with(arguments, |ip| Value::text(ip.0.to_string()))
        })],
    },
];

/// An address without zone that is not of the other family in disguise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ip(pub(crate) IpAddr);

impl Ip {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let address: IpAddr = text.parse().map_err(|_| {
            let shown = quoted(text);
            match refused(text) {
                Some(why) => format!("IP Address {shown} parse error during conversion from string: {why}"),
                None => format!("IP address {shown} with zone value is not allowed"),
            }
        })?;
        match address {
            IpAddr::V6(six) if six.to_ipv4_mapped().is_some() => {
                Err(format!("IPv4-mapped IPv6 address {} is not allowed", quoted(text)))
            }
            address => Ok(Self(address)),
        }
    }

    pub(crate) fn bytes(self) -> u64 {
        if self.0.is_ipv4() { 4 } else { 16 }
    }

    fn is_link_local_multicast(self) -> bool {
        match self.0 {
            IpAddr::V4(four) => matches!(four.octets(), [224, 0, 0, _]),
            IpAddr::V6(six) => six.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
        }
    }

    fn is_link_local_unicast(self) -> bool {
        match self.0 {
            IpAddr::V4(four) => four.is_link_local(),
            IpAddr::V6(six) => six.is_unicast_link_local(),
        }
    }

    fn is_global_unicast(self) -> bool {
        let broadcast = matches!(self.0, IpAddr::V4(four) if four.is_broadcast());
        !(broadcast
            || self.0.is_unspecified()
            || self.0.is_loopback()
            || self.0.is_multicast()
            || self.is_link_local_unicast())
    }
}

pub(super) fn with<'a>(arguments: &[Value<'a>], then: impl FnOnce(Ip) -> Value<'a>) -> Value<'a> {
    match arguments {
        [Value::Opaque(value)] => match &*value.0 {
            Opaque::Ip(ip) => then(*ip),
            _ => no_such_overload(),
        },
        _ => no_such_overload(),
    }
}

fn ip<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::String(text)] => {
            Ip::parse(text).map_or_else(Value::error, |ip| Value::opaque(Opaque::Ip(ip)))
        }
        _ => no_such_overload(),
    }
}

fn is_ip<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::String(text)] => Value::Bool(Ip::parse(text).is_ok()),
        _ => no_such_overload(),
    }
}

fn is_canonical<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::String(text)] => {
            Ip::parse(text).map_or_else(Value::error, |ip| Value::Bool(ip.0.to_string() == **text))
        }
        _ => no_such_overload(),
    }
}
