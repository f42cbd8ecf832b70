//! Amounts of resources, as Kubernetes' own `resource.Quantity` parses and adds them.
//!
//! The workspace's exact amounts do not serve here: whether a quantity is an integer depends on how it was written
//! (`1000m` is none), and there is no largest one.

mod amount;

pub(crate) use amount::Quantity;

use super::{Declaration, Scene, no_such_overload};
use crate::cel::value::{Opaque, Value};

pub(super) const FUNCTIONS: &[Declaration] = &[
    Declaration {
        name: "quantity",
        single: false,
        overloads: &[("string_to_quantity", "(string): kubernetes.Quantity", quantity)],
    },
    Declaration {
        name: "isQuantity",
        single: false,
        overloads: &[("is_quantity_string", "(string): bool", is)],
    },
    Declaration {
        name: "sign",
        single: false,
        overloads: &[("quantity_sign", "(kubernetes.Quantity): int", |_, arguments| {
            one(arguments, |of| Value::Int(of.sign()))
        })],
    },
    Declaration {
        name: "isGreaterThan",
        single: false,
        overloads: &[(
            "quantity_is_greater_than",
            "kubernetes.Quantity.(kubernetes.Quantity): bool",
            |_, arguments| two(arguments, |left, right| Value::Bool(left.cmp(right).is_gt())),
        )],
    },
    Declaration {
        name: "isLessThan",
        single: false,
        overloads: &[(
            "quantity_is_less_than",
            "kubernetes.Quantity.(kubernetes.Quantity): bool",
            |_, arguments| two(arguments, |left, right| Value::Bool(left.cmp(right).is_lt())),
        )],
    },
    Declaration {
        name: "compareTo",
        single: false,
        overloads: &[(
            "quantity_compare_to",
            "kubernetes.Quantity.(kubernetes.Quantity): int",
            |_, arguments| two(arguments, |left, right| Value::Int(left.cmp(right) as i64)),
        )],
    },
    Declaration {
        name: "asApproximateFloat",
        single: false,
        overloads: &[("quantity_get_float", "kubernetes.Quantity.(): double", |_, arguments| {
            one(arguments, |of| Value::Double(of.approximate()))
        })],
    },
    Declaration {
        name: "asInteger",
        single: false,
        overloads: &[("quantity_get_int", "kubernetes.Quantity.(): int", |_, arguments| {
            one(arguments, |of| {
                of.integer().map_or_else(|| Value::error("cannot convert value to integer"), Value::Int)
            })
        })],
    },
    Declaration {
        name: "isInteger",
        single: false,
        overloads: &[("quantity_is_integer", "kubernetes.Quantity.(): bool", |_, arguments| {
            one(arguments, |of| Value::Bool(of.integer().is_some()))
        })],
    },
    Declaration {
        name: "add",
        single: false,
        overloads: &[
            ("quantity_add", "kubernetes.Quantity.(kubernetes.Quantity): kubernetes.Quantity", add),
            ("quantity_add_int", "kubernetes.Quantity.(int): kubernetes.Quantity", add),
        ],
    },
    Declaration {
        name: "sub",
        single: false,
        overloads: &[
            ("quantity_sub", "kubernetes.Quantity.(kubernetes.Quantity): kubernetes.Quantity", subtract),
            ("quantity_sub_int", "kubernetes.Quantity.(int): kubernetes.Quantity", subtract),
        ],
    },
];

fn of<'v>(value: &'v Value<'_>) -> Option<&'v Quantity> {
    match value {
        Value::Opaque(value) => match &*value.0 {
            Opaque::Quantity(quantity) => Some(quantity),
            _ => None,
        },
        _ => None,
    }
}

fn one<'a>(arguments: &[Value<'a>], then: impl FnOnce(&Quantity) -> Value<'a>) -> Value<'a> {
    match arguments {
        [value] => of(value).map_or_else(no_such_overload, then),
        _ => no_such_overload(),
    }
}

fn two<'a>(arguments: &[Value<'a>], then: impl FnOnce(&Quantity, &Quantity) -> Value<'a>) -> Value<'a> {
    match arguments {
        [left, right] => match (of(left), of(right)) {
            (Some(left), Some(right)) => then(left, right),
            _ => no_such_overload(),
        },
        _ => no_such_overload(),
    }
}

fn quantity<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::String(text)] => {
            Quantity::parse(text).map_or_else(Value::error, |of| Value::opaque(Opaque::Quantity(of)))
        }
        _ => no_such_overload(),
    }
}

fn is<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::String(text)] => Value::Bool(Quantity::parse(text).is_ok()),
        _ => no_such_overload(),
    }
}

fn sum<'a>(arguments: &[Value<'a>], negate: bool) -> Value<'a> {
    let [left, right] = arguments else { return no_such_overload() };
    let Some(left) = of(left) else { return no_such_overload() };
    let sum = match right {
        Value::Int(value) => left.plus(&Quantity::whole(*value), negate),
        right => match of(right) {
            Some(right) => left.plus(right, negate),
            None => return no_such_overload(),
        },
    };
    Value::opaque(Opaque::Quantity(sum))
}

fn add<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    sum(arguments, false)
}

fn subtract<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    sum(arguments, true)
}
