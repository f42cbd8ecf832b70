//! Quotas that are exact: a change that raises usage is admitted only after the team's ledger has taken it up.
//!
//! # The invariant
//!
//! A team's [`QuotaLedger`](butler_api::QuotaLedger) has, for every name of a cluster, what may be stored under it: what was
//! last seen there, and what admitted requests may make of it.
//!
//! 1. *Whatever is stored is covered by the ledger.* A request that raises anything is answered yes only after it was
//!    written into the ledger, by a write that succeeds only on the version that was read. One that raises nothing needs
//!    no write: the API server stores an update only if its object is still the one that admission was shown, so it ends
//!    below something that is covered already. For the same reason one whose object is known to have changed since is
//!    answered yes without a write: it is not stored, but asked again.
//! 2. *What the ledger takes up is within the limits.* At every write, the sum over all names of the most that may be stored
//!    under each is within every limit that the request raises.
//! 3. *Nothing leaves the ledger but by evidence*, which carries the revision at which it was true:
//!
//!    | Seen | Then |
//!    |---|---|
//!    | the object at revision r | it takes what it took at r, and requests that change an older revision, or create it, are settled |
//!    | the same, being deleted | it takes the most that it may have taken before, because its machines go when it does |
//!    | the same, but of no team or another | it takes nothing, and requests that change an older revision are settled; one that changes r may still bring it in |
//!    | the object, and nobody can read it | nothing |
//!    | no object in a list of revision r | what was seen up to r is gone, and so are requests that change it |
//!    | neither, in a list that was asked for after the API server must have finished every request that a replica had seen in the ledger | the request was not stored |
//!
//!    Times are only waited for, on the clock of the replica that waits, which never jumps; nothing is released by a time
//!    alone. The one thing taken for granted is that the API server is done with a request, its write to etcd included,
//!    within `--request-bound`.
//!
//! From 1 and 2, what is stored is within the limits at any time; from 3, nothing stays reserved that is not used. The
//! decisions are pure and are searched through exhaustively in `api/src/quota/decide/search.rs`. A list says what it says
//! of its own revision, so it may take its time; who waits for it does not keep others waiting.
//!
//! # Limits that change
//!
//! A limit may be lowered below what is used; then nothing grows. The Team, which most limits are in, is read again while the
//! ledger is being written, and what is beyond its limits by then is refused: so those of the Team and of its environments
//! count from the moment they are stored, and an increase takes two calls. What the platform allows by default, and
//! providers, is as this replica's watches have it: milliseconds old, or, if a connection is dead and nobody has noticed,
//! up to the 30 seconds after which the kind counts as unknown and increases are denied (`facts/pace.rs`).
//!
//! # The parts
//!
//! [`Quota`] hands a change to its team's [`desk`], of which every replica has one per team; changes that wait at a desk are
//! written together. The desk also settles what is open, and [`store`] makes the calls. What a team uses is told in
//! its status by the reconciler, which reads the ledgers.
//!
//! A ledger that is missing was either never made or lost. `status.quotaLedger` of the Team tells: before the first ledger
//! has content, it says which object that will be. A lost one, or one that somebody edited, is made anew from a list of all
//! namespaces after the request bound has passed, when everything that the lost one admitted is stored or never will be;
//! until then increases are denied. What is found counts, and is granted as far as it is within the limits, the oldest first:
//! who was admitted is known to the lost ledger alone, and any mark on the clusters themselves could have been written
//! while the gate was away. So a grant never goes beyond the limits because a ledger was lost; the price is that clusters
//! beyond a limit that was lowered meanwhile lose theirs, and have it again once it is asked for and fits. Nothing of them is
//! taken away.
//!
//! What holds a grant, and asking for one afterwards, is `butler_program::Grants`, for whoever builds clusters.
//!
//! Rights that this needs: `get`, `list`, `watch`, `create`, `update` and `delete` of `quotaledgers` in `butler-system`,
//! `list` of `tenantclusters`, `get` of `teams`, `patch` of `teams/status`.

mod desk;
mod metrics;
mod settle;
mod store;
mod watch;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use butler_api::QuotaLedger;
use butler_api::quota::Refusal;
use butler_policies::Facts;
use butler_policies::facts::FactKind;
use butler_policies::quota::Claim;
use kube::Client;
use tokio::runtime::Handle as Runtime;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::desk::{Desk, Job};
pub use self::metrics::Metrics;
use self::store::Store;
use crate::facts::Snapshots;

/// How long a review waits for its ledger. The API server gives it five seconds in all.
const PATIENCE: Duration = Duration::from_secs(3);
/// How many changes may wait at a desk. More are told to come back.
const WAITING: usize = 512;
/// How many desks there may be. Each keeps a ledger in memory.
const MOST_DESKS: usize = 20_000;

/// Why a change was not taken up.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// It does not fit.
    Refused(Refusal),
    /// There is no ledger to ask, for that much longer.
    Lost(Duration),
    /// The ledger could not be asked.
    Failed(String),
}

/// The ledgers of all teams.
#[derive(Debug)]
pub struct Quota {
    shared: Arc<Shared>,
    /// The desks. Dropped, and so stopped, with this.
    tasks: Mutex<JoinSet<()>>,
    /// Where desks run, whoever opens one: the policy service asks from a thread of its own.
    runtime: Runtime,
}

#[derive(Debug)]
struct Shared {
    store: Store,
    facts: Arc<Snapshots>,
    metrics: Metrics,
    bound: Duration,
    desks: Mutex<HashMap<String, Handle>>,
    /// The newest ledgers that the watch has told of.
    told: Mutex<HashMap<String, Arc<QuotaLedger>>>,
}

#[derive(Clone, Debug)]
struct Handle {
    jobs: mpsc::Sender<Job>,
    news: Arc<Notify>,
}

impl Quota {
    /// Keeps ledgers through that client, on the runtime that this is called on. The API server is done with any request
    /// within `bound`.
    pub fn new(client: Client, facts: Arc<Snapshots>, metrics: Metrics, bound: Duration) -> Arc<Self> {
        let store = Store::new(client, metrics.clone());
        let (desks, told) = (Mutex::default(), Mutex::default());
        let shared = Arc::new(Shared { store, facts, metrics, bound, desks, told });
        Arc::new(Self { shared, tasks: Mutex::default(), runtime: Runtime::current() })
    }

    /// Asks for a change, and waits until it is taken up or not. A dry one is only weighed.
    ///
    /// # Errors
    /// When it was not taken up, or nobody can say whether it was.
    pub async fn ask(&self, claim: Claim, is_dry: bool) -> Result<(), Trouble> {
        let Some(handle) = self.desk(&claim.team) else {
            return Err(Trouble::Failed("there are too many teams".to_owned()));
        };
        let (answer, answered) = oneshot::channel();
        let job = Job { ask: claim.ask, limits: claim.limits, is_dry, answer };
        if handle.jobs.try_send(job).is_err() {
            return Err(Trouble::Failed("too many changes of the team wait already".to_owned()));
        }
        match timeout(PATIENCE, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Trouble::Failed("the program is stopping".to_owned())),
            Err(_) => Err(Trouble::Failed("the API server takes too long".to_owned())),
        }
    }

    /// The desk of a team, opened if there is none.
    fn desk(&self, team: &str) -> Option<Handle> {
        let mut desks = lock(&self.shared.desks);
        if let Some(handle) = desks.get(team).filter(|handle| !handle.jobs.is_closed()) {
            return Some(handle.clone());
        }
        if desks.len() >= MOST_DESKS {
            return None;
        }
        let (jobs, inbox) = mpsc::channel(WAITING);
        let handle = Handle { jobs, news: Arc::default() };
        desks.insert(team.to_owned(), handle.clone());
        let desk = Desk::new(self.shared.clone(), team, handle.news.clone());
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(desk.run(inbox), &self.runtime);
        Some(handle)
    }
}

/// Whether the platform is known well enough to say what its teams have, and may have.
fn knows_enough(facts: &Facts) -> bool {
    [FactKind::Team, FactKind::Config, FactKind::Provider, FactKind::Cluster]
        .into_iter()
        .all(|kind| facts.hears_of(kind))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
