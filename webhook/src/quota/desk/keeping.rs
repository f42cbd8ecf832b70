//! The desk's copy of the ledger: how it is read, made, made anew, and written.
//!
//! A ledger begins as an object without content, which nobody can take for one. Everything that follows is a write of exactly
//! that object, so it fails if somebody has deleted it meanwhile, however late it comes: no two ledgers can have been there
//! one after the other without both being noticed.

use std::time::{Duration, Instant};

use butler_api::quota::ledger::LedgerError;
use butler_api::quota::{Copy, Holding, Ledger};
use butler_api::{QuotaLedger, Team};
use butler_policies::quota::limits_of;
use kube::core::ObjectMeta;

use super::super::store::CallError;
use super::super::{knows_enough, lock};
use super::listing::key;
use super::{Desk, Trouble};

/// Which object is no ledger, in which version: an empty one that stands for one that was missing, or an edited one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loss(Option<String>, Option<i64>);

impl Desk {
    /// Takes what the watch has told, if it is newer.
    pub(in super::super) fn adopt_told(&mut self) {
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

    /// Reads the ledger. If there is none, one is made, unless only dry runs ask, which write nothing.
    pub(in super::super) async fn read(&mut self, may_make: bool) -> Result<(), Trouble> {
        self.copy = None;
        let store = &self.shared.store;
        let object = match store.read(&self.team).await? {
            Some(object) => object,
            None if !may_make => return self.look_without(None).await,
            None => match store.create(&self.team).await {
                Ok(object) => object,
                // Another replica has made it, which is read next.
                Err(CallError::Conflict) => return Ok(()),
                Err(error) => return Err(error.into()),
            },
        };
        match Ledger::read(&object) {
            Ok(ledger) => {
                self.adopt(ledger, &object);
                Ok(())
            }
            Err(_) if !may_make => self.look_without(Some(&object)).await,
            Err(error) => self.replace(object, &error).await,
        }
    }

    /// Writes what there is into an object that is no ledger, as soon as nothing can be under way that it does not have.
    async fn replace(&mut self, object: QuotaLedger, error: &LedgerError) -> Result<(), Trouble> {
        let team = self.stored_team().await?;
        let generation = object.metadata.generation;
        if promise_of(&team).is_none() {
            // Nobody has ever had a ledger, or the Team would say so, and then it is not the Team that was read.
            match self.shared.store.promise(&team, &object.metadata).await {
                Ok(()) => {}
                Err(CallError::Conflict) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        } else if !is_first(&team, &object) {
            self.wait_for(Loss(object.metadata.uid.clone(), generation), error)?;
        }
        let ledger = self.found(&team).await?;
        let spec = ledger.write(generation.unwrap_or(0) + 1);
        match self.shared.store.write(&object.metadata, spec).await {
            Ok(object) => self.adopt(ledger, &object),
            Err(CallError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// For dry runs: what a ledger would say if one were made. It is not kept.
    async fn look_without(&mut self, object: Option<&QuotaLedger>) -> Result<(), Trouble> {
        let team = self.stored_team().await?;
        if promise_of(&team).is_some() && !object.is_some_and(|object| is_first(&team, object)) {
            return Err(Trouble::Lost(self.shared.bound));
        }
        let ledger = self.found(&team).await?;
        self.version = ObjectMeta::default();
        self.copy = Some(Copy::found(ledger));
        Ok(())
    }

    async fn stored_team(&self) -> Result<Team, Trouble> {
        let team = self.shared.store.team(&self.team).await?;
        team.ok_or_else(|| Trouble::Failed("the team does not exist".to_owned()))
    }

    /// A ledger of the clusters that there are, wherever they are.
    async fn found(&mut self, team: &Team) -> Result<Ledger, Trouble> {
        let facts = self.shared.facts.current();
        if !knows_enough(&facts) {
            return Err(Trouble::Failed("the platform's settings are not known yet".to_owned()));
        }
        let inventory = self.shared.store.list(&self.team, None, &facts).await?;
        self.last_list = Some(Instant::now());
        let limits = |holding: &Holding| limits_of(&self.team, &team.spec, holding, &facts).ok();
        Ok(Ledger::of(&self.team, &inventory, limits))
    }

    /// What the lost ledger admitted may be stored until the request bound has passed.
    fn wait_for(&mut self, loss: Loss, why: &LedgerError) -> Result<(), Trouble> {
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

    /// Makes sure that the Team says that it has a ledger: one of the same name may have been there before, and have left
    /// it this one.
    pub(in super::super) async fn keep_promise(&mut self) {
        let facts = self.shared.facts.current();
        let Some(known) = facts.team(&self.team).found() else { return };
        let both = (known.metadata.uid.clone(), self.version.uid.clone());
        if self.copy.is_none() || self.promised.as_ref() == Some(&both) {
            return;
        }
        let Ok(Some(team)) = self.shared.store.team(&self.team).await else { return };
        let is_told =
            promise_of(&team).is_some() || self.shared.store.promise(&team, &self.version).await.is_ok();
        if is_told && team.metadata.uid == both.0 {
            self.promised = Some(both);
        }
    }

    /// Writes the copy; not if somebody else was faster.
    pub(in super::super) async fn write(&mut self) -> Result<bool, CallError> {
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

/// The uid of the first ledger that the team had.
fn promise_of(team: &Team) -> Option<&str> {
    team.status.as_ref()?.quota_ledger.as_deref()
}

/// Whether that object is the first ledger of the team, and nobody has written it yet. It has been there ever since the
/// Team was told, and before that there was none, so no request can be under way that another one admitted.
fn is_first(team: &Team, object: &QuotaLedger) -> bool {
    promise_of(team) == object.metadata.uid.as_deref() && object.metadata.generation == Some(1)
}
