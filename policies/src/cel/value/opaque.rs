//! Values of Kubernetes' own types.

use crate::cel::functions::cidr::Cidr;
use crate::cel::functions::formats::Format;
use crate::cel::functions::ip::Ip;
use crate::cel::functions::quantity::Quantity;
use crate::cel::functions::semver::Semver;
use crate::cel::functions::urls::Url;

/// A value that only its own functions look into.
#[derive(Clone, Debug)]
pub(crate) enum Opaque {
    Ip(Ip),
    Cidr(Cidr),
    Quantity(Quantity),
    Semver(Semver),
    Url(Box<Url>),
    Format(&'static Format),
}

impl Opaque {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Url(_) => "kubernetes.URL",
            Self::Format(_) => "kubernetes.NamedFormat",
        }
    }

    pub(crate) fn go_name(&self) -> &'static str {
        match self {
            Self::Ip(_) => "cel.IP",
            Self::Cidr(_) => "cel.CIDR",
            Self::Quantity(_) => "cel.Quantity",
            Self::Semver(_) => "cel.Semver",
            Self::Url(_) => "cel.URL",
            Self::Format(_) => "*cel.Format",
        }
    }

    /// What its traversal is charged for.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Ip(ip) => ip.bytes(),
            Self::Cidr(cidr) => cidr.bytes(),
            Self::Quantity(_) | Self::Semver(_) | Self::Url(_) | Self::Format(_) => 1,
        }
    }

    /// Whether two values of one type are the same; nothing for values of two types.
    pub(crate) fn same(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Ip(left), Self::Ip(right)) => Some(left == right),
            (Self::Cidr(left), Self::Cidr(right)) => Some(left == right),
            (Self::Quantity(left), Self::Quantity(right)) if !right.computed => Some(left.cmp(right).is_eq()),
            (Self::Semver(left), Self::Semver(right)) => Some(left.precedence(right).is_eq()),
            (Self::Url(left), Self::Url(right)) => Some(left.text() == right.text()),
            (Self::Format(left), Self::Format(right)) => Some(left.name == right.name),
            _ => None,
        }
    }
}
