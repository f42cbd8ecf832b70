//! Lists as sets.

use super::{Declaration, Scene, no_such_overload};
use crate::cel::cost::too_much;
use crate::cel::value::{Equality, List, Value, equal};

pub(super) const FUNCTIONS: &[Declaration] = &[
    Declaration {
        name: "sets.contains",
        single: false,
        overloads: &[("list_sets_contains_list", "(list(A), list(A)): bool", |scene, arguments| {
            match arguments {
                [Value::List(all), Value::List(some)] => answer(contains(scene, all, some)),
                _ => no_such_overload(),
            }
        })],
    },
    Declaration {
        name: "sets.equivalent",
        single: false,
        overloads: &[("list_sets_equivalent_list", "(list(A), list(A)): bool", |scene, arguments| {
            match arguments {
                [Value::List(left), Value::List(right)] => answer(match contains(scene, left, right) {
                    Some(true) => contains(scene, right, left),
                    other => other,
                }),
                _ => no_such_overload(),
            }
        })],
    },
    Declaration {
        name: "sets.intersects",
        single: false,
        overloads: &[("list_sets_intersects_list", "(list(A), list(A)): bool", |scene, arguments| {
            match arguments {
                [Value::List(left), Value::List(right)] => answer(intersects(scene, left, right)),
                _ => no_such_overload(),
            }
        })],
    },
];

fn answer<'a>(found: Option<bool>) -> Value<'a> {
    found.map_or_else(too_much, Value::Bool)
}

/// Whether `item` is in `list`; nothing when that is too much to look at.
fn has(scene: &mut Scene<'_>, list: &List<'_>, item: &Value<'_>) -> Option<bool> {
    for member in list.iter() {
        if !scene.meter.look(1) {
            return None;
        }
        if equal(item, &member, &mut scene.meter.allowance.work) == Equality::Equal {
            return Some(true);
        }
    }
    Some(false)
}

fn contains(scene: &mut Scene<'_>, all: &List<'_>, some: &List<'_>) -> Option<bool> {
    for item in some.iter() {
        if !has(scene, all, &item)? {
            return Some(false);
        }
    }
    Some(true)
}

fn intersects(scene: &mut Scene<'_>, left: &List<'_>, right: &List<'_>) -> Option<bool> {
    for item in left.iter() {
        if has(scene, right, &item)? {
            return Some(true);
        }
    }
    Some(false)
}
