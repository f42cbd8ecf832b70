//! Lists: order, sums, extremes, places of elements, and lists made from lists.

use std::cmp::Ordering;

use super::{Declaration, Scene, arithmetic, no_such_overload};
use crate::cel::cost::too_much;
use crate::cel::value::{Equality, List, Value, compare, equal};

pub(super) const FUNCTIONS: &[Declaration] = &[
    Declaration {
        name: "isSorted",
        single: false,
        overloads: &[
            ("list_int_is_sorted_bool", "list(int).(): bool", is_sorted),
            ("list_uint_is_sorted_bool", "list(uint).(): bool", is_sorted),
            ("list_double_is_sorted_bool", "list(double).(): bool", is_sorted),
            ("list_bool_is_sorted_bool", "list(bool).(): bool", is_sorted),
            ("list_duration_is_sorted_bool", "list(duration).(): bool", is_sorted),
            ("list_timestamp_is_sorted_bool", "list(timestamp).(): bool", is_sorted),
            ("list_string_is_sorted_bool", "list(string).(): bool", is_sorted),
            ("list_bytes_is_sorted_bool", "list(bytes).(): bool", is_sorted),
        ],
    },
    Declaration {
        name: "sum",
        single: false,
        overloads: &[
            ("list_int_sum_int", "list(int).(): int", |scene, arguments| {
                sum(scene, arguments, Value::Int(0))
            }),
            ("list_uint_sum_uint", "list(uint).(): uint", |scene, arguments| {
                sum(scene, arguments, Value::Uint(0))
            }),
            ("list_double_sum_double", "list(double).(): double", |scene, arguments| {
                sum(scene, arguments, Value::Double(0.0))
            }),
            ("list_duration_sum_duration", "list(duration).(): duration", |scene, arguments| {
                sum(scene, arguments, Value::Duration(0))
            }),
        ],
    },
    Declaration {
        name: "max",
        single: false,
        overloads: &[
            ("list_int_max_int", "list(int).(): int", max),
            ("list_uint_max_uint", "list(uint).(): uint", max),
            ("list_double_max_double", "list(double).(): double", max),
            ("list_bool_max_bool", "list(bool).(): bool", max),
            ("list_duration_max_duration", "list(duration).(): duration", max),
            ("list_timestamp_max_timestamp", "list(timestamp).(): timestamp", max),
            ("list_string_max_string", "list(string).(): string", max),
            ("list_bytes_max_bytes", "list(bytes).(): bytes", max),
        ],
    },
    Declaration {
        name: "min",
        single: false,
        overloads: &[
            ("list_int_min_int", "list(int).(): int", min),
            ("list_uint_min_uint", "list(uint).(): uint", min),
            ("list_double_min_double", "list(double).(): double", min),
            ("list_bool_min_bool", "list(bool).(): bool", min),
            ("list_duration_min_duration", "list(duration).(): duration", min),
            ("list_timestamp_min_timestamp", "list(timestamp).(): timestamp", min),
            ("list_string_min_string", "list(string).(): string", min),
            ("list_bytes_min_bytes", "list(bytes).(): bytes", min),
        ],
    },
    Declaration {
        name: "indexOf",
        single: false,
        overloads: &[("list_a_index_of_int", "list(A).(A): int", |scene, arguments| {
            place(scene, arguments, false)
        })],
    },
    Declaration {
        name: "lastIndexOf",
        single: false,
        overloads: &[("list_a_last_index_of_int", "list(A).(A): int", |scene, arguments| {
            place(scene, arguments, true)
        })],
    },
    Declaration {
        name: "slice",
        single: false,
        overloads: &[("list_slice", "list(A).(int, int): list(A)", slice)],
    },
    Declaration {
        name: "flatten",
        single: true,
        overloads: &[
            ("list_flatten", "list(list(A)).(): list(A)", flatten),
            ("list_flatten_int", "list(dyn).(int): list(dyn)", flatten),
        ],
    },
    Declaration {
        name: "sort",
        single: true,
        overloads: &[
            ("list_int_sort", "list(int).(): list(int)", sort),
            ("list_uint_sort", "list(uint).(): list(uint)", sort),
            ("list_double_sort", "list(double).(): list(double)", sort),
            ("list_bool_sort", "list(bool).(): list(bool)", sort),
            ("list_google.protobuf.Duration_sort", "list(duration).(): list(duration)", sort),
            ("list_google.protobuf.Timestamp_sort", "list(timestamp).(): list(timestamp)", sort),
            ("list_string_sort", "list(string).(): list(string)", sort),
            ("list_bytes_sort", "list(bytes).(): list(bytes)", sort),
        ],
    },
    Declaration {
        name: "@sortByAssociatedKeys",
        single: true,
        overloads: &[
            ("list_int_sortByAssociatedKeys", "list(A).(list(int)): list(A)", sort_by),
            ("list_uint_sortByAssociatedKeys", "list(A).(list(uint)): list(A)", sort_by),
            ("list_double_sortByAssociatedKeys", "list(A).(list(double)): list(A)", sort_by),
            ("list_bool_sortByAssociatedKeys", "list(A).(list(bool)): list(A)", sort_by),
            (
                "list_google.protobuf.Duration_sortByAssociatedKeys",
                "list(A).(list(duration)): list(A)",
                sort_by,
            ),
            (
                "list_google.protobuf.Timestamp_sortByAssociatedKeys",
                "list(A).(list(timestamp)): list(A)",
                sort_by,
            ),
            ("list_string_sortByAssociatedKeys", "list(A).(list(string)): list(A)", sort_by),
            ("list_bytes_sortByAssociatedKeys", "list(A).(list(bytes)): list(A)", sort_by),
        ],
    },
    Declaration {
        name: "lists.range",
        single: false,
        overloads: &[("lists_range", "(int): list(int)", range)],
    },
    Declaration {
        name: "reverse",
        single: false,
        overloads: &[("list_reverse", "list(A).(): list(A)", reverse)],
    },
    Declaration {
        name: "distinct",
        single: false,
        overloads: &[("list_distinct", "list(A).(): list(A)", distinct)],
    },
];

/// Items that a list may have to be gone through by a function that is not charged for each.
fn look(scene: &mut Scene<'_>, list: &List<'_>) -> bool {
    scene.meter.look(list.len() as u64)
}

fn is_sorted<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [Value::List(list)] = arguments else { return no_such_overload() };
    if !look(scene, list) {
        return too_much();
    }
    let mut before: Option<Value<'a>> = None;
    for item in list.iter() {
        if !comparable(&item) {
            return no_such_overload();
        }
        if let Some(before) = &before
            && compare(before, &item) == Some(Ok(Ordering::Greater))
        {
            return Value::Bool(false);
        }
        before = Some(item);
    }
    Value::Bool(true)
}

fn comparable(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::Duration(_)
            | Value::Timestamp(_)
    )
}

fn sum<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>], zero: Value<'a>) -> Value<'a> {
    let [Value::List(list)] = arguments else { return no_such_overload() };
    if !look(scene, list) {
        return too_much();
    }
    let mut total = zero;
    for item in list.iter() {
        total = arithmetic::add(scene, &[total, item]);
        if total.is_error() {
            return total;
        }
    }
    total
}

fn max<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    extreme(scene, arguments, "max", Ordering::Less)
}

fn min<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    extreme(scene, arguments, "min", Ordering::Greater)
}

/// The element that none of the others beats; one beats it when it compares as `beaten` to it.
fn extreme<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>], name: &str, beaten: Ordering) -> Value<'a> {
    let [Value::List(list)] = arguments else { return no_such_overload() };
    if !look(scene, list) {
        return too_much();
    }
    let mut best: Option<Value<'a>> = None;
    for item in list.iter() {
        if !comparable(&item) {
            return no_such_overload();
        }
        match &best {
            Some(so_far) if compare(so_far, &item) != Some(Ok(beaten)) => {}
            _ => best = Some(item),
        }
    }
    best.unwrap_or_else(|| Value::error(format!("{name} called on empty list")))
}

fn place<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>], last: bool) -> Value<'a> {
    let [Value::List(list), wanted] = arguments else { return no_such_overload() };
    if !look(scene, list) {
        return too_much();
    }
    let mut matching = |index: &usize| {
        list.get(*index)
            .is_some_and(|item| equal(&item, wanted, &mut scene.meter.allowance.work) == Equality::Equal)
    };
    let found =
        if last { (0..list.len()).rev().find(&mut matching) } else { (0..list.len()).find(&mut matching) };
    Value::Int(found.and_then(|index| i64::try_from(index).ok()).unwrap_or(-1))
}

fn slice<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [Value::List(list), Value::Int(start), Value::Int(end)] = arguments else {
        return no_such_overload();
    };
    let (Ok(from), Ok(to)) = (usize::try_from(*start), usize::try_from(*end)) else {
        return Value::error(format!("cannot slice({start}, {end}), negative indexes not supported"));
    };
    if from > to {
        return Value::error(format!(
            "cannot slice({start}, {end}), start index must be less than or equal to end index"
        ));
    }
    if to > list.len() {
        return Value::error(format!("cannot slice({start}, {end}), list is length {}", list.len()));
    }
    if !scene.meter.look((to - from) as u64) {
        return too_much();
    }
    List::made((from..to).filter_map(|index| list.get(index)).collect())
}

/// Lists within lists become their elements, down to a depth.
fn flatten<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let (list, depth) = match arguments {
        [Value::List(list)] => (list, 1),
        [Value::List(list), Value::Int(depth)] => (list, *depth),
        // The one function that is told as it is called, and by its types in whole.
        [list] => return Value::error(format!("no such overload: {}.flatten()", whole_name(list))),
        [list, depth] => {
            let (list, depth) = (whole_name(list), depth.type_name());
            return Value::error(format!("no such overload: {list}.flatten({depth})"));
        }
        _ => return no_such_overload(),
    };
    let Ok(depth) = usize::try_from(depth) else { return Value::error("level must be non-negative") };
    let mut items = Vec::new();
    let mut open = vec![(list.clone(), 0)];
    while let Some((list, at)) = open.pop() {
        let Some(item) = list.get(at) else { continue };
        if !scene.meter.look(1) || !scene.meter.take(size_of::<Value<'_>>()) {
            return too_much();
        }
        open.push((list, at + 1));
        match item {
            Value::List(inner) if open.len() <= depth => open.push((inner, 0)),
            item => items.push(item),
        }
    }
    List::made(items)
}

fn whole_name<'v>(value: &'v Value<'_>) -> &'v str {
    match value {
        Value::List(_) => "list(dyn)",
        Value::Map(_) => "map(dyn, dyn)",
        other => other.type_name(),
    }
}

fn sort<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::List(list)] => sorted(scene, list, list),
        _ => no_such_overload(),
    }
}

fn sort_by<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::List(list), Value::List(keys)] => sorted(scene, list, keys),
        _ => no_such_overload(),
    }
}

/// The elements of `list` in the order of their `keys`.
fn sorted<'a>(scene: &mut Scene<'_>, list: &List<'a>, keys: &List<'a>) -> Value<'a> {
    if list.len() != keys.len() {
        return Value::error(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} \
             elements respectively",
            list.len(),
            keys.len()
        ));
    }
    if !look(scene, list) {
        return too_much();
    }
    let Some(first) = keys.get(0) else { return Value::List(list.clone()) };
    if !comparable(&first) {
        return Value::error("list elements must be comparable");
    }
    let mut pairs: Vec<(Value<'a>, Value<'a>)> = keys.iter().zip(list.iter()).collect();
    // A single element is not compared, so its type does not matter either.
    if pairs.len() > 1 && pairs.iter().any(|(key, _)| key.type_name() != first.type_name()) {
        return Value::error("list elements must have the same type");
    }
    pairs.sort_by(|(left, _), (right, _)| match compare(left, right) {
        Some(Ok(ordering)) => ordering,
        _ => Ordering::Equal,
    });
    List::made(pairs.into_iter().map(|(_, item)| item).collect())
}

fn range<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::Int(length)] => Value::List(List::range(usize::try_from(*length).unwrap_or(0))),
        _ => no_such_overload(),
    }
}

fn reverse<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [Value::List(list)] = arguments else { return no_such_overload() };
    if !look(scene, list) {
        return too_much();
    }
    List::made((0..list.len()).rev().filter_map(|index| list.get(index)).collect())
}

fn distinct<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [Value::List(list)] = arguments else { return no_such_overload() };
    let mut kept: Vec<Value<'a>> = Vec::new();
    for item in list.iter() {
        if !scene.meter.look(kept.len() as u64 + 1) {
            return too_much();
        }
        if !kept.iter().any(|known| equal(&item, known, &mut scene.meter.allowance.work) == Equality::Equal) {
            kept.push(item);
        }
    }
    List::made(kept)
}
