//! A ledger as it is stored: a line per cluster, short enough that ten thousand fit one object.

use std::collections::{BTreeMap, BTreeSet};
use std::str::{FromStr, SplitAsciiWhitespace};
use std::sync::Arc;

use super::{Held, Ledger, Open, Slot};
use crate::names::ObjectUid;
use crate::quota::holding::{Holding, MOST_BYTES};
use crate::quota_ledger::{QuotaLedger, QuotaLedgerSpec};
use crate::reference::NsRef;

/// Each of them stands for six bits of a uid.
const DIGITS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
/// A uid has 128 bits.
const UID_LENGTH: usize = 22;
const GIB: u128 = 1 << 30;
const PAST_THE_GATE: &str = "past-the-gate";

/// Why a stored ledger is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// Somebody else wrote it.
    #[error("it was edited: {writes} writes are Butler's, of {generation}")]
    Edited {
        /// How often Butler wrote it.
        writes: i64,
        /// How often anybody did.
        generation: i64,
    },
    /// It is of another team.
    #[error("it is of another team")]
    OtherTeam,
    /// A line makes no sense.
    #[error("line {line} of `{list}` cannot be read")]
    Line {
        /// The list.
        list: &'static str,
        /// The line, counted from 0.
        line: usize,
    },
}

impl Ledger {
    /// The ledger in an object of the API server, if nobody but Butler wrote it.
    pub fn read(object: &QuotaLedger) -> Result<Self, LedgerError> {
        let (spec, generation) = (&object.spec, object.metadata.generation.unwrap_or(0));
        if spec.writes != generation {
            return Err(LedgerError::Edited { writes: spec.writes, generation });
        }
        if object.metadata.name.as_deref() != Some(&*spec.team) {
            return Err(LedgerError::OtherTeam);
        }
        let lists = Lists {
            team: &spec.team,
            environments: shared(&spec.environments),
            owners: shared(&spec.owners),
            providers: shared(&spec.providers),
        };
        let mut slots: BTreeMap<NsRef, Slot> = BTreeMap::new();
        for (line, text) in spec.held.iter().enumerate() {
            let read = lists.held(text).filter(|(at, _)| !slots.contains_key(at));
            let (at, held) = read.ok_or(LedgerError::Line { list: "held", line })?;
            slots.insert(at, Slot { held: Some(held), open: Vec::new() });
        }
        for (line, text) in spec.open.iter().enumerate() {
            let (at, open) = lists.open(text).ok_or(LedgerError::Line { list: "open", line })?;
            slots.entry(at).or_default().open.push(open);
        }
        let mut ledger = Self { listed: spec.listed, ..Self::new(&spec.team) };
        slots.iter().for_each(|(at, slot)| ledger.totals.add(at, slot));
        ledger.slots = slots;
        Ok(ledger)
    }

    /// What is stored by the write of that number.
    pub fn write(&self, writes: i64) -> QuotaLedgerSpec {
        let all = || self.slots.values().flat_map(Slot::alternatives);
        let list = |of: fn(&Holding) -> Option<&Arc<str>>| -> Vec<String> {
            let names: BTreeSet<&Arc<str>> = all().filter_map(of).collect();
            names.into_iter().map(ToString::to_string).collect()
        };
        let environments = list(|holding| holding.environment.as_ref());
        let owners = list(|holding| holding.owner.as_ref());
        let providers = list(|holding| holding.provider.as_ref());
        let place = |list: &[String], name: Option<&Arc<str>>| {
            let place = name.and_then(|name| list.binary_search_by(|it| it.as_str().cmp(name)).ok());
            place.map_or_else(|| "-".to_owned(), |place| place.to_string())
        };
        let rest = |holding: &Holding, granted: bool| {
            let Holding { nodes, cpu, memory, storage, environment, owner, provider } = holding;
            let environment = place(&environments, environment.as_ref());
            let (owner, provider) = (place(&owners, owner.as_ref()), place(&providers, provider.as_ref()));
            let mark = if granted { "" } else { " past-the-gate" };
            let (memory, storage) = (bytes(*memory), bytes(*storage));
            format!("{nodes} {cpu} {memory} {storage} {environment} {owner} {provider}{mark}")
        };
        let mut held = Vec::with_capacity(self.slots.len());
        let mut open = Vec::with_capacity(self.totals.open);
        for (at, slot) in &self.slots {
            let name = match at.namespace == *self.team {
                true => at.name.clone(),
                false => format!("{}/{}", at.namespace, at.name),
            };
            if let Some(Held { uid, revision, holding, granted }) = &slot.held {
                held.push(format!("{name} {} {revision} {}", uid_text(*uid), rest(holding, *granted)));
            }
            for Open { uid, base, ticket, holding, granted } in &slot.open {
                let base = base.map_or_else(|| "new".to_owned(), |base| base.to_string());
                open.push(format!("{name} {} {base} {ticket} {}", uid_text(*uid), rest(holding, *granted)));
            }
        }
        let team = self.team.to_string();
        let listed = self.listed;
        QuotaLedgerSpec { team, writes, listed, environments, owners, providers, held, open }
    }
}

struct Lists<'a> {
    team: &'a str,
    environments: Vec<Arc<str>>,
    owners: Vec<Arc<str>>,
    providers: Vec<Arc<str>>,
}

impl Lists<'_> {
    fn held(&self, line: &str) -> Option<(NsRef, Held)> {
        let mut words = line.split_ascii_whitespace();
        let (at, uid) = (self.name(words.next()?)?, uid_of(words.next()?)?);
        let revision = number(&mut words)?;
        let (holding, granted) = self.rest(words)?;
        Some((at, Held { uid, revision, holding, granted }))
    }

    fn open(&self, line: &str) -> Option<(NsRef, Open)> {
        let mut words = line.split_ascii_whitespace();
        let (at, uid) = (self.name(words.next()?)?, uid_of(words.next()?)?);
        let base = match words.next()? {
            "new" => None,
            revision => Some(revision.parse().ok()?),
        };
        let ticket = number(&mut words)?;
        let (holding, granted) = self.rest(words)?;
        Some((at, Open { uid, base, ticket, holding, granted }))
    }

    fn name(&self, word: &str) -> Option<NsRef> {
        let (namespace, name) = word.split_once('/').unwrap_or((self.team, word));
        let is_whole = !namespace.is_empty() && !name.is_empty();
        is_whole.then(|| NsRef { name: name.to_owned(), namespace: namespace.to_owned() })
    }

    fn rest(&self, mut words: SplitAsciiWhitespace<'_>) -> Option<(Holding, bool)> {
        let holding = Holding {
            nodes: number(&mut words)?,
            cpu: number(&mut words)?,
            memory: bytes_of(words.next()?)?,
            storage: bytes_of(words.next()?)?,
            environment: named(&self.environments, words.next()?)?,
            owner: named(&self.owners, words.next()?)?,
            provider: named(&self.providers, words.next()?)?,
        };
        let granted = match words.next() {
            None => true,
            Some(PAST_THE_GATE) => false,
            Some(_) => return None,
        };
        words.next().is_none().then_some((holding, granted))
    }
}

fn shared(list: &[String]) -> Vec<Arc<str>> {
    list.iter().map(|name| name.as_str().into()).collect()
}

fn named(list: &[Arc<str>], word: &str) -> Option<Option<Arc<str>>> {
    if word == "-" { Some(None) } else { list.get(word.parse::<usize>().ok()?).cloned().map(Some) }
}

fn number<T: FromStr>(words: &mut SplitAsciiWhitespace<'_>) -> Option<T> {
    words.next()?.parse().ok()
}

fn bytes(count: u128) -> String {
    if count != 0 && count.is_multiple_of(GIB) { format!("{}Gi", count / GIB) } else { count.to_string() }
}

fn bytes_of(word: &str) -> Option<u128> {
    match word.strip_suffix("Gi") {
        Some(count) => count.parse::<u128>().ok()?.checked_mul(GIB),
        None => word.parse().ok(),
    }
    // More than that is nobody's holding, and sums must not wrap.
    .filter(|count| *count <= MOST_BYTES)
}

fn uid_text(uid: ObjectUid) -> String {
    let digit =
        |place: usize| DIGITS.get((uid.number() >> (6 * place)) as usize & 63).map(|it| char::from(*it));
    (0..UID_LENGTH).rev().filter_map(digit).collect()
}

fn uid_of(word: &str) -> Option<ObjectUid> {
    if word.len() != UID_LENGTH {
        return None;
    }
    let number = word.bytes().try_fold(0_u128, |number, byte| {
        let digit = DIGITS.iter().position(|it| *it == byte)?;
        number.checked_mul(64)?.checked_add(digit as u128)
    });
    number.map(ObjectUid::from_number)
}
