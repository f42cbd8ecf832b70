//! Making lists, maps and messages.

use super::{Compiler, Result, number};
use crate::cel::ast::{Element, Entry, Field};
use crate::cel::cost::{LIST, MAP, MESSAGE};
use crate::cel::program::{Message, Op};

impl Compiler<'_> {
    pub(super) fn list(&mut self, elements: &[Element]) -> Result {
        let charge = number(LIST as usize);
        let mut ends = Vec::new();
        for (at, element) in elements.iter().enumerate() {
            self.value(element.value)?;
            let (below, to) = (number(at), self.jump);
            ends.push(self.emit(if element.optional {
                Op::Require { below, to, charge }
            } else {
                Op::Bail { below, to, charge }
            }));
        }
        let optional = self.optionals(elements.iter().map(|element| element.optional));
        self.emit(Op::List { count: number(elements.len()), optional });
        self.land_all(&ends);
        Ok(())
    }

    pub(super) fn map(&mut self, entries: &[Entry]) -> Result {
        let charge = number(MAP as usize);
        let mut ends = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            let to = self.jump;
            self.value(entry.key)?;
            ends.push(self.emit(Op::Bail { below: number(2 * at), to, charge }));
            self.value(entry.value)?;
            let below = number(2 * at + 1);
            ends.push(self.emit(if entry.optional {
                Op::Require { below, to, charge }
            } else {
                Op::Bail { below, to, charge }
            }));
        }
        let optional = self.optionals(entries.iter().map(|entry| entry.optional));
        self.emit(Op::Map { count: number(entries.len()), optional });
        self.land_all(&ends);
        Ok(())
    }

    pub(super) fn message(&mut self, name: &str, fields: &[Field]) -> Result {
        let charge = number(MESSAGE as usize);
        let mut ends = Vec::new();
        for (at, field) in fields.iter().enumerate() {
            self.value(field.value)?;
            let (below, to) = (number(at), self.jump);
            ends.push(self.emit(if field.optional {
                Op::Require { below, to, charge }
            } else {
                Op::Bail { below, to, charge }
            }));
        }
        self.code.messages.push(Message {
            name: name.strip_prefix('.').unwrap_or(name).into(),
            fields: fields.iter().map(|field| (field.name.as_ref().into(), field.optional)).collect(),
        });
        let message = number(self.code.messages.len() - 1);
        self.emit(Op::Message(message));
        self.land_all(&ends);
        Ok(())
    }

    /// Which parts may be left out; a number past the end when none may.
    pub(super) fn optionals(&mut self, parts: impl Iterator<Item = bool>) -> u32 {
        let parts: Vec<bool> = parts.collect();
        if !parts.contains(&true) {
            return u32::MAX;
        }
        self.code.optionals.push(parts);
        number(self.code.optionals.len() - 1)
    }
}
