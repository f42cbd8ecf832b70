//! The valid objects together use everything that the definitions offer, so that what the other tests say about them
//! is said about all of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::corpus::{text, valid_objects};
use crate::properties;

#[test]
fn every_property_is_used_by_the_corpus() {
    let (all, used) = (properties::all(), values_in_the_corpus());
    println!("properties: {}, covered: {}", all.len(), used.len());
    let unused: Vec<&String> = all.keys().filter(|path| !used.contains_key(*path)).collect();
    assert!(unused.is_empty(), "no object of tests/corpus/valid uses {unused:#?}");
}

#[test]
fn every_property_has_a_description() {
    let all = properties::all();
    let described = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
    let silent: Vec<_> = all.iter().filter(|(_, schema)| !described(&schema.description)).collect();
    println!("properties: {}, described: {}", all.len(), all.len() - silent.len());
    let silent: Vec<&String> = silent.into_iter().map(|(path, _)| path).collect();
    assert!(silent.is_empty(), "`kubectl explain` says nothing about {silent:#?}");
    for (kind, schema) in properties::schemas() {
        assert!(described(&schema.description), "`kubectl explain` says nothing about {kind}");
    }
}

#[test]
fn every_choice_is_made_by_the_corpus() {
    let used = values_in_the_corpus();
    let (mut offered, mut missing) = (0, Vec::new());
    for (path, schema) in properties::all() {
        let of_items = || properties::items(&schema)?.enum_.as_ref();
        let choices = schema.enum_.as_ref().or_else(of_items).into_iter().flatten();
        let choices: Vec<String> = choices.map(|choice| choice.0.to_string()).collect();
        offered += choices.len();
        let made = used.get(&path).cloned().unwrap_or_default();
        missing.extend(
            choices.iter().filter(|choice| !made.contains(*choice)).map(|choice| format!("{path}: {choice}")),
        );
    }
    println!("choices: {offered}, covered: {}", offered - missing.len());
    assert!(missing.is_empty(), "no object of tests/corpus/valid has {missing:#?}");
}

/// The values, as JSON, that the corpus gives each property; a list counts as its items.
fn values_in_the_corpus() -> BTreeMap<String, BTreeSet<String>> {
    let schemas: BTreeMap<_, _> = properties::schemas().collect();
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for object in valid_objects() {
        let kind = text(&object, "/kind");
        properties::visit_object(kind, schemas[kind], &object, &mut |path, value| {
            let values = used.entry(path.to_owned()).or_default();
            match value {
                Value::Array(items) => values.extend(items.iter().map(Value::to_string)),
                Value::Object(_) => {}
                value => {
                    values.insert(value.to_string());
                }
            }
        });
    }
    used
}
