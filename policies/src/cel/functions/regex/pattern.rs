//! A pattern, compiled, and searched for in bounded time.
//!
//! Matching is linear in the text, but a pattern of ten characters can have a thousand states, and then linear is long.
//! As long as states times characters stay small, nobody counts. Beyond that, an automaton is built as the text needs its
//! states, in a memory of this evaluation alone, so that a verdict does not depend on what was matched before; and where
//! the text needs too many of them, each state counts as work at each character.

use std::fmt;

use regex_automata::hybrid::dfa;
use regex_automata::hybrid::regex::{Cache, Regex as Automaton};
use regex_automata::nfa::thompson::pikevm::{self, PikeVM};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::util::iter::Searcher;
use regex_automata::{Input, Match, MatchError, meta};

use super::translate::translate;
use crate::cel::cost::Meter;

/// Memory that one compiled pattern may take.
const SIZE: usize = 4 << 20;
/// Memory for the states of an automaton.
const STATES: usize = 1 << 20;
/// Characters that an automaton must read for each state it makes, once its memory was full.
const WORTHWHILE: usize = 64;
/// Characters that an automaton reads in the time that a part of a value is looked at.
const CHARACTERS_OF_A_PART: u64 = 8;

/// A compiled pattern.
pub(crate) struct Pattern {
    quick: meta::Regex,
    translated: Box<str>,
    /// States of its machine.
    pub(crate) states: u64,
}

impl fmt::Debug for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Pattern").field(&self.translated).finish()
    }
}

/// What searches where the quick way could take too long.
#[derive(Debug)]
pub(crate) struct Careful {
    automaton: Automaton,
    cache: Cache,
    machine: PikeVM,
    machine_cache: pikevm::Cache,
}

/// There was more to match than anyone may.
pub(crate) struct TooMuch;

impl From<MatchError> for TooMuch {
    fn from(_: MatchError) -> Self {
        Self
    }
}

impl Pattern {
    /// The pattern in Go's syntax, compiled, or why it is none.
    pub(crate) fn compile(pattern: &str) -> Result<Self, String> {
        let (translated, states) = Self::check(pattern)?;
        let config = meta::Config::new()
            .nfa_size_limit(Some(SIZE))
            .hybrid_cache_capacity(STATES)
            .which_captures(WhichCaptures::Implicit);
        let quick =
            meta::Builder::new().configure(config).build(&translated).map_err(|_| refused(pattern))?;
        Ok(Self { quick, states, translated: translated.into() })
    }

    /// The pattern in the syntax of these engines, and how many states it has, or why it is none.
    pub(crate) fn check(pattern: &str) -> Result<(String, u64), String> {
        let translated = translate(pattern)?;
        let machine = NFA::compiler().configure(without_captures()).build(&translated);
        let states = machine.map_err(|_| refused(pattern))?.states().len();
        Ok((translated, states as u64))
    }

    pub(crate) fn is_match(&self, meter: &mut Meter, text: &str) -> Result<bool, TooMuch> {
        if meter.match_freely(self.effort(text.len())) {
            return Ok(self.quick.is_match(text));
        }
        Ok(self.search_carefully(meter, &Input::new(text).earliest(true))?.is_some())
    }

    /// The first match, as bytes of the text.
    pub(crate) fn find(&self, meter: &mut Meter, text: &str) -> Result<Option<Match>, TooMuch> {
        Ok(self.search(meter, &Input::new(text))?)
    }

    /// All matches, each after the one before.
    pub(crate) fn find_all<'t>(&self, text: &'t str) -> Matches<'_, 't> {
        Matches { pattern: self, searcher: Searcher::new(Input::new(text)) }
    }

    fn effort(&self, characters: usize) -> u64 {
        self.states.saturating_mul(characters as u64)
    }

    fn search(&self, meter: &mut Meter, input: &Input<'_>) -> Result<Option<Match>, MatchError> {
        if meter.match_freely(self.effort(input.get_span().len())) {
            return Ok(self.quick.search(input));
        }
        self.search_carefully(meter, input)
    }

    fn search_carefully(&self, meter: &mut Meter, input: &Input<'_>) -> Result<Option<Match>, MatchError> {
        let too_much = || MatchError::gave_up(input.start());
        let characters = input.get_span().len();
        if !meter.look(characters as u64 / CHARACTERS_OF_A_PART) {
            return Err(too_much());
        }
        let mut careful = match meter.careful(&self.translated) {
            Some(known) => known,
            None => {
                if !meter.look(super::COMPILING.saturating_add(self.states.saturating_mul(16))) {
                    return Err(too_much());
                }
                Careful::of(&self.translated).ok_or_else(too_much)?
            }
        };
        let found = match careful.automaton.try_search(&mut careful.cache, input) {
            Ok(found) => Ok(found),
            Err(_) if meter.look(self.effort(characters)) => Ok(careful.search(input)),
            Err(gave_up) => Err(gave_up),
        };
        meter.keep_careful(&self.translated, careful);
        found
    }
}

impl Careful {
    fn of(translated: &str) -> Option<Box<Self>> {
        let config = dfa::Config::new()
            .cache_capacity(STATES)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(1))
            .minimum_bytes_per_state(Some(WORTHWHILE));
        let automaton =
            Automaton::builder().thompson(without_captures()).dfa(config).build(translated).ok()?;
        let implicit =
            thompson::Config::new().which_captures(WhichCaptures::Implicit).nfa_size_limit(Some(SIZE));
        let machine = PikeVM::builder().thompson(implicit).build(translated).ok()?;
        let (cache, machine_cache) = (automaton.create_cache(), machine.create_cache());
        Some(Box::new(Self { automaton, cache, machine, machine_cache }))
    }

    /// Follows all states at once, character by character.
    fn search(&mut self, input: &Input<'_>) -> Option<Match> {
        let mut slots = [None; 2];
        let pattern = self.machine.search_slots(&mut self.machine_cache, input, &mut slots)?;
        let [start, end] = slots;
        Some(Match::new(pattern, start?.get()..end?.get()))
    }
}

fn refused(pattern: &str) -> String {
    format!("error parsing regexp: `{pattern}` is too large or malformed")
}

fn without_captures() -> thompson::Config {
    thompson::Config::new().which_captures(WhichCaptures::None).nfa_size_limit(Some(SIZE))
}

/// The matches in a text.
pub(crate) struct Matches<'p, 't> {
    pattern: &'p Pattern,
    searcher: Searcher<'t>,
}

impl Matches<'_, '_> {
    /// The next one. Finding it may need a look at all that is left, so that counts each time.
    pub(crate) fn next(&mut self, meter: &mut Meter) -> Result<Option<Match>, TooMuch> {
        Ok(self.searcher.try_advance(|input| self.pattern.search(meter, input))?)
    }
}
