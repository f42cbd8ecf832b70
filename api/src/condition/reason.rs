//! The reasons a condition may carry, each with when it appears, and which of them mean failure.

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $class:ident;)*) => {
        $($(#[$doc])* pub const $name: &str = $text;)*

        /// Every reason with its class.
        pub const ALL: &[(&str, Class)] = &[$(($name, Class::$class)),*];
    };
}

/// What a reason says about a condition that is not `True`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Work or waiting that ends by itself.
    Progress,
    /// It stays like this until someone acts or the world changes.
    Failure,
}

reasons! {
    /// The object is new and nothing has been done yet.
    PENDING = "Pending", Progress;
    /// The thing is being created.
    CREATING = "Creating", Progress;
    /// The thing has been created.
    CREATED = "Created", Progress;
    /// The thing runs.
    RUNNING = "Running", Progress;
    /// An address has been asked for and not yet been given.
    WAITING_FOR_IP = "WaitingForIP", Progress;
    /// It failed in a way no other reason describes.
    FAILED = "Failed", Failure;
    /// The thing is being removed.
    DELETING = "Deleting", Progress;
    /// The thing is gone.
    DELETED = "Deleted", Progress;
    /// The infrastructure provider answered with an error.
    PROVIDER_ERROR = "ProviderError", Failure;
    /// A configuration this object depends on is wrong.
    INVALID_CONFIGURATION = "InvalidConfiguration", Failure;
    /// All is as it should be.
    READY = "Ready", Progress;
    /// Something this one builds on is not there yet.
    WAITING_FOR_DEPENDENCIES = "WaitingForDependencies", Progress;
    /// Work goes on.
    RECONCILING = "Reconciling", Progress;
    /// The object's own spec is not acceptable.
    VALIDATION_FAILED = "ValidationFailed", Failure;
    /// The team or provider limit does not allow it.
    QUOTA_EXCEEDED = "QuotaExceeded", Failure;
    /// The limit of the team's environment does not allow it.
    ENV_QUOTA_EXCEEDED = "EnvQuotaExceeded", Failure;
    /// The creator already has as many clusters as one member may have.
    PER_MEMBER_CAP_EXCEEDED = "PerMemberCapExceeded", Failure;
    /// No pool has enough free addresses.
    POOL_EXHAUSTED = "PoolExhausted", Failure;
    /// Addresses could not be allocated, although the pool has some.
    ALLOCATION_FAILED = "AllocationFailed", Failure;
    /// The ProviderConfig belongs to another team.
    PROVIDER_ACCESS_DENIED = "ProviderAccessDenied", Failure;
    /// Addresses are being allocated.
    NETWORK_NOT_READY = "NetworkNotReady", Progress;
    /// The provider refuses the credentials, or they lack a key.
    CREDENTIALS_INVALID = "CredentialsInvalid", Failure;
    /// The provider's network answers.
    NETWORK_REACHABLE = "NetworkReachable", Progress;
    /// A pool has free addresses.
    POOL_AVAILABLE = "PoolAvailable", Progress;
    /// The image factory builds the machine image.
    IMAGE_BUILDING = "ImageBuilding", Progress;
    /// The machine image is on its way from the factory.
    IMAGE_DOWNLOADING = "ImageDownloading", Progress;
    /// The machine image is on its way to the provider.
    IMAGE_UPLOADING = "ImageUploading", Progress;
    /// The machine image is at the provider.
    IMAGE_READY = "ImageReady", Progress;
    /// The machine image could not be brought to the provider.
    IMAGE_SYNC_FAILED = "ImageSyncFailed", Failure;

    /// ButlerConfig, or something it points to, cannot be used.
    CONFIG_ERROR = "ConfigError", Failure;
    /// The ButlerConfig is in force.
    CONFIG_VALID = "ConfigValid", Progress;
    /// The object must have another name; ButlerConfig is always called `butler`.
    INVALID_NAME = "InvalidName", Failure;
    /// The tenant namespace cannot be made or belongs to someone else.
    NAMESPACE_ERROR = "NamespaceError", Failure;
    /// A namespace could not be made or changed.
    NAMESPACE_RECONCILE_FAILED = "NamespaceReconcileFailed", Failure;
    /// Roles or role bindings could not be made or changed.
    RBAC_RECONCILE_FAILED = "RBACReconcileFailed", Failure;
    /// The default namespace could not be made.
    CREATE_FAILED = "CreateFailed", Failure;
    /// A Cluster API or Steward object was refused.
    CAPI_RESOURCE_ERROR = "CAPIResourceError", Failure;
    /// The ProviderConfig named in the spec does not exist.
    PROVIDER_CONFIG_NOT_FOUND = "ProviderConfigNotFound", Failure;
    /// The cluster's infrastructure is being made.
    INFRASTRUCTURE_PROVISIONING = "InfrastructureProvisioning", Progress;
    /// The cluster's infrastructure is there.
    INFRASTRUCTURE_READY = "InfrastructureReady", Progress;
    /// The control plane answers.
    CONTROL_PLANE_READY = "ControlPlaneReady", Progress;
    /// Workers are being made or replaced.
    WORKERS_PROVISIONING = "WorkersProvisioning", Progress;
    /// All workers have joined.
    WORKERS_READY = "WorkersReady", Progress;
    /// Addons are being installed or upgraded.
    ADDONS_INSTALLING = "AddonsInstalling", Progress;
    /// All addons are installed.
    ADDONS_INSTALLED = "AddonsInstalled", Progress;
    /// An addon could not be installed.
    ADDON_INSTALL_FAILED = "AddonInstallFailed", Failure;
    /// The network plugin could not be installed, so nothing else can be.
    CNI_INSTALL_FAILED = "CNIInstallFailed", Failure;
    /// Deletion waits for something that is still in use.
    DELETION_BLOCKED = "DeletionBlocked", Progress;
    /// Usage is within all limits.
    WITHIN_QUOTA = "WithinQuota", Progress;
    /// This object does not need it.
    NOT_REQUIRED = "NotRequired", Progress;
}

/// The class of a reason. One that is not ours counts as progress: nothing is called failed on the strength of a word
/// we do not know.
pub fn class(reason: &str) -> Class {
    ALL.iter().find(|(known, _)| *known == reason).map_or(Class::Progress, |(_, class)| *class)
}

/// The constant with this text; a reason that is not ours becomes [`RECONCILING`].
pub fn known(reason: &str) -> &'static str {
    ALL.iter().find(|(known, _)| *known == reason).map_or(RECONCILING, |(known, _)| known)
}
