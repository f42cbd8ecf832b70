//! What is wrong with an object that cannot be read, for whoever typed it.
//!
//! The reader of JSON says what it wanted in words of Rust, and where it stopped as a column of a text that nobody has ever
//! seen. Here the place becomes the path of a field, and the words those of YAML.

use butler_api::excerpt::excerpt;

use super::scan::Scan;

/// The message for a text that was to be the field `root`, or the whole object if that is empty.
pub(super) fn explain(root: &str, text: &str, error: &serde_json::Error) -> String {
    let (path, value) = offset(text, error).and_then(|at| field_at(root, text, at)).unwrap_or_else(|| {
        let root = if root.is_empty() { "the object" } else { root };
        (root.to_owned(), "")
    });
    let position = format!(" at line {} column {}", error.line(), error.column());
    let problem = error.to_string();
    reword(&path, value, problem.strip_suffix(&position).unwrap_or(&problem))
}

/// The message for a field that has to be there.
pub(super) fn missing(path: &str) -> String {
    format!("{path}: is missing; add it")
}

fn reword(path: &str, value: &str, problem: &str) -> String {
    if let Some(field) = problem.strip_prefix("missing field ") {
        return missing(&below(path, field.trim_matches('`')));
    }
    if let Some(field) = problem.strip_prefix("duplicate field ") {
        return format!(
            "{}: is written twice; remove one of the two",
            below(path, &excerpt(field.trim_matches('`')))
        );
    }
    let is = description(value);
    if problem == "expected value" {
        return format!("{path}: {is}; write one of the values that `kubectl explain` lists for it");
    }
    let Some((what, expected)) = problem.rsplit_once(", expected ") else {
        return format!("{path}: {is}, which cannot be read: {}", excerpt(problem));
    };
    if what.starts_with("unknown variant ") {
        let allowed = expected.strip_prefix("one of ").unwrap_or(expected);
        let value = excerpt(value.trim_matches('"'));
        return format!("{path}: `{value}` is none of the values there are; choose one of {allowed}");
    }
    let wanted = wanted(expected);
    if what.starts_with("invalid value: ") {
        return format!("{path}: `{}` is out of range; write {wanted}", excerpt(value));
    }
    format!("{path}: {is}; write {wanted}")
}

/// What is written there.
fn description(value: &str) -> String {
    let shown = || excerpt(value.trim_matches('"'));
    match value.bytes().next() {
        Some(b'"') => format!("`{}` is text", shown()),
        Some(b'{') => "there is a block of fields".to_owned(),
        Some(b'[') => "there is a list".to_owned(),
        Some(b't' | b'f') => format!("`{}` is a yes or no", shown()),
        Some(b'n') | None => "there is nothing".to_owned(),
        Some(_) => format!("`{}` is a number", shown()),
    }
}

/// What has to be written there.
fn wanted(expected: &str) -> String {
    macro_rules! between {
        ($integer:ident) => {
            format!("a whole number between {} and {}", $integer::MIN, $integer::MAX)
        };
    }
    match expected {
        "i32" => between!(i32),
        "u32" => between!(u32),
        "u16" => between!(u16),
        "u8" => between!(u8),
        "i64" => between!(i64),
        "u64" => between!(u64),
        "f32" | "f64" => "a number".to_owned(),
        "a string" | "string" => {
            "text, with quotes around it if it could be taken for something else".to_owned()
        }
        "a boolean" => "`true` or `false`, without quotes".to_owned(),
        "a sequence" => "a list, one line for each that begins with `- `".to_owned(),
        "a map" => "a block of fields".to_owned(),
        of_rust if of_rust.starts_with("struct ") => "a block of fields".to_owned(),
        ours => ours.to_owned(),
    }
}

/// How many bytes were read before the error.
fn offset(text: &str, error: &serde_json::Error) -> Option<usize> {
    let lines_before = error.line().checked_sub(1)?;
    let before: usize = text.split_inclusive('\n').take(lines_before).map(str::len).sum();
    Some(before + error.column())
}

/// The innermost field around a place, with the text of its value.
fn field_at<'a>(root: &str, text: &'a str, at: usize) -> Option<(String, &'a str)> {
    let (mut path, mut text, mut at) = (root.to_owned(), text, at);
    loop {
        let Some((step, start, inner)) = step_towards(text, at) else {
            return Some((path, text.trim()));
        };
        path = match step {
            Step::Field(name) => below(&path, name),
            Step::Item(place) => format!("{path}[{place}]"),
        };
        (text, at) = (inner, at.checked_sub(start)?);
    }
}

enum Step<'a> {
    Field(&'a str),
    Item(usize),
}

/// The field or item that has the place in it, where it begins, and its text. A place right behind a value still belongs to
/// it: there the reader knew that it could not take it. One right before belongs to it only if it has values inside, which
/// the reader does not begin to read when it cannot take them.
fn step_towards(text: &str, at: usize) -> Option<(Step<'_>, usize, &str)> {
    let mut found = None;
    let mut scan = Scan::new(text);
    let pass = |scan: &mut Scan<'_>| -> Option<Option<(usize, usize)>> {
        let start = scan.place()?;
        let value = scan.value()?;
        let (end, has_inside) = (start + value.len(), value.starts_with(['{', '[']));
        let is_around = at <= end && (start < at || start == at && has_inside);
        Some(is_around.then_some((start, end)))
    };
    // Whether the walk went to the end does not matter: it stops where something was found.
    let _ = if scan.is_object()? {
        scan.object(|scan, name| match pass(scan)? {
            Some((start, end)) => {
                found = text.get(start..end).map(|inner| (Step::Field(name), start, inner));
                None
            }
            None => Some(()),
        })
    } else {
        let mut place = 0;
        scan.list(|scan| match pass(scan)? {
            Some((start, end)) => {
                found = text.get(start..end).map(|inner| (Step::Item(place), start, inner));
                None
            }
            None => {
                place += 1;
                Some(())
            }
        })
    };
    found
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use butler_api::{NetworkPoolSpec, TenantAddonSpec, TenantClusterSpec};
    use serde::de::DeserializeOwned;

    use super::*;

    fn of<T: DeserializeOwned>(text: &str) -> String {
        explain("spec", text, &serde_json::from_str::<T>(text).err().expect(text))
    }

    #[test]
    fn a_value_of_another_type_is_told_with_its_field_and_what_to_write() {
        let whole = "a whole number between -2147483648 and 2147483647";
        let text = "text, with quotes around it if it could be taken for something else";
        let table = [
            (
                r#"{"workers": {"replicas": "three"}}"#,
                format!("spec.workers.replicas: `three` is text; write {whole}"),
            ),
            (
                r#"{"workers": {"replicas": 2.5}, "teamRef": {}}"#,
                format!("spec.workers.replicas: `2.5` is a number; write {whole}"),
            ),
            (
                r#"{"workers": {"replicas": 99999999999}}"#,
                format!("spec.workers.replicas: `99999999999` is out of range; write {whole}"),
            ),
            (
                r#"{"kubernetesVersion": 1.31, "workers": {}}"#,
                format!("spec.kubernetesVersion: `1.31` is a number; write {text}"),
            ),
            (
                "{\n  \"controlPlane\": {\n    \"certSANs\": [\"a\", true]\n  }\n}",
                format!("spec.controlPlane.certSANs[1]: `true` is a yes or no; write {text}"),
            ),
            (
                r#"{"timeServers": "pool.ntp.org"}"#,
                "spec.timeServers: `pool.ntp.org` is text; write a list, one line for each that begins with `- `"
                    .to_owned(),
            ),
            (
                r#"{"workers": {"machineTemplate": {"memory": [1]}}}"#,
                "spec.workers.machineTemplate.memory: there is a list; write an amount, such as `4`, `500m` or `16Gi`"
                    .to_owned(),
            ),
            (
                r#"{"teamRef": {"name": {"first": "a"}}}"#,
                format!("spec.teamRef.name: there is a block of fields; write {text}"),
            ),
            (
                r#"{"addons": {"ingress": {"enabled": "yes"}}}"#,
                "spec.addons.ingress.enabled: `yes` is text; write `true` or `false`, without quotes".to_owned(),
            ),
            (
                r#"{"managementPolicy": {"mode": "Busy"}}"#,
                "spec.managementPolicy.mode: `Busy` is none of the values there are; choose one of `Active`, `Observe`, `GitOps`"
                    .to_owned(),
            ),
            (
                r#"{"managementPolicy": {"mode": 5}}"#,
                "spec.managementPolicy.mode: `5` is a number; write one of the values that `kubectl explain` lists for it"
                    .to_owned(),
            ),
            ("[]", "spec: there is a list; write a block of fields".to_owned()),
        ];
        for (spec, expected) in table {
            assert_eq!(of::<TenantClusterSpec>(spec), expected, "{spec}");
        }
    }

    #[test]
    fn a_field_that_is_not_there_is_named() {
        assert_eq!(of::<TenantAddonSpec>("{}"), "spec.clusterRef: is missing; add it");
        assert_eq!(
            of::<TenantAddonSpec>(r#"{"clusterRef": {}}"#),
            "spec.clusterRef.name: is missing; add it"
        );
        assert_eq!(
            of::<NetworkPoolSpec>(r#"{"cidr": "10.0.0.0/8", "reserved": [{"cidr": "10.0.0.0/9"}, {}]}"#),
            "spec.reserved[1].cidr: is missing; add it"
        );
    }

    #[test]
    fn a_field_that_comes_twice_is_named() {
        assert_eq!(
            of::<TenantAddonSpec>(r#"{"clusterRef": {"name": "a", "name": "b"}}"#),
            "spec.clusterRef.name: is written twice; remove one of the two"
        );
    }

    #[test]
    fn what_cannot_be_found_still_has_an_answer() {
        let deep = format!(r#"{{"timeServers": {}1{}}}"#, "[".repeat(100), "]".repeat(100));
        assert!(of::<TenantClusterSpec>(&deep).starts_with("spec"));
        let long = format!(r#"{{"workers": {{"replicas": "{}"}}}}"#, "x".repeat(100_000));
        assert!(of::<TenantClusterSpec>(&long).len() < 400);
        let escaped = r#"{"a\"b": {"c": 1}, "workers": 7}"#;
        assert!(of::<TenantClusterSpec>(escaped).starts_with("spec"), "{}", of::<TenantClusterSpec>(escaped));
    }
}
