//! The policies in force.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use butler_policies::policy::{Evaluation, Kind, PolicySet, Problem, WantedParams};
use tokio::sync::watch;

use super::meters::Meters;

/// The policies that reviews are judged by, replaced as a whole. A review holds on to the set that it began with.
#[derive(Debug)]
pub struct Policies {
    current: ArcSwapOption<InForce>,
    /// Why there is no set.
    missing: Mutex<String>,
    wanted_params: watch::Sender<BTreeSet<WantedParams>>,
    /// Rung when another set is in force.
    changes: watch::Sender<()>,
}

/// A set of policies with what was counted of each.
#[derive(Debug, Default)]
pub struct InForce {
    /// The policies.
    pub set: PolicySet,
    /// What is worth knowing about their files, each with line and column, both from 1.
    pub problems: Vec<(Problem, (usize, usize))>,
    pub(super) meters: Meters,
}

impl Default for Policies {
    /// None at all, as where no directory is given.
    fn default() -> Self {
        Self::of(PolicySet::default())
    }
}

impl Policies {
    /// Those.
    pub fn of(set: PolicySet) -> Self {
        let policies = Self::awaited();
        policies.replace(set);
        policies
    }

    /// Nobody knows yet, and until somebody does every review is turned away: a gate without the policies it is given
    /// would let through what they forbid.
    pub fn awaited() -> Self {
        Self {
            current: ArcSwapOption::empty(),
            missing: Mutex::new("not loaded yet".to_owned()),
            wanted_params: watch::Sender::default(),
            changes: watch::Sender::default(),
        }
    }

    /// Those in force; nothing if nobody knows.
    pub fn current(&self) -> Option<Arc<InForce>> {
        self.current.load_full()
    }

    /// The hash of those in force.
    pub fn hash(&self) -> Option<String> {
        self.current.load().as_ref().map(|current| current.set.hash().to_owned())
    }

    /// Takes a set into force. What was counted of policies that it has, too, goes on.
    pub fn replace(&self, set: PolicySet) {
        self.replace_with(set, Vec::new());
    }

    /// The same, of files that there is something to say about.
    pub(super) fn replace_with(&self, set: PolicySet, problems: Vec<(Problem, (usize, usize))>) {
        self.want(set.wanted_params().iter().cloned().collect());
        let meters = Meters::of(&set, self.current.load().as_deref().map(|before| &before.meters));
        self.current.store(Some(Arc::new(InForce { set, problems, meters })));
        self.changes.send_replace(());
    }

    /// Is rung whenever another set is in force.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// The params that have to be watched for those in force.
    pub fn wanted_params(&self) -> watch::Receiver<BTreeSet<WantedParams>> {
        self.wanted_params.subscribe()
    }

    /// Has the params of a set watched that is about to come into force, beside those that already are.
    pub(super) fn prepare(&self, set: &PolicySet) {
        let now = self.wanted_params.borrow().clone();
        self.want(now.into_iter().chain(set.wanted_params().iter().cloned()).collect());
    }

    fn want(&self, wanted: BTreeSet<WantedParams>) {
        self.wanted_params.send_if_modified(|now| {
            let is_new = *now != wanted;
            *now = wanted;
            is_new
        });
    }

    /// Whether reviews can be judged.
    ///
    /// # Errors
    /// Why not.
    pub fn ready(&self) -> Result<(), String> {
        if self.current.load().is_some() {
            return Ok(());
        }
        Err(self.missing.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// A set could not be loaded.
    pub(super) fn refused(&self, why: String) {
        *self.missing.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }
}

impl InForce {
    /// Counts what policies came to in one review.
    pub fn count(&self, kind: Kind, evaluations: &[Evaluation]) {
        for evaluation in evaluations {
            self.meters.count(kind, evaluation);
        }
    }
}
