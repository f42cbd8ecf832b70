//! Networks.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::ip::{Ip, refused};
use super::quoted::quoted;
use super::{Declaration, Scene, no_such_overload};
use crate::cel::value::{Opaque, Value};

pub(super) const FUNCTIONS: &[Declaration] = &[
    Declaration { name: "cidr", single: false, overloads: &[("string_to_cidr", "(string): net.CIDR", cidr)] },
    Declaration { name: "isCIDR", single: false, overloads: &[("is_cidr", "(string): bool", is_cidr)] },
    Declaration {
        name: "containsIP",
        single: false,
        overloads: &[
            ("cidr_contains_ip_string", "net.CIDR.(string): bool", contains_ip),
            ("cidr_contains_ip_ip", "net.CIDR.(net.IP): bool", contains_ip),
        ],
    },
    Declaration {
        name: "containsCIDR",
        single: false,
        overloads: &[
            ("cidr_contains_cidr_string", "net.CIDR.(string): bool", contains_cidr),
            ("cidr_contains_cidr", "net.CIDR.(net.CIDR): bool", contains_cidr),
        ],
    },
    Declaration {
        name: "ip",
        single: false,
        overloads: &[("cidr_ip", "net.CIDR.(): net.IP", |_, arguments| {
            with(arguments, |cidr| Value::opaque(Opaque::Ip(Ip(cidr.address))))
        })],
    },
    Declaration {
        name: "prefixLength",
        single: false,
        overloads: &[("cidr_prefix_length", "net.CIDR.(): int", |_, arguments| {
            with(arguments, |cidr| Value::Int(i64::from(cidr.length)))
        })],
    },
    Declaration {
        name: "masked",
        single: false,
        overloads: &[("cidr_masked", "net.CIDR.(): net.CIDR", |_, arguments| {
            with(arguments, |cidr| Value::opaque(Opaque::Cidr(cidr.masked())))
        })],
    },
    Declaration {
        name: "string",
        single: false,
        overloads: &[("cidr_to_string", "(net.CIDR): string", |_, arguments| {
            with(arguments, |cidr| Value::text(cidr.to_string()))
        })],
    },
];

/// A network as written: the address may have bits beyond the mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cidr {
    address: IpAddr,
    length: u8,
}

impl Cidr {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            let shown = quoted(text);
            format!(
                "network address parse error during conversion from string: netip.ParsePrefix({shown}): {why}"
            )
        };
        let (address, length) = text.rsplit_once('/').ok_or_else(|| wrong("no '/'"))?;
        let address: IpAddr = address.parse().map_err(|_| match refused(address) {
            Some(why) => wrong(&why),
            None => wrong("IPv6 zones cannot be present in a prefix"),
        })?;
        // No sign, no leading zero.
        let plain = length.bytes().all(|byte| byte.is_ascii_digit())
            && (length.len() == 1 || !length.starts_with('0'));
        let number: Option<u64> = length.parse().ok().filter(|_| plain);
        let number = number.ok_or_else(|| wrong(&format!("bad bits after slash: {}", quoted(length))))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = u8::try_from(number).ok().filter(|length| *length <= most);
        let length = length.ok_or_else(|| wrong("prefix length out of range"))?;
        match address {
            IpAddr::V6(six) if six.to_ipv4_mapped().is_some() => {
                Err(format!("IPv4-mapped IPv6 address {} is not allowed", quoted(text)))
            }
            address => Ok(Self { address, length }),
        }
    }

    /// The bytes that the mask reaches into.
    pub(crate) fn bytes(self) -> u64 {
        u64::from(self.length).div_ceil(8)
    }

    fn masked(self) -> Self {
        let address = match self.address {
            IpAddr::V4(four) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.length)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(four.to_bits() & mask))
            }
            IpAddr::V6(six) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.length)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(six.to_bits() & mask))
            }
        };
        Self { address, length: self.length }
    }

    fn holds(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && Self { address, length: self.length }.masked().address == self.masked().address
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.length)
    }
}

fn of(value: &Value<'_>) -> Option<Cidr> {
    match value {
        Value::Opaque(value) => match &*value.0 {
            Opaque::Cidr(cidr) => Some(*cidr),
            _ => None,
        },
        _ => None,
    }
}

fn with<'a>(arguments: &[Value<'a>], then: impl FnOnce(Cidr) -> Value<'a>) -> Value<'a> {
    match arguments {
        [value] => of(value).map_or_else(no_such_overload, then),
        _ => no_such_overload(),
    }
}

/// The network, or why it is none, which Kubernetes says twice.
fn read(text: &str) -> Result<Cidr, String> {
    Cidr::parse(text)
        .map_err(|message| format!("network address parse error during conversion from string: {message}"))
}

fn cidr<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::String(text)] => {
            read(text).map_or_else(Value::error, |cidr| Value::opaque(Opaque::Cidr(cidr)))
        }
        _ => no_such_overload(),
    }
}

fn is_cidr<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::String(text)] => Value::Bool(Cidr::parse(text).is_ok()),
        _ => no_such_overload(),
    }
}

fn contains_ip<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [network, other] = arguments else { return no_such_overload() };
    let Some(network) = of(network) else { return no_such_overload() };
    match other {
        // What is wrong with it is not told, since Kubernetes looks at the network instead.
        Value::String(text) => {
            Ip::parse(text).map_or_else(|_| no_such_overload(), |ip| Value::Bool(network.holds(ip.0)))
        }
        other => super::ip::with(std::slice::from_ref(other), |ip| Value::Bool(network.holds(ip.0))),
    }
}

fn contains_cidr<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [network, other] = arguments else { return no_such_overload() };
    let Some(network) = of(network) else { return no_such_overload() };
    let other = match other {
        Value::String(text) => match read(text) {
            Ok(cidr) => cidr,
            Err(message) => return Value::error(message),
        },
        other => match of(other) {
            Some(cidr) => cidr,
            None => return no_such_overload(),
        },
    };
    Value::Bool(network.length <= other.length && network.holds(other.address))
}
