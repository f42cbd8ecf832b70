//! Variables of the policy, each evaluated when it is first looked at. What looks at it waits on a stack of its own, so
//! that a long chain of variables needs no more of the thread's than a short one.

use super::{Loop, Machine, OVER};
use crate::cel::cost::{EXPRESSION_LIMIT, Meter};
use crate::cel::program::Code;
use crate::cel::value::Value;

/// An evaluation that waits for a variable.
pub(super) struct Caller<'a> {
    waits_for: usize,
    code: &'a Code,
    meter: Meter,
    counted: u64,
    stack: Vec<Value<'a>>,
    slots: Vec<Option<Value<'a>>>,
    loops: Vec<Loop<'a>>,
    returns: Vec<usize>,
    at: usize,
}

impl<'a> Machine<'a, '_> {
    /// Whether the variable of this name has to be evaluated first. That is done next, and then the operation that
    /// asked once more.
    pub(super) fn waits(&mut self, key: &Value<'a>) -> bool {
        let (Value::String(name), Some(computed)) = (key, self.computed.as_deref_mut()) else { return false };
        let Some((place, code)) = computed.begin(name) else { return false };
        // All variables share one allowance, since all their values are kept.
        if !self.callers.is_empty() {
            computed.count(self.meter.cost - self.counted);
            self.counted = self.meter.cost;
            if computed.is_spent() {
                self.meter.broken = Some(OVER);
                return true;
            }
            computed.allowance = std::mem::take(&mut self.meter.allowance);
        }
        let mut meter = Meter::new(EXPRESSION_LIMIT);
        meter.allowance = std::mem::take(&mut computed.allowance);
        self.callers.push(Caller {
            waits_for: place,
            code: std::mem::replace(&mut self.code, code),
            meter: std::mem::replace(&mut self.meter, meter),
            counted: std::mem::take(&mut self.counted),
            stack: std::mem::take(&mut self.stack),
            slots: std::mem::replace(&mut self.slots, vec![None; code.slots as usize]),
            loops: std::mem::take(&mut self.loops),
            returns: std::mem::take(&mut self.returns),
            at: std::mem::take(&mut self.at).saturating_sub(1),
        });
        true
    }

    /// Keeps `value` as that of the variable just evaluated and goes on with what waited for it; false when nothing did.
    pub(super) fn goes_on_with(&mut self, value: &Value<'a>) -> bool {
        let (Some(caller), Some(computed)) = (self.callers.pop(), self.computed.as_deref_mut()) else {
            return false;
        };
        computed.count(self.meter.cost - self.counted);
        computed.allowance = std::mem::take(&mut self.meter.allowance);
        computed.end(caller.waits_for, value);
        let Caller { waits_for: _, code, meter, counted, stack, slots, loops, returns, at } = caller;
        self.code = code;
        self.meter = meter;
        self.counted = counted;
        (self.stack, self.slots, self.loops, self.returns, self.at) = (stack, slots, loops, returns, at);
        if !self.callers.is_empty() {
            self.meter.allowance = std::mem::take(&mut computed.allowance);
        }
        if computed.is_spent() {
            self.meter.broken = Some(OVER);
        }
        true
    }

    /// The value of a variable, or nothing if there is none of this name.
    pub(super) fn variable(&self, name: &str) -> Option<Value<'a>> {
        self.computed.as_deref()?.value(name)
    }
}
