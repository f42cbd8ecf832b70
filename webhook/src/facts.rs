//! Live facts: watches of what the rules look at, published as immutable snapshots, and one live look at the API server
//! for what a denial rests on.
//!
//! Every kind is listed once and then watched ([`watch`]); what the watches say goes to one writer, which publishes a
//! snapshot per event, and one per list. An object that cannot be read makes its own key unknown and nothing else. A
//! kind of which nothing good was heard for [`Pace::lost_after`] is unknown as a whole, until it is heard of again.
//!
//! Rights that this needs, all of them for the whole cluster unless said otherwise:
//!
//! | API group | Resources | Verbs | What for |
//! |---|---|---|---|
//! | `butler.butlerlabs.dev` | `addondefinitions`, `butlerconfigs`, `clustercreationpolicies`, `ipallocations`, `networkpools`, `providerconfigs`, `teams`, `tenantaddons`, `tenantclusters`, `users` | `get`, `list`, `watch` | watches, live looks |
//! | core | `namespaces` | `get`, `list`, `watch` | whose they are, and `namespaceObject` of policies |
//! | any | the params of loaded policies that are in no file | `get`, `list`, `watch` | what their bindings give them; by Roles of whoever writes the policies. Where a binding names a namespace, a Role in it is enough. Without the right they are unknown. |
//! | core | `secrets` | `get` | their metadata; by RoleBindings in the namespaces that hold credentials of providers (`butler-system` at least), never for the whole cluster. Elsewhere such a Secret is unknown. |
//! | `authorization.k8s.io` | `subjectaccessreviews` | `create` | whether a caller may `administer` `teams` |

mod api_server;
mod credentials;
mod kept;
mod known;
mod listing;
mod metrics;
mod pace;
mod params;
mod secrets;
mod stream;
mod synced;
mod writer;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use butler_api::{
    AddonDefinition, ButlerConfig, ClusterCreationPolicy, IPAllocation, NetworkPool, ProviderConfig, Team,
    TenantAddon, TenantCluster, User,
};
use butler_policies::Presumption;
use butler_policies::facts::{Fact, FactKey, Facts};
use butler_policies::policy::WantedParams;
use butler_policies::review::Caller;
use butler_program::failure;
use futures::future::{BoxFuture, FutureExt, select_all};
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::core::DeserializeGuard;
use tokio::sync::{mpsc, watch as shared};

pub use self::api_server::ApiServer;
use self::known::Known;
pub use self::metrics::Metrics;
pub use self::pace::Pace;
pub use self::synced::Synced;
use self::writer::Writer;

/// The snapshot that reviews are judged on, replaced as a whole.
#[derive(Debug, Default)]
pub struct Snapshots(ArcSwap<Facts>);

impl Snapshots {
    /// Begins with these facts.
    pub fn new(facts: Facts) -> Self {
        Self(ArcSwap::from_pointee(facts))
    }

    /// The newest. A review is judged on one snapshot from its beginning to its end.
    pub fn current(&self) -> Arc<Facts> {
        self.0.load_full()
    }

    /// Makes this the newest snapshot.
    pub fn publish(&self, facts: Facts) {
        self.0.store(Arc::new(facts));
    }
}

/// One live read of one fact.
pub trait Look: Send + Sync + 'static {
    /// What is there now. A read that fails is [`Fact::Unreadable`].
    fn look(&self, key: &FactKey, caller: &Caller<'_>) -> impl Future<Output = Fact> + Send;

    /// Everything there is now of what a yes presumes not to be there, or nothing if it cannot be listed whole.
    fn list(&self, presumption: &Presumption) -> impl Future<Output = Option<Vec<(FactKey, Fact)>>> + Send;
}

/// Keeps the snapshots up to date for as long as the future is polled. It never ends. At once, and until each kind has
/// been listed, there is a snapshot in which every kind is unknown.
pub fn watch(
    client: Client,
    snapshots: Arc<Snapshots>,
    metrics: Metrics,
    pace: Pace,
) -> (Synced, impl Future<Output = Infallible> + Send) {
    let (_, no_params) = shared::channel(BTreeSet::new());
    watch_with_params(client, snapshots, metrics, pace, no_params)
}

/// The same with the params of policies, which may be other ones at any time.
pub fn watch_with_params(
    client: Client,
    snapshots: Arc<Snapshots>,
    metrics: Metrics,
    pace: Pace,
    wanted_params: shared::Receiver<BTreeSet<WantedParams>>,
) -> (Synced, impl Future<Output = Infallible> + Send) {
    let (messages, inbox) = mpsc::channel(writer::WAITING);
    let (missing, synced) = shared::channel(known::KINDS.into());
    let (wanted, secrets_wanted) = shared::channel(credentials::Wanted::new());
    let known = Known::new(Instant::now());
    snapshots.publish(known.facts().clone());
    let writer = Writer { snapshots, metrics: metrics.clone(), missing, wanted, pace };

    macro_rules! follow {
        ($($wire:ty),* $(,)?) => {
            [$(stream::follow::<$wire>(client.clone(), pace, metrics.clone(), messages.clone()).boxed()),*]
        };
    }
    let watches: [BoxFuture<'static, Infallible>; known::KINDS.len()] = follow![
        DeserializeGuard<ButlerConfig>,
        DeserializeGuard<Team>,
        DeserializeGuard<TenantCluster>,
        DeserializeGuard<TenantAddon>,
        DeserializeGuard<AddonDefinition>,
        DeserializeGuard<ProviderConfig>,
        DeserializeGuard<NetworkPool>,
        DeserializeGuard<IPAllocation>,
        DeserializeGuard<ClusterCreationPolicy>,
        DeserializeGuard<User>,
        Namespace,
    ];
    let params =
        params::look_after(client.clone(), pace, metrics.clone(), wanted_params, messages.clone()).boxed();
    let secrets = secrets::look_after(client, pace, metrics, secrets_wanted, messages).boxed();
    let all = watches.into_iter().chain([params, secrets, writer.run(known, inbox).boxed()]);
    (Synced(synced), select_all(all).map(|(never, _, _)| never))
}
