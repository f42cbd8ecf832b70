//! How much work a schema can make, counted before any of it is done.
//!
//! A few lines of JSON Schema can ask for more steps than anybody waits for: definitions that each apply the next one
//! twice, or a schema that applies itself twice to every level of the values. The gate answers everybody, so the steps are
//! counted first. Applications that repeat are counted as often as they repeat but looked at once, which keeps counting
//! cheap where validating is not. There is no clock in it: the same schema and values always get the same answer.
//!
//! What cannot be counted is refused: references that depend on who refers (`$dynamicRef`), or on names given elsewhere
//! (`$id`, `$anchor`).

use std::collections::HashMap;

use butler_api::excerpt::excerpt;
use serde_json::{Map, Value};

/// How many steps one value may take, without what is inside it.
const MOST_ON_ONE_VALUE: u64 = 10_000;
/// How many steps the validation of an object's values may take. A chart's largest values take a few thousand.
const MOST_IN_ALL: u64 = 500_000;
/// How many schemas may be applied within each other, counting each level of the values; both the count and the
/// validation recurse.
const DEEPEST: usize = 200;
/// Each pattern becomes a machine of its own.
const MOST_PATTERNS: usize = 128;
/// A text is walked through by each schema that applies to it; so many bytes are one step.
const BYTES_PER_STEP: usize = 64;

/// Keywords with one schema that applies to the same value.
const SAME: [&str; 4] = ["not", "if", "then", "else"];
/// Keywords with a list of schemas that apply to the same value.
const SAME_LIST: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords with schemas by name that apply to the same value.
const SAME_BY_NAME: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Keywords with schemas, one or a list, for the entries of a list.
const ENTRIES: [&str; 5] = ["items", "prefixItems", "additionalItems", "contains", "unevaluatedItems"];

/// Why a schema, or its use on certain values, is refused. Said of the schema.
pub(super) type Refusal = String;

/// Refuses a schema that makes too much work on any one value, or whose work cannot be counted.
pub(super) fn check_schema(root: &Value) -> Result<(), Refusal> {
    let mut patterns = 0;
    check_words(root, true, &mut patterns)?;
    if patterns > MOST_PATTERNS {
        return Err(format!("it has {patterns} patterns; at most {MOST_PATTERNS} are allowed"));
    }
    let mut count = Count { root, known: HashMap::new(), most: MOST_ON_ONE_VALUE, spent: 0 };
    let (mut seen, mut open) = (std::collections::HashSet::new(), vec![root]);
    while let Some(schema) = open.pop() {
        if !seen.insert(address(schema)) {
            continue;
        }
        count.steps(schema, Node::Any, 0)?;
        open.extend(same_value(root, schema)?);
        open.extend(inside(schema));
    }
    Ok(())
}

/// Refuses a schema that makes too much work on these values.
pub(super) fn check_values(root: &Value, values: &Value) -> Result<(), Refusal> {
    let mut count = Count { root, known: HashMap::new(), most: MOST_IN_ALL, spent: 0 };
    count.steps(root, Node::Value(values), 0).map(|_| ())
}

/// Words that give places other names. Wherever they are: what is no schema here may be one by a reference.
fn check_words(value: &Value, is_root: bool, patterns: &mut usize) -> Result<(), Refusal> {
    match value {
        Value::Array(entries) => entries.iter().try_for_each(|entry| check_words(entry, false, patterns)),
        Value::Object(fields) => fields.iter().try_for_each(|(name, field)| {
            let is_text = field.is_string();
            match name.as_str() {
                "$dynamicRef" | "$recursiveRef" if is_text => {
                    return Err(format!("it uses `{name}`; use `$ref` instead"));
                }
                "$id" | "$schema" if is_text && !is_root => {
                    return Err(format!("it uses `{name}` inside; remove it, and refer by `#/$defs/…`"));
                }
                "pattern" if is_text => *patterns += 1,
                "patternProperties" => *patterns += field.as_object().map_or(0, Map::len),
                _ => {}
            }
            check_words(field, false, patterns)
        }),
        _ => Ok(()),
    }
}

/// What a schema is applied to.
#[derive(Clone, Copy)]
enum Node<'a> {
    /// Some value; what is inside it does not count.
    Any,
    /// That value with all that is inside it.
    Value(&'a Value),
    /// The name of a field.
    Name(&'a String),
}

impl Node<'_> {
    fn address(self) -> usize {
        match self {
            Self::Any => 0,
            Self::Value(value) => address(value),
            Self::Name(name) => std::ptr::from_ref(name).addr(),
        }
    }

    fn text(self) -> Option<usize> {
        match self {
            Self::Value(Value::String(text)) | Self::Name(text) => Some(text.len()),
            _ => None,
        }
    }

    /// How many fields or entries it has.
    fn members(self) -> usize {
        match self {
            Self::Any => 1,
            Self::Value(Value::Object(fields)) => fields.len(),
            Self::Value(Value::Array(entries)) => entries.len(),
            Self::Value(_) | Self::Name(_) => 0,
        }
    }
}

/// Neither the schema nor the values move or go while they are counted, so a place in memory is a name.
fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// The steps of one application.
#[derive(Clone, Copy, Default)]
struct Steps {
    /// To find out whether the value is valid.
    validate: u64,
    /// To find out which fields or entries a schema has looked at, which `unevaluatedProperties` asks.
    mark: u64,
}

struct Count<'a> {
    root: &'a Value,
    /// `None` while it is being counted.
    known: HashMap<(usize, usize), Option<Steps>>,
    most: u64,
    /// What counting itself took. All of it would be taken by validating too, so this never refuses more.
    spent: u64,
}

impl<'a> Count<'a> {
    fn steps(&mut self, schema: &'a Value, node: Node<'a>, depth: usize) -> Result<Steps, Refusal> {
        self.spend(1)?;
        let Value::Object(fields) = schema else { return Ok(Steps { validate: 1, mark: 1 }) };
        let key = (address(schema), node.address());
        match self.known.get(&key) {
            Some(Some(steps)) => return Ok(*steps),
            Some(None) => {
                return Err("it refers to itself without end; remove the circle of `$ref`s".to_owned());
            }
            None => {}
        }
        if depth > DEEPEST {
            return Err(format!("it applies more than {DEEPEST} schemas within each other; make it flatter"));
        }
        self.known.insert(key, None);
        let own = own_steps(fields, node);
        self.spend(own)?;
        let mut steps = Steps { validate: own, mark: own };
        for child in same_value(self.root, schema)? {
            let child = self.steps(child, node, depth + 1)?;
            steps.validate = steps.validate.saturating_add(child.validate);
            steps.mark = steps.mark.saturating_add(child.validate).saturating_add(child.mark);
        }
        self.inside(fields, node, depth + 1, &mut steps)?;
        // Asked again for each of the members.
        steps.mark = steps.mark.saturating_mul(as_steps(node.members() + 1));
        if fields.contains_key("unevaluatedProperties") || fields.contains_key("unevaluatedItems") {
            steps.validate = steps.validate.saturating_add(steps.mark);
        }
        if steps.validate > self.most {
            return Err(too_much());
        }
        self.known.insert(key, Some(steps));
        Ok(steps)
    }

    fn spend(&mut self, steps: u64) -> Result<(), Refusal> {
        self.spent = self.spent.saturating_add(steps);
        if self.spent > MOST_IN_ALL { Err(too_much()) } else { Ok(()) }
    }

    /// What is inside the value. Where a pattern decides, it is taken to match.
    fn inside(
        &mut self,
        schema: &'a Map<String, Value>,
        node: Node<'a>,
        depth: usize,
        steps: &mut Steps,
    ) -> Result<(), Refusal> {
        let mut add = |steps: &mut Steps, child: &'a Value, node: Node<'a>| -> Result<(), Refusal> {
            let child = self.steps(child, node, depth)?;
            steps.validate = steps.validate.saturating_add(child.validate);
            Ok(())
        };
        match node {
            Node::Value(Value::Object(members)) => {
                let by_name = schema.get("properties").and_then(Value::as_object);
                let by_pattern = schema.get("patternProperties").and_then(Value::as_object);
                for (name, member) in members {
                    let named = by_name.and_then(|schemas| schemas.get(name));
                    let matching = by_pattern.into_iter().flat_map(Map::values);
                    let others = schema.get("additionalProperties").filter(|_| named.is_none());
                    let rest = schema.get("unevaluatedProperties");
                    for child in named.into_iter().chain(matching).chain(others).chain(rest) {
                        add(steps, child, Node::Value(member))?;
                    }
                    if let Some(child) = schema.get("propertyNames") {
                        add(steps, child, Node::Name(name))?;
                    }
                }
            }
            Node::Value(Value::Array(entries)) => {
                for keyword in ENTRIES {
                    match schema.get(keyword) {
                        Some(Value::Array(schemas)) => {
                            for (child, entry) in schemas.iter().zip(entries) {
                                add(steps, child, Node::Value(entry))?;
                            }
                        }
                        Some(child) => {
                            for entry in entries {
                                add(steps, child, Node::Value(entry))?;
                            }
                        }
                        None => {}
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn too_much() -> Refusal {
    "it applies schemas to the same value too often; let fewer of them apply each other by `allOf`, `anyOf`, `oneOf` or `$ref`"
        .to_owned()
}

fn as_steps(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// The steps of a schema's own keywords, without the schemas in it.
fn own_steps(schema: &Map<String, Value>, node: Node<'_>) -> u64 {
    let listed = |keyword: &str| schema.get(keyword).map_or(0, size);
    let mut steps = 1 + schema.len() + node.members();
    steps += listed("enum") + listed("const") + listed("required") + listed("dependentRequired");
    if let Some(length) = node.text() {
        steps += schema.len() * (length / BYTES_PER_STEP);
        // The machine of a pattern takes a step for each byte, and each step is a longer one.
        steps += if schema.contains_key("pattern") { length } else { 0 };
    }
    if let Node::Value(value) = node {
        if schema.contains_key("uniqueItems") {
            steps += size(value);
        }
        if let (Some(Value::Object(patterns)), Value::Object(members)) =
            (schema.get("patternProperties"), value)
        {
            steps += patterns.len() * members.keys().map(String::len).sum::<usize>();
        }
    }
    as_steps(steps)
}

/// How much there is to compare.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(entries) => 1 + entries.iter().map(size).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(size).sum::<usize>(),
        Value::String(text) => 1 + text.len() / BYTES_PER_STEP,
        _ => 1,
    }
}

/// The schemas that apply to the same value as this one.
fn same_value<'a>(root: &'a Value, schema: &'a Value) -> Result<Vec<&'a Value>, Refusal> {
    let Value::Object(fields) = schema else { return Ok(Vec::new()) };
    let mut all: Vec<&Value> = SAME.iter().filter_map(|keyword| fields.get(*keyword)).collect();
    let lists = SAME_LIST.iter().filter_map(|keyword| fields.get(*keyword)?.as_array());
    all.extend(lists.flatten());
    let named = SAME_BY_NAME.iter().filter_map(|keyword| fields.get(*keyword)?.as_object());
    all.extend(named.flat_map(Map::values));
    if let Some(Value::String(reference)) = fields.get("$ref") {
        all.push(target(root, reference)?);
    }
    Ok(all)
}

/// The schemas that apply to what is inside the value.
fn inside(schema: &Value) -> Vec<&Value> {
    let Value::Object(fields) = schema else { return Vec::new() };
    let named = ["properties", "patternProperties"].into_iter();
    let mut all: Vec<&Value> =
        named.filter_map(|keyword| fields.get(keyword)?.as_object()).flat_map(Map::values).collect();
    for keyword in ENTRIES.iter().chain(&["additionalProperties", "unevaluatedProperties", "propertyNames"]) {
        match fields.get(*keyword) {
            Some(Value::Array(schemas)) => all.extend(schemas),
            Some(schema) => all.push(schema),
            None => {}
        }
    }
    all
}

fn target<'a>(root: &'a Value, reference: &str) -> Result<&'a Value, Refusal> {
    let Some(pointer) = reference.strip_prefix('#') else {
        return Err(
            "it refers to another place, and nothing is fetched; put what it needs under `$defs`".to_owned()
        );
    };
    let found = if pointer.contains('%') { None } else { root.pointer(pointer) };
    found.ok_or_else(|| {
        format!(
            "it refers to `{}`, which leads nowhere; put what it needs under `$defs`, and refer by `#/$defs/…`",
            excerpt(reference)
        )
    })
}

#[cfg(test)]
mod tests;
