//! Loops over lists and maps.

use super::Machine;
use crate::cel::value::{List, Map, Value};

/// A loop that is running.
pub(super) struct Loop<'a> {
    range: Range<'a>,
    at: usize,
    fold: usize,
}

enum Range<'a> {
    List(List<'a>),
    Map(Map<'a>),
}

impl<'a> Machine<'a, '_> {
    pub(super) fn begin(&mut self, fold: usize, to: u32) {
        let Some(places) = self.code.folds.get(fold).copied() else { return };
        let range = match self.pop() {
            Value::List(list) => Range::List(list),
            Value::Map(map) => Range::Map(map),
            Value::Error(message) => {
                self.push(Value::Error(message));
                return self.go(to);
            }
            other => {
                let name = other.go_name();
                self.push(Value::error(match places.second {
                    Some(_) => format!("unsupported comprehension range type: {name}"),
                    None => format!("got '{name}', expected iterable type"),
                }));
                return self.go(to);
            }
        };
        let initial = places.initial.map(|place| self.constant(place));
        self.set(places.accumulator, initial);
        self.loops.push(Loop { range, at: 0, fold });
    }

    pub(super) fn next(&mut self, to: u32) {
        let Some(running) = self.loops.last_mut() else { return };
        let at = running.at;
        running.at += 1;
        let Some(places) = self.code.folds.get(running.fold).copied() else { return };
        let index = || Value::Int(i64::try_from(at).unwrap_or(i64::MAX));
        let (first, second) = match (&running.range, places.second) {
            (Range::List(list), None) => (list.get(at), None),
            (Range::List(list), Some(_)) => match list.get(at) {
                Some(item) => (Some(index()), Some(item)),
                None => (None, None),
            },
            (Range::Map(map), second) => match map.entry(at) {
                Some((key, value)) => (Some(key), second.map(|_| value)),
                None => (None, None),
            },
        };
        let Some(first) = first else { return self.go(to) };
        self.set(places.first, Some(first));
        if let Some(slot) = places.second {
            self.set(slot, second);
        }
    }
}
