//! A compiled expression: a flat list of operations over a stack.

use std::sync::Arc;

use super::cost::Rule;
use super::functions::regex::Pattern;
use super::functions::{Function, Implementation, Overload};
use super::value::Value;

/// One step. Jumps name the operation to go on with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Pushes a constant.
    Constant(u32),
    /// Pushes a variable.
    Variable {
        place: u32,
        charge: bool,
    },
    /// Pushes the variable of a loop.
    Local {
        slot: u32,
        charge: bool,
    },
    /// Pushes a bound name; its first use computes the value by the block.
    Bound {
        slot: u32,
        block: u32,
        charge: bool,
    },
    /// Ends a block: keeps and leaves the value on top.
    EndBlock {
        slot: u32,
    },
    /// Replaces the top by its part under a constant key.
    Select {
        key: u32,
        mode: Mode,
    },
    /// Before the key of the next `Index` is computed: goes on after it when there is nothing to look into.
    Guard {
        to: u32,
        charge: bool,
    },
    /// Replaces container and key by the part under the key.
    Index(Mode),
    /// After a term of `&&` or `||` but the first: combines it with those before, and may know the result.
    Combine {
        stop: bool,
        to: u32,
    },
    /// After the first term.
    First {
        stop: bool,
        to: u32,
    },
    /// Takes the condition: goes on, or to `otherwise`, or to `end` with an error.
    Branch {
        otherwise: u32,
        end: u32,
    },
    Jump {
        to: u32,
    },
    /// If the top is an error, drops `below` values under it and goes to `to`.
    Bail {
        below: u32,
        to: u32,
        charge: u32,
    },
    /// Like `Bail`, also if the top is not an optional.
    Require {
        below: u32,
        to: u32,
        charge: u32,
    },
    /// Makes a list of the top values; those at the places listed may be left out.
    List {
        count: u32,
        optional: u32,
    },
    /// Makes a map of the top keys and values.
    Map {
        count: u32,
        optional: u32,
    },
    /// Makes a message of the top values.
    Message(u32),
    Call(u32),
    Equal {
        negate: bool,
    },
    /// Replaces the top by whether it is one of a constant set.
    Among(u32),
    /// `or` and `orValue`: decides whether the right side is needed.
    Or {
        unwrap: bool,
        to: u32,
    },
    /// Takes the range and begins the loop; with an error, it is over.
    Begin {
        fold: u32,
        to: u32,
    },
    /// Binds the next element, or goes to `to`.
    Next {
        to: u32,
    },
    /// Takes the loop's condition: goes to `to` unless it holds.
    While {
        to: u32,
    },
    /// Takes what was gathered and goes back.
    Gather {
        slot: u32,
        to: u32,
    },
    /// Forgets the loop, before its result.
    End,
    /// Takes an element and pushes the accumulator with it appended.
    Append {
        slot: u32,
        charge: u32,
    },
    /// Rereads the top, as a name does.
    Reread,
    /// Takes back what one selection costs.
    Refund,
    /// Drops the top.
    Drop,
    /// Takes a key and a value and pushes the accumulator with them.
    Insert {
        slot: u32,
    },
    /// Takes a map, and the accumulator under it, and pushes the accumulator with the map's entries.
    InsertAll {
        slot: u32,
    },
}

/// How a part is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode {
    /// Written with `?`: absent gives an empty optional.
    pub(crate) optional: bool,
    /// `has`: gives only whether it is there.
    pub(crate) test: bool,
    /// The end of a chain, which costs itself.
    pub(crate) charge: bool,
    /// Another selection follows in the chain.
    pub(crate) followed: bool,
}

/// A call with what is known of it before.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) function: &'static Function,
    pub(crate) member: bool,
    /// The implementation, when types left only one.
    pub(crate) call: Option<Implementation>,
    /// The overload whose signature values are held against.
    pub(crate) guard: Option<&'static Overload>,
    pub(crate) rule: Rule,
    pub(crate) arguments: usize,
    pub(crate) pattern: Option<Pattern>,
    /// Takes errors too.
    pub(crate) lenient: bool,
}

/// The places of a loop's variables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold {
    pub(crate) accumulator: u32,
    pub(crate) first: u32,
    pub(crate) second: Option<u32>,
    /// The constant it begins with; none for a bound name, which computes its value itself.
    pub(crate) initial: Option<u32>,
}

/// Everything evaluation needs.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub(crate) operations: Vec<Op>,
    pub(crate) constants: Vec<Value<'static>>,
    pub(crate) sites: Vec<Site>,
    pub(crate) folds: Vec<Fold>,
    pub(crate) sets: Vec<super::compile::Set>,
    pub(crate) optionals: Vec<Vec<bool>>,
    pub(crate) messages: Vec<Message>,
    pub(crate) slots: u32,
}

impl Code {
    /// The fields that are selected from the variable at this place; nothing stands for anything else done with it.
    pub(crate) fn fields(&self, place: usize) -> impl Iterator<Item = Option<&str>> {
        let of_variable =
            move |op: &Op| matches!(op, Op::Variable { place: own, .. } if *own as usize == place);
        let pairs = self.operations.iter().zip(self.operations.iter().skip(1).map(Some).chain([None]));
        pairs.filter(move |(op, _)| of_variable(op)).map(|(_, next)| match next {
            Some(Op::Select { key, .. }) => match self.constants.get(*key as usize) {
                Some(Value::String(name)) => Some(&**name),
                _ => None,
            },
            _ => None,
        })
    }

    /// Operations and constants count one each; the states of patterns more, since several engines are made of them.
    pub(crate) fn weight(&self) -> u64 {
        let patterns = self.sites.iter().filter_map(|site| site.pattern.as_ref());
        let states: u64 = patterns.map(|pattern| pattern.states).sum();
        states
            .saturating_mul(WEIGHT_OF_A_STATE)
            .saturating_add((self.operations.len() + self.constants.len()) as u64)
    }
}

/// What a state of a pattern weighs, next to an operation.
const WEIGHT_OF_A_STATE: u64 = 4;

/// A message that is made: its type, and the fields in the order of their values.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) name: Arc<str>,
    /// Each name, and whether its value is an optional to be taken out.
    pub(crate) fields: Vec<(Arc<str>, bool)>,
}
