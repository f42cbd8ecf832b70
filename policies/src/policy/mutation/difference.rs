//! The smallest JSON Patch that makes one object of another.

use serde_json::Value;

use super::MAXIMUM_DEPTH;

/// One operation: the kind, the place, and what is written there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step<'a> {
    pub(crate) op: &'static str,
    pub(crate) path: String,
    pub(crate) value: Option<&'a Value>,
}

/// The steps from `before` to `after`, in the order in which they are to be taken. Objects and lists that both have are
/// gone into, so that nothing is written that is there already.
pub(crate) fn difference<'a>(before: &Value, after: &'a Value) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    compare(before, after, &mut String::new(), 0, &mut steps);
    steps
}

fn compare<'a>(before: &Value, after: &'a Value, path: &mut String, depth: usize, steps: &mut Vec<Step<'a>>) {
    if before == after {
        return;
    }
    match (before, after) {
        (Value::Object(old), Value::Object(new)) if depth < MAXIMUM_DEPTH => {
            for key in old.keys().filter(|key| !new.contains_key(*key)) {
                at(path, key, |path| steps.push(Step { op: "remove", path: path.clone(), value: None }));
            }
            for (key, value) in new {
                at(path, key, |path| match old.get(key) {
                    Some(old) => compare(old, value, path, depth + 1, steps),
                    None => steps.push(Step { op: "add", path: path.clone(), value: Some(value) }),
                });
            }
        }
        (Value::Array(old), Value::Array(new)) if depth < MAXIMUM_DEPTH => {
            let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
            let rest = old.len().min(new.len()) - start;
            let (old_end, new_end) = (old.iter().rev(), new.iter().rev());
            let end = old_end.zip(new_end).take(rest).take_while(|(old, new)| old == new).count();
            let (old_end, new_end) = (old.len() - end, new.len() - end);
            // From the end, so that the places before stay what they were.
            for place in (new_end.max(start)..old_end).rev() {
                at(path, &place.to_string(), |path| {
                    steps.push(Step { op: "remove", path: path.clone(), value: None });
                });
            }
            for (place, value) in new.iter().enumerate().take(new_end).skip(start) {
                at(path, &place.to_string(), |path| match old.get(place).filter(|_| place < old_end) {
                    Some(old) => compare(old, value, path, depth + 1, steps),
                    None => steps.push(Step { op: "add", path: path.clone(), value: Some(value) }),
                });
            }
        }
        _ => steps.push(Step { op: "replace", path: path.clone(), value: Some(after) }),
    }
}

fn at(path: &mut String, name: &str, then: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push('/');
    path.push_str(&name.replace('~', "~0").replace('/', "~1"));
    then(path);
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::json_patch::{Operation, apply};
    use super::*;

    fn steps(before: &Value, after: &Value) -> Vec<String> {
        let line = |step: Step<'_>| match step.value {
            Some(value) => format!("{} {} {value}", step.op, step.path),
            None => format!("{} {}", step.op, step.path),
        };
        difference(before, after).into_iter().map(line).collect()
    }

    #[test]
    fn only_what_differs_is_written() {
        let before = json!({"a": 1, "b": {"c": 2, "d/e": 3}, "l": [1, 2, 3, 4], "m": [{"x": 1}]});
        let after = json!({"b": {"c": 2, "d/e": 4, "f": {}}, "l": [1, 3, 4], "m": [{"x": 2}, {"x": 3}]});
        let expected = [
            "remove /a",
            "replace /b/d~1e 4",
            "add /b/f {}",
            "remove /l/1",
            "replace /m/0/x 2",
            r#"add /m/1 {"x":3}"#,
        ];
        assert_eq!(steps(&before, &after), expected);
        assert!(steps(&after, &after).is_empty());
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(json!(null)), Just(json!(1)), Just(json!(2)), Just(json!("x"))];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::btree_map("[ab/~]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn applying_the_steps_gives_the_other_object(before in any_value(), after in any_value()) {
            let (before, after) = (json!({"x": before}), json!({"x": after}));
            let operations: Vec<Operation> = difference(&before, &after)
                .into_iter()
                .map(|step| Operation {
                    op: step.op.to_owned(),
                    path: step.path,
                    from: String::new(),
                    value: step.value.cloned(),
                })
                .collect();
            prop_assert_eq!(apply(before, &operations).unwrap(), after);
        }
    }
}
