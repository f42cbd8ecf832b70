//! Where the changes of one team wait: one desk per team and replica.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use butler_api::QuotaLedger;
use butler_api::names::ObjectUid;
use butler_api::quota::ledger::{Ask, Inventory, LedgerError, Open};
use butler_api::quota::{Copy, Group, Ledger, Limit, Next};
use butler_api::reference::NsRef;
use butler_policies::Facts;
use kube::core::ObjectMeta;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::store::CallError;
use super::{Shared, Trouble, lock};

/// How many changes are written at once.
const MOST_AT_ONCE: usize = 256;
/// How long a group is worked on. Whoever waits gives up a little later.
const GROUP_PATIENCE: Duration = Duration::from_millis(2500);
/// How long to wait before something that failed is tried again.
const PAUSE: Duration = Duration::from_millis(100);
/// A ledger that was missing for less may be on its way: another replica tells the Team before it makes the ledger.
const ON_ITS_WAY: Duration = Duration::from_secs(1);
/// About how often the desk looks after its ledger. Replicas must not all do it at the same moment.
const ROUND: Duration = Duration::from_millis(1000);

/// A change that waits.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) ask: Ask,
    pub(super) limits: Vec<Limit>,
    pub(super) is_dry: bool,
    pub(super) answer: Answer,
}

type Answer = oneshot::Sender<Result<(), Trouble>>;

/// How a ledger can be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Loss {
    Missing,
    Edited(Option<String>, Option<i64>),
}

pub(super) struct Desk {
    pub(super) shared: Arc<Shared>,
    pub(super) team: String,
    news: Arc<Notify>,
    pub(super) copy: Option<Copy>,
    /// Whether evidence changed the copy, so that it is worth a write although nobody asked for anything.
    pub(super) is_dirty: bool,
    /// Of the ledger that was copied.
    pub(super) version: ObjectMeta,
    /// When this replica first saw a request that is under way, on a clock that does not jump.
    seen: HashMap<(NsRef, ObjectUid, u64), Instant>,
    lost: Option<(Loss, Instant)>,
    pub(super) last_list: Option<Instant>,
    /// The facts that the ledger was last compared with.
    pub(super) compared: Option<Arc<Facts>>,
}

impl Desk {
    pub(super) fn new(shared: Arc<Shared>, team: &str, news: Arc<Notify>) -> Self {
        Self {
            shared,
            team: team.to_owned(),
            news,
            copy: None,
            is_dirty: false,
            version: ObjectMeta::default(),
            seen: HashMap::new(),
            lost: None,
            last_list: None,
            compared: None,
        }
    }

    /// Works until nobody can come any more, or the team is gone.
    pub(super) async fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        let mut batch = Vec::new();
        let news = self.news.clone();
        let mut round = Box::pin(sleep(ROUND * chance(100) / 100));
        loop {
            tokio::select! {
                count = jobs.recv_many(&mut batch, MOST_AT_ONCE) => {
                    if count == 0 {
                        return;
                    }
                    self.answer(std::mem::take(&mut batch)).await;
                }
                () = news.notified() => self.adopt_told(),
                () = &mut round => {
                    if self.look_after().await {
                        lock(&self.shared.desks).remove(&self.team);
                        self.shared.metrics.forget(&self.team);
                        return;
                    }
                    round = Box::pin(sleep(ROUND * (70 + chance(60)) / 100));
                }
            }
        }
    }

    /// Answers changes that came together.
    async fn answer(&mut self, jobs: Vec<Job>) {
        self.adopt_told();
        let (mut group, mut answers) = (Group::default(), Vec::with_capacity(jobs.len()));
        for Job { ask, limits, is_dry, answer } in jobs {
            group.push(ask, limits, is_dry);
            answers.push(Some(answer));
        }
        let size = group.len();
        let outcome = self.decide(&mut group, &mut answers).await;
        match outcome {
            Ok(calls) => {
                self.shared.metrics.grouped(size, calls);
                for (answer, refused) in answers.iter_mut().zip(group.answers()) {
                    send(answer, refused.map_err(Trouble::Refused));
                }
            }
            Err(trouble) => answers.iter_mut().for_each(|answer| send(answer, Err(trouble.clone()))),
        }
        if let Some(copy) = &mut self.copy {
            copy.rest();
        }
    }

    /// Answers those that are admitted as soon as they are. How many calls it took.
    async fn decide(&mut self, group: &mut Group, answers: &mut [Option<Answer>]) -> Result<usize, Trouble> {
        let started = Instant::now();
        let (mut failure, mut calls) = (None, 0);
        while started.elapsed() < GROUP_PATIENCE {
            self.fold_open();
            let step = match group.next(self.copy.as_mut()) {
                Next::Answer => return Ok(calls),
                Next::Read => self.read().await,
                Next::List => match timeout(GROUP_PATIENCE, self.settle()).await {
                    Ok(settled) => settled.map_err(Trouble::from),
                    Err(_) => {
                        Err(Trouble::Failed("the clusters of the team are not listed in time".to_owned()))
                    }
                },
                Next::Write => match self.write().await {
                    Ok(true) => {
                        group.written();
                        let admitted = answers.iter_mut().zip(group.admitted()).filter(|(_, is)| *is);
                        admitted.for_each(|(answer, _)| send(answer, Ok(())));
                        Ok(())
                    }
                    Ok(false) => Ok(()),
                    Err(error) => Err(error.into()),
                },
            };
            calls += 1;
            let Err(trouble) = step else { continue };
            let waits = match &trouble {
                Trouble::Lost(_) => self.lost.as_ref().is_some_and(|(_, since)| since.elapsed() < ON_ITS_WAY),
                Trouble::Failed(_) | Trouble::Refused(_) => true,
            };
            if !waits {
                self.copy = None;
                return Err(trouble);
            }
            failure = Some(trouble);
            sleep(PAUSE).await;
        }
        // What was taken up in the copy was not written.
        self.copy = None;
        Err(failure.unwrap_or_else(|| Trouble::Failed("others are always faster".to_owned())))
    }

    /// Takes what the watch has told, if it is newer.
    pub(super) fn adopt_told(&mut self) {
        let Some(told) = lock(&self.shared.told).remove(&self.team) else { return };
        let (old, new) = (&self.version, &told.metadata);
        let is_newer = self.copy.is_none() || old.uid != new.uid || old.generation < new.generation;
        if !is_newer {
            return;
        }
        match Ledger::read(&told) {
            Ok(ledger) => {
                self.adopt(ledger, &told);
                if let Some(copy) = &mut self.copy {
                    copy.rest();
                }
            }
            Err(_) => self.copy = None,
        }
    }

    fn adopt(&mut self, ledger: Ledger, object: &QuotaLedger) {
        self.copy = Some(Copy::read(ledger, object.spec.writes));
        self.is_dirty = false;
        if self.version.uid != object.metadata.uid {
            // Another object counts its writes from the beginning, so a ticket may come again.
            self.seen.clear();
        }
        self.version = object.metadata.clone();
        self.lost = None;
        self.compared = None;
        self.note_open();
    }

    /// Remembers when requests were first seen, and forgets those that are settled.
    fn note_open(&mut self) {
        let Some(copy) = self.copy.as_ref().filter(|copy| copy.ledger.open() > 0) else {
            self.seen.clear();
            return;
        };
        let now = Instant::now();
        let slots = copy.ledger.slots().iter().filter(|(_, slot)| !slot.open.is_empty());
        let open = slots.flat_map(|(at, slot)| slot.open.iter().map(move |open| key(at, open)));
        self.seen = open
            .map(|key| {
                let first = self.seen.get(&key).copied().unwrap_or(now);
                (key, first)
            })
            .collect();
    }

    /// Reads the ledger; makes it if there never was one, or when a lost one may be made anew.
    pub(super) async fn read(&mut self) -> Result<(), Trouble> {
        self.copy = None;
        match self.shared.store.read(&self.team).await? {
            Some(object) => match Ledger::read(&object) {
                Ok(ledger) => {
                    self.adopt(ledger, &object);
                    Ok(())
                }
                Err(error) => self.replace(object, &error).await,
            },
            None => self.make().await,
        }
    }

    async fn make(&mut self) -> Result<(), Trouble> {
        let Some(team) = self.shared.store.team(&self.team).await? else {
            return Err(Trouble::Failed("the team does not exist".to_owned()));
        };
        let had_one = team.status.is_some_and(|status| status.quota_ledger.is_some());
        if had_one {
            self.wait_for(Loss::Missing, "it is missing")?;
        } else {
            self.shared.store.promise(&self.team).await?;
        }
        let inventory = self.list().await?;
        let ledger = Ledger::of(&self.team, &inventory);
        match self.shared.store.create(&self.team, ledger.write(1)).await {
            Ok(object) => self.adopt(ledger, &object),
            // Another replica has made it, which is read next.
            Err(CallError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    async fn replace(&mut self, object: QuotaLedger, error: &LedgerError) -> Result<(), Trouble> {
        let (uid, generation) = (object.metadata.uid.clone(), object.metadata.generation);
        self.wait_for(Loss::Edited(uid, generation), &error.to_string())?;
        let inventory = self.list().await?;
        let ledger = Ledger::of(&self.team, &inventory);
        let spec = ledger.write(generation.unwrap_or(0) + 1);
        match self.shared.store.write(&object.metadata, spec).await {
            Ok(object) => self.adopt(ledger, &object),
            Err(CallError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// What the lost ledger admitted may be stored until the request bound has passed.
    fn wait_for(&mut self, loss: Loss, why: &str) -> Result<(), Trouble> {
        if self.lost.as_ref().is_none_or(|(known, _)| *known != loss) {
            tracing::warn!(
                team = self.team,
                "the ledger of the team is lost and is made anew once no request is under way: {why}"
            );
            self.shared.metrics.lost();
            self.lost = Some((loss, Instant::now()));
        }
        let waited = self.lost.as_ref().map_or(Duration::ZERO, |(_, since)| since.elapsed());
        match self.shared.bound.checked_sub(waited) {
            Some(left) if !left.is_zero() => Err(Trouble::Lost(left)),
            _ => Ok(()),
        }
    }

    /// The team's clusters as they are now.
    pub(super) async fn list(&mut self) -> Result<Inventory, CallError> {
        let facts = self.shared.facts.current();
        let team = facts.team(&self.team).found();
        let home = team.map_or(self.team.as_str(), |team| team.namespace()).to_owned();
        let slots = self.copy.iter().flat_map(|copy| copy.ledger.slots().keys());
        let elsewhere = slots.map(|at| at.namespace.as_str()).any(|namespace| namespace != home)
            || facts
                .clusters_of_team(&self.team)
                .any(|cluster| cluster.metadata.namespace.as_deref() != Some(home.as_str()));
        let namespace = (!elsewhere).then_some(home.as_str());
        let inventory = self.shared.store.list(&self.team, namespace, &facts).await;
        self.last_list = Some(Instant::now());
        inventory
    }

    /// Lists, and takes in what that shows.
    pub(super) async fn settle(&mut self) -> Result<(), CallError> {
        let (started, bound) = (Instant::now(), self.shared.bound);
        let inventory = self.list().await?;
        let Some(copy) = &mut self.copy else { return Ok(()) };
        let seen = &self.seen;
        let settled = copy.settle(&inventory, |at, open| is_over(seen, at, open, bound, started));
        self.is_dirty |= settled.is_something();
        self.shared.metrics.settled(settled);
        Ok(())
    }

    /// Whether a request may be over, so that a list would tell.
    pub(super) fn has_overdue(&self) -> bool {
        self.seen.values().any(|since| since.elapsed() >= self.shared.bound)
    }

    /// Writes the copy; not if somebody else was faster.
    pub(super) async fn write(&mut self) -> Result<bool, CallError> {
        let Some(copy) = &mut self.copy else { return Ok(false) };
        let writes = copy.writes + 1;
        let written = self.shared.store.write(&self.version, copy.ledger.write(writes)).await;
        match written {
            Ok(object) if object.metadata.generation == Some(writes) => {
                self.version = object.metadata;
                self.is_dirty = false;
                copy.written();
                self.note_open();
                return Ok(true);
            }
            Ok(_) => {}
            Err(CallError::Conflict) => self.shared.metrics.conflicted(),
            Err(error) => {
                self.copy = None;
                return Err(error);
            }
        }
        self.copy = None;
        Ok(false)
    }
}

impl From<CallError> for Trouble {
    fn from(error: CallError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Answers who waits, once. Who does not wait any more learns by trying again.
fn send(answer: &mut Option<Answer>, what: Result<(), Trouble>) {
    if let Some(answer) = answer.take() {
        let _ = answer.send(what);
    }
}

/// A number below `most`, another one every time.
fn chance(most: u32) -> u32 {
    u32::try_from(RandomState::new().hash_one(most) % u64::from(most)).unwrap_or_default()
}

fn key(at: &NsRef, open: &Open) -> (NsRef, ObjectUid, u64) {
    (at.clone(), open.uid, open.ticket)
}

/// Whether the time of a request had passed when something began.
fn is_over(
    seen: &HashMap<(NsRef, ObjectUid, u64), Instant>,
    at: &NsRef,
    open: &Open,
    bound: Duration,
    began: Instant,
) -> bool {
    seen.get(&key(at, open)).is_some_and(|since| began.saturating_duration_since(*since) >= bound)
}
