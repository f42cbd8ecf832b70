//! Mutations that know what a review looks like.

use crate::json::Json;
use crate::material::{BROKEN, DEEP, HUGE, KEYS, NUMBERS, TEXTS, VALUES};
use crate::originals::Original;
use crate::random::Random;

pub(crate) fn mutate(body: &mut Json, originals: &[Original], random: &mut Random) {
    if random.one_in(6) {
        mutate_request(body, originals, random);
    } else if let Some((parent, index)) = somewhere(body, random) {
        mutate_child(parent, index, originals, random);
    }
}

/// A place in the body: a container and one of its children. Most of them inside the object.
fn somewhere<'a>(body: &'a mut Json, random: &mut Random) -> Option<(&'a mut Json, usize)> {
    let mut at = body;
    if !random.one_in(20) {
        at = at.get_mut("request")?;
        if !random.one_in(8) {
            at = at.get_mut(if random.one_in(4) { "oldObject" } else { "object" })?;
            if !random.one_in(5) {
                at = at.get_mut(if random.one_in(4) { "metadata" } else { "spec" })?;
            }
        }
    }
    loop {
        let count = match &*at {
            Json::Object(fields) => fields.len(),
            Json::List(items) => items.len(),
            Json::Text(_) | Json::Raw(_) => 0,
        };
        if count == 0 {
            return None;
        }
        let index = random.below(count);
        if !child(at, index).is_some_and(|child| is_container(child)) || random.one_in(4) {
            return Some((at, index));
        }
        at = child(at, index)?;
    }
}

fn child(parent: &mut Json, index: usize) -> Option<&mut Json> {
    match parent {
        Json::Object(fields) => fields.get_mut(index).map(|(_, value)| value),
        Json::List(items) => items.get_mut(index),
        Json::Text(_) | Json::Raw(_) => None,
    }
}

fn is_container(json: &Json) -> bool {
    match json {
        Json::Object(fields) => !fields.is_empty(),
        Json::List(items) => !items.is_empty(),
        Json::Text(_) | Json::Raw(_) => false,
    }
}

fn mutate_child(parent: &mut Json, index: usize, originals: &[Original], random: &mut Random) {
    match random.below(12) {
        0 | 1 => remove(parent, index),
        2 => repeat(parent, index, 1, random),
        3 => rename(parent, index, random),
        4 => add(parent, random),
        5 => {
            // Rarely: each of these is as much work as a thousand others.
            let most = if random.one_in(100) { 50_000 } else { 64 };
            repeat(parent, index, random.below(most), random);
        }
        _ => {
            let new = value(originals, random);
            if let Some(old) = child(parent, index) {
                *old = new;
            }
        }
    }
}

fn remove(parent: &mut Json, index: usize) {
    match parent {
        Json::Object(fields) => drop(fields.remove(index)),
        Json::List(items) => drop(items.remove(index)),
        Json::Text(_) | Json::Raw(_) => {}
    }
}

/// Again, under the same key or in the same list; in an object now and then under a new key each.
fn repeat(parent: &mut Json, index: usize, times: usize, random: &mut Random) {
    let own_keys = random.one_in(2);
    match parent {
        Json::Object(fields) => {
            let (key, value) = fields[index].clone();
            for time in 0..times {
                let key = if own_keys && times > 1 { format!("{key}{time}") } else { key.clone() };
                fields.push((key, value.clone()));
            }
        }
        Json::List(items) => {
            let item = items[index].clone();
            items.extend(std::iter::repeat_n(item, times));
        }
        Json::Text(_) | Json::Raw(_) => {}
    }
}

fn rename(parent: &mut Json, index: usize, random: &mut Random) {
    if let Json::Object(fields) = parent {
        let key = &mut fields[index].0;
        *key = match random.below(4) {
            0 => key.to_uppercase(),
            1 => format!("{key}s"),
            2 => key.chars().skip(1).collect(),
            _ => (*random.choose(KEYS)).to_owned(),
        };
    }
}

fn add(parent: &mut Json, random: &mut Random) {
    let value = scalar(random);
    match parent {
        Json::Object(fields) => fields.push(((*random.choose(KEYS)).to_owned(), value)),
        Json::List(items) => items.push(value),
        Json::Text(_) | Json::Raw(_) => {}
    }
}

fn scalar(random: &mut Random) -> Json {
    if random.one_in(60) {
        return Json::Raw((*random.choose(BROKEN)).to_owned());
    }
    match random.below(4) {
        0 => Json::Raw((*random.choose(NUMBERS)).to_owned()),
        1 => Json::Raw((*random.choose(VALUES)).to_owned()),
        _ => Json::text(*random.choose(TEXTS)),
    }
}

fn value(originals: &[Original], random: &mut Random) -> Json {
    match random.below(16) {
        0 => Json::null(),
        1 | 2 => piece(originals, random),
        3 if random.one_in(8) => nest(random),
        3 => {
            let text = *random.choose(TEXTS);
            let most = if random.one_in(200) { HUGE } else { 512 };
            Json::text(text.repeat(random.below(most) / text.len().max(1)))
        }
        _ => scalar(random),
    }
}

fn nest(random: &mut Random) -> Json {
    let most = if random.one_in(8) { DEEP } else { 300 };
    let depth = random.below(most);
    Json::Raw(match random.below(3) {
        0 => "[".repeat(depth) + &"]".repeat(depth),
        1 => "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth),
        // Never closed.
        _ => "[{\"a\":".repeat(depth),
    })
}

/// A part of another review, of any kind.
fn piece(originals: &[Original], random: &mut Random) -> Json {
    let mut other = random.choose(originals).body.clone();
    let found = somewhere(&mut other, random).and_then(|(parent, index)| child(parent, index).cloned());
    found.unwrap_or_else(Json::null)
}

fn mutate_request(body: &mut Json, originals: &[Original], random: &mut Random) {
    let Some(request) = body.get_mut("request") else { return };
    let pick = |texts: &[&str], random: &mut Random| Json::text(*random.choose(texts));
    let (field, value) = match random.below(9) {
        0 => {
            let (Some(new), Some(old)) =
                (request.get_mut("object").cloned(), request.get_mut("oldObject").cloned())
            else {
                return;
            };
            set(request, "oldObject", new);
            ("object", old)
        }
        1 => ("operation", pick(&["CREATE", "UPDATE", "DELETE", "CONNECT", "create", "PATCH", ""], random)),
        2 => ("subResource", pick(&["", "scale", "status", "finalizers", "Scale"], random)),
        3 => {
            let resource = pick(
                &["tenantclusters", "teams", "tenantaddons", "networkpools", "pods", "butlerconfigs"],
                random,
            );
            if let Some(old) = request.get_mut("resource").and_then(|it| it.get_mut("resource")) {
                *old = resource;
            }
            return;
        }
        4 => ("name", pick(TEXTS, random)),
        5 => ("namespace", pick(TEXTS, random)),
        6 => ("userInfo", piece(originals, random)),
        7 => ("dryRun", Json::Raw((*random.choose(VALUES)).to_owned())),
        _ => {
            let mut other = random.choose(originals).body.clone();
            let other = other.get_mut("request").and_then(|it| it.get_mut("object")).cloned();
            (if random.one_in(2) { "object" } else { "oldObject" }, other.unwrap_or_else(Json::null))
        }
    };
    set(request, field, value);
}

fn set(object: &mut Json, name: &str, value: Json) {
    match object.get_mut(name) {
        Some(old) => *old = value,
        None => {
            if let Json::Object(fields) = object {
                fields.push((name.to_owned(), value));
            }
        }
    }
}
