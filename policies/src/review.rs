//! What comes in: one AdmissionReview, parsed once.
//!
//! The envelope is borrowed from the body. The objects in it are read once, straight into the types of the API. Whatever
//! goes wrong, the answer carries the request's uid if the body had one that could be read.
//!
//! In order: `quick` walks (`scan`) over the body of an ordinary review and notes where things are (`spans`), `envelope`
//! reads what is not ordinary, and `object` reads the objects. `unreadable` says what is wrong with one that cannot be read.

mod envelope;
mod object;
mod quick;
pub(crate) mod scan;
pub(crate) mod spans;
mod unreadable;

use std::borrow::Cow;

use butler_api::{
    AddonDefinition, ButlerConfig, ClusterCreationPolicy, NetworkPool, ProviderConfig, Team, TenantAddon,
    TenantCluster,
};

pub use self::envelope::{Operation, ReviewError};
use self::envelope::{Request, read_request};
use self::object::{Decoded, decode_change, name_in, replicas_in};
use self::spans::Object;

/// A request for admission.
#[derive(Debug)]
pub struct Review<'a> {
    /// The uid of the request, which the answer repeats.
    pub uid: Cow<'a, str>,
    /// The kind of the object.
    pub kind: Kind,
    /// What is done to it.
    pub operation: Operation,
    /// The part of the object that is changed.
    pub subresource: Subresource,
    /// The namespace, empty for objects that are in none.
    pub namespace: Cow<'a, str>,
    /// The name, empty while the API server has not made one up yet.
    pub name: Cow<'a, str>,
    /// Who asks.
    pub caller: Caller<'a>,
    /// Whether nothing will be stored whatever the answer is.
    pub dry_run: bool,
    /// The change itself.
    pub subject: Subject,
    /// The new object as it was sent, for the patch and for policies.
    pub(crate) object: Option<Object<'a>>,
    /// The object before, and all of the request, as they were sent, for policies.
    pub(crate) old_object: Option<&'a str>,
    /// The parts of these that whoever reads one jumps over: the field managers of the new object and of the old one.
    pub(crate) managed_fields: [Option<&'a str>; 2],
    pub(crate) request: &'a str,
    /// The name and the part of the object as the request has them.
    pub(crate) request_name: Cow<'a, str>,
    pub(crate) request_part: Cow<'a, str>,
}

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller<'a> {
    /// The user name; for people it is their e-mail address.
    pub name: Cow<'a, str>,
    /// The groups.
    pub groups: Vec<Cow<'a, str>>,
}

/// What happens to an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Change<T> {
    /// It is made.
    Create(T),
    /// It changes.
    Update {
        /// As it was.
        old: T,
        /// As it is to be.
        new: T,
    },
    /// It goes.
    Delete(T),
}

/// The kinds that are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the kind of its name")]
pub enum Kind {
    TenantCluster,
    TenantAddon,
    Team,
    ButlerConfig,
    ProviderConfig,
    NetworkPool,
    AddonDefinition,
    ClusterCreationPolicy,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::TenantCluster,
        Self::TenantAddon,
        Self::Team,
        Self::ButlerConfig,
        Self::ProviderConfig,
        Self::NetworkPool,
        Self::AddonDefinition,
        Self::ClusterCreationPolicy,
    ];

    /// The kind as in `kind:`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TenantCluster => "TenantCluster",
            Self::TenantAddon => "TenantAddon",
            Self::Team => "Team",
            Self::ButlerConfig => "ButlerConfig",
            Self::ProviderConfig => "ProviderConfig",
            Self::NetworkPool => "NetworkPool",
            Self::AddonDefinition => "AddonDefinition",
            Self::ClusterCreationPolicy => "ClusterCreationPolicy",
        }
    }

    /// The kind's resource, as in a URL.
    pub fn resource(self) -> &'static str {
        match self {
            Self::TenantCluster => "tenantclusters",
            Self::TenantAddon => "tenantaddons",
            Self::Team => "teams",
            Self::ButlerConfig => "butlerconfigs",
            Self::ProviderConfig => "providerconfigs",
            Self::NetworkPool => "networkpools",
            Self::AddonDefinition => "addondefinitions",
            Self::ClusterCreationPolicy => "clustercreationpolicies",
        }
    }

    fn of_resource(resource: &str) -> Option<Self> {
        Some(match resource {
            "tenantclusters" => Self::TenantCluster,
            "tenantaddons" => Self::TenantAddon,
            "teams" => Self::Team,
            "butlerconfigs" => Self::ButlerConfig,
            "providerconfigs" => Self::ProviderConfig,
            "networkpools" => Self::NetworkPool,
            "addondefinitions" => Self::AddonDefinition,
            "clustercreationpolicies" => Self::ClusterCreationPolicy,
            _ => return None,
        })
    }
}

/// The part of an object that is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subresource {
    /// The object itself.
    None,
    /// Its number of workers, as `kubectl scale` and autoscalers change it.
    Scale,
    /// Anything else, such as its status: never judged.
    Other,
}

/// The change, by kind.
#[derive(Debug)]
#[expect(missing_docs, reason = "each is a change of the kind of its name")]
pub enum Subject {
    TenantCluster(Box<Change<TenantCluster>>),
    TenantAddon(Box<Change<TenantAddon>>),
    Team(Box<Change<Team>>),
    ButlerConfig(Box<Change<ButlerConfig>>),
    ProviderConfig(Box<Change<ProviderConfig>>),
    NetworkPool(Box<Change<NetworkPool>>),
    AddonDefinition(Box<Change<AddonDefinition>>),
    ClusterCreationPolicy(Box<Change<ClusterCreationPolicy>>),
    /// A TenantCluster is to have that many workers.
    Scale {
        /// How many.
        replicas: i32,
    },
    /// Nothing that could be judged: the part that is changed is Butler's own, the object is on its way out, or it
    /// cannot be read and the change leaves its spec alone.
    Untouched,
    /// An object goes that cannot be read. What protects it from deletion looks at its name only.
    UnreadableDelete,
}

impl<'a> Review<'a> {
    /// Reads the body of an admission request.
    pub fn parse(body: &'a [u8]) -> Result<Self, ReviewError> {
        let text =
            std::str::from_utf8(body).map_err(|_| ReviewError::malformed("the body is not UTF-8 text"))?;
        let request = read_request(text)?;
        let uid = request.uid.clone();
        Self::from_request(request).map_err(|error| error.with_uid(uid.into_owned()))
    }

    fn from_request(mut request: Request<'a>) -> Result<Self, ReviewError> {
        let resource = &request.resource;
        let kind = (resource.group == butler_api::GROUP && resource.version == butler_api::VERSION)
            .then(|| Kind::of_resource(&resource.resource))
            .flatten();
        let Some(kind) = kind else {
            return Err(ReviewError::malformed(format!(
                "`{}` of `{}/{}` is nothing that is judged here",
                resource.resource, resource.group, resource.version
            )));
        };
        let subresource = match request.sub_resource.as_deref() {
            None | Some("") => Subresource::None,
            Some("scale") if kind == Kind::TenantCluster => Subresource::Scale,
            Some(_) => Subresource::Other,
        };
        let name = match request.name.is_empty() {
            true => Cow::Owned(name_in(request.object).unwrap_or_default()),
            false => request.name.clone(),
        };
        let subject = match subresource {
            Subresource::Other => Subject::Untouched,
            Subresource::Scale => match replicas_in(request.object)? {
                Some(replicas) => Subject::Scale { replicas },
                None => Subject::Untouched,
            },
            Subresource::None => read_subject(kind, &mut request)?,
        };
        Ok(Self {
            uid: request.uid,
            kind,
            operation: request.operation,
            subresource,
            namespace: request.namespace,
            name,
            caller: Caller { name: request.user_info.username, groups: request.user_info.groups },
            dry_run: request.dry_run.unwrap_or(false),
            subject,
            object: request.object,
            old_object: request.old_object.map(|object| object.text),
            managed_fields: [request.object, request.old_object]
                .map(|object| object?.spans?.metadata.managed_fields),
            request: request.text,
            request_name: request.name,
            request_part: request.sub_resource.unwrap_or_default(),
        })
    }
}

fn read_subject(kind: Kind, request: &mut Request<'_>) -> Result<Subject, ReviewError> {
    macro_rules! read {
        ($kind:ident) => {
            match decode_change::<$kind>(request)? {
                Decoded::Change(change) => Subject::$kind(change),
                Decoded::Untouched => Subject::Untouched,
                Decoded::UnreadableDelete => Subject::UnreadableDelete,
            }
        };
    }
    Ok(match kind {
        Kind::TenantCluster => read!(TenantCluster),
        Kind::TenantAddon => read!(TenantAddon),
        Kind::Team => read!(Team),
        Kind::ButlerConfig => read!(ButlerConfig),
        Kind::ProviderConfig => read!(ProviderConfig),
        Kind::NetworkPool => read!(NetworkPool),
        Kind::AddonDefinition => read!(AddonDefinition),
        Kind::ClusterCreationPolicy => read!(ClusterCreationPolicy),
    })
}

#[cfg(test)]
mod tests;
