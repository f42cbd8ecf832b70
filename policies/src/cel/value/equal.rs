//! Whether two values are the same.

use std::cmp::Ordering;

use super::{Value, compare};

/// The answer to whether two values are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Equality {
    Equal,
    Different,
    /// Values of Kubernetes' own types compare with their like only, and errors with nothing.
    NotComparable,
    /// There was more to look at than `work` allowed.
    TooMuch,
}

/// What one step into a container counts as; it is slower than comparing two scalars.
const STEP: u64 = 5;

/// Lists within joined lists that are passed in the time that a scalar is compared.
const HOPS: u64 = 4;

/// Compares two values, looking at no more than `work` parts of them, without recursion.
pub(crate) fn equal(left: &Value<'_>, right: &Value<'_>, work: &mut u64) -> Equality {
    if let (Value::Optional(Some(left)), Value::Optional(Some(right))) = (left, right) {
        return equal(left, right, work);
    }
    match shallow(left, right) {
        Some(answer) => answer,
        None => deep(left, right, work),
    }
}

fn of(equal: bool) -> Option<Equality> {
    Some(if equal { Equality::Equal } else { Equality::Different })
}

/// Compares what needs no look inside; nothing for two containers of one kind.
fn shallow(left: &Value<'_>, right: &Value<'_>) -> Option<Equality> {
    match (left, right) {
        (Value::String(left), Value::String(right)) => of(**left == **right),
        (Value::Null, Value::Null) => of(true),
        (Value::Null, _) | (_, Value::Null) => of(false),
        (
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
        ) => of(compare(left, right) == Some(Ok(Ordering::Equal))),
        (Value::Bool(left), Value::Bool(right)) => of(left == right),
        (Value::Bytes(left), Value::Bytes(right)) => of(left == right),
        (Value::Duration(left), Value::Duration(right)) => of(left == right),
        (Value::Timestamp(left), Value::Timestamp(right)) => of(left == right),
        (Value::Type(left), Value::Type(right)) => of(left == right),
        (Value::List(left), Value::List(right)) if left.len() == right.len() => None,
        (Value::Map(left), Value::Map(right)) if left.len() == right.len() => None,
        (Value::Object(left), Value::Object(right)) if left.name() == right.name() => None,
        (Value::Optional(Some(_)), Value::Optional(Some(_))) => None,
        (Value::Optional(None), Value::Optional(None)) => of(true),
        (Value::Opaque(left), Value::Opaque(right)) => match left.0.same(&right.0) {
            Some(same) => of(same),
            None => Some(Equality::NotComparable),
        },
        (Value::Variables, Value::Variables) => of(true),
        (Value::Opaque(_) | Value::Variables | Value::Error(_), _) | (_, Value::Error(_)) => {
            Some(Equality::NotComparable)
        }
        _ => of(false),
    }
}

fn deep(left: &Value<'_>, right: &Value<'_>, work: &mut u64) -> Equality {
    let mut pending = vec![(left.clone(), right.clone(), 0_usize)];
    while let Some((left, right, at)) = pending.pop() {
        let hops = match (&left, &right) {
            (Value::List(one), Value::List(other)) => u64::from(one.hops() + other.hops()) / HOPS,
            _ => 0,
        };
        let Some(rest) = work.checked_sub(STEP + hops) else { return Equality::TooMuch };
        *work = rest;
        let (inner, again) = match (&left, &right) {
            (Value::List(one), Value::List(other)) => match (one.get(at), other.get(at)) {
                (Some(one), Some(other)) => ((one, other), true),
                _ => continue,
            },
            (Value::Map(one), Value::Map(other)) => {
                let Some((key, value)) = one.entry(at) else { continue };
                let Some(other) = other.find(&key) else { return Equality::Different };
                ((value, other), true)
            }
            (Value::Object(one), Value::Object(other)) => {
                let maps = (Value::Map(one.fields().clone()), Value::Map(other.fields().clone()));
                if one.fields().len() != other.fields().len() {
                    return Equality::Different;
                }
                (maps, false)
            }
            (Value::Optional(Some(one)), Value::Optional(Some(other))) => {
                (((**one).clone(), (**other).clone()), false)
            }
            _ => continue,
        };
        if again {
            pending.push((left, right, at + 1));
        }
        match shallow(&inner.0, &inner.1) {
            Some(Equality::Different) => return Equality::Different,
            // Parts that cannot be compared are passed over, as Kubernetes passes over them.
            Some(_) => {}
            None => pending.push((inner.0, inner.1, 0)),
        }
    }
    Equality::Equal
}
