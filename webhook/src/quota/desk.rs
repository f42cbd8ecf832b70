//! Where the changes of one team wait: one desk per team and replica.
//!
//! A desk does one thing at a time, and nothing that takes long: lists are made beside it, and who waits for one is set aside
//! meanwhile (`listing.rs`), so that others are answered.

mod keeping;
mod listing;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use butler_api::names::ObjectUid;
use butler_api::quota::ledger::Ask;
use butler_api::quota::{Copy, Group, Limit, Next};
use butler_api::reference::NsRef;
use butler_policies::Facts;
use butler_policies::quota::limits_of;
use kube::core::ObjectMeta;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::sleep;

use self::listing::Listed;
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

/// Changes that came together, and who waits for each.
#[derive(Debug)]
struct Party {
    group: Group,
    answers: Vec<Option<Answer>>,
    began: Instant,
    calls: usize,
}

/// What came of working on a party.
enum Worked {
    /// All are decided.
    Decided,
    /// Some do not fit, unless a list shows that something is gone.
    ToBeListed,
    Failed(Trouble),
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
    lost: Option<(keeping::Loss, Instant)>,
    /// Of which Team and which ledger it is known that the one has been told of the other.
    promised: Option<(Option<String>, Option<String>)>,
    /// The list that is being made; never more than one.
    pub(super) listing: JoinSet<Listed>,
    pub(super) last_list: Option<Instant>,
    /// Those that wait for a list that was begun after they came.
    parked: Vec<Party>,
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
            promised: None,
            listing: JoinSet::new(),
            last_list: None,
            parked: Vec::new(),
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
                    self.answer(Party::new(std::mem::take(&mut batch))).await;
                }
                Some(listed) = self.listing.join_next() => {
                    if let Some(party) = self.take_in(listed) {
                        self.answer(party).await;
                    } else {
                        if self.is_dirty {
                            self.write_by_itself().await;
                        }
                        // Whoever comes next gets a list of its own.
                        self.rest();
                    }
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

    /// Answers a party, or sets it aside until a list is there.
    async fn answer(&mut self, mut party: Party) {
        // What waited behind a slow group may have been told already that it took too long.
        if !party.is_waited_for() {
            return;
        }
        self.adopt_told();
        match self.decide(&mut party).await {
            Worked::Decided => {
                self.shared.metrics.grouped(party.group.len(), party.calls);
                for (answer, refused) in party.answers.iter_mut().zip(party.group.answers()) {
                    send(answer, refused.map_err(Trouble::Refused));
                }
            }
            Worked::ToBeListed => self.park(party),
            Worked::Failed(trouble) => {
                party.answers.iter_mut().for_each(|answer| send(answer, Err(trouble.clone())));
            }
        }
        if self.version.uid.is_none() {
            // What was only looked at for a dry run is nobody's ledger.
            self.copy = None;
        }
        self.rest();
    }

    /// Nobody waits any more.
    fn rest(&mut self) {
        if let Some(copy) = &mut self.copy {
            copy.rest();
        }
    }

    /// Answers those that are admitted as soon as they are.
    async fn decide(&mut self, party: &mut Party) -> Worked {
        let mut failure = None;
        while party.began.elapsed() < GROUP_PATIENCE {
            self.fold_open();
            let step = match party.group.next(self.copy.as_mut()) {
                Next::Answer => return Worked::Decided,
                Next::List => return Worked::ToBeListed,
                Next::Read => {
                    party.calls += 1;
                    self.read(!party.group.is_dry()).await
                }
                Next::Write => {
                    party.calls += 2;
                    self.take_up(party).await
                }
            };
            let Err(trouble) = step else { continue };
            let waits = match &trouble {
                Trouble::Lost(_) => self.lost.as_ref().is_some_and(|(_, since)| since.elapsed() < ON_ITS_WAY),
                Trouble::Failed(_) | Trouble::Refused(_) => true,
            };
            if !waits {
                self.copy = None;
                return Worked::Failed(trouble);
            }
            failure = Some(trouble);
            sleep(PAUSE).await;
        }
        // What was taken up in the copy was not written.
        self.copy = None;
        let failure = failure.unwrap_or_else(|| Trouble::Failed("others are always faster".to_owned()));
        Worked::Failed(failure)
    }

    /// Writes what was taken up, and reads the Team at the same time: a limit that was lowered before the answer counts,
    /// whether the watch has told of it or not.
    async fn take_up(&mut self, party: &mut Party) -> Result<(), Trouble> {
        let store = self.shared.store.clone();
        let name = self.team.clone();
        let (written, team) = tokio::join!(self.write(), store.team(&name));
        if !written? {
            return Ok(());
        }
        let Some(team) = team? else { return Err(Trouble::Failed("the team does not exist".to_owned())) };
        let Some(copy) = &mut self.copy else { return Ok(()) };
        let facts = self.shared.facts.current();
        let limits = |ask: &Ask| limits_of(&name, &team.spec, &ask.new, &facts);
        let has_withdrawn = party.group.limit_anew(copy, limits).map_err(Trouble::Failed)?;
        party.group.written();
        let admitted = party.answers.iter_mut().zip(party.group.admitted()).filter(|(_, is)| *is);
        admitted.for_each(|(answer, _)| send(answer, Ok(())));
        if has_withdrawn {
            party.calls += 1;
            self.write().await?;
        }
        Ok(())
    }

    /// Writes what evidence changed. Who was faster has probably done the same, and what failed is tried again later.
    pub(super) async fn write_by_itself(&mut self) {
        let _ = self.write().await;
        if let Some(copy) = &mut self.copy {
            copy.rest();
        }
    }
}

impl Party {
    fn new(jobs: Vec<Job>) -> Self {
        let (mut group, mut answers) = (Group::default(), Vec::with_capacity(jobs.len()));
        for Job { ask, limits, is_dry, answer } in jobs {
            group.push(ask, limits, is_dry);
            answers.push(Some(answer));
        }
        Self { group, answers, began: Instant::now(), calls: 0 }
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
