//! The grammar: what is written in `grammar.txt`, and a way to call every overload that Kubernetes has, made of the recorded
//! list of them, so that none is forgotten.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

use crate::records;

/// Where an expression may stand: everywhere, or in a MutatingAdmissionPolicy only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Everywhere,
    Mutating,
}

/// Ways to write the same: an overload with arguments of these or those types, or one line of the file.
#[derive(Debug)]
pub(super) struct Choice {
    /// The overload or the macro, if it is one.
    pub(super) name: Option<String>,
    pub(super) place: Place,
    pub(super) templates: Vec<String>,
}

/// What can be made of one kind: expressions without holes, and with.
#[derive(Debug, Default)]
pub(super) struct Choices {
    pub(super) leaves: Vec<&'static str>,
    pub(super) branches: Vec<Choice>,
    /// Where all of it may stand.
    pub(super) only_mutating: bool,
}

#[derive(Debug, Default)]
pub(super) struct Grammar {
    pub(super) kinds: BTreeMap<&'static str, Choices>,
    /// Every choice once, as its kind and its place among the branches.
    pub(super) all: Vec<(&'static str, usize)>,
}

/// A line of `recorded/functions.jsonl`.
#[derive(Debug, Deserialize)]
struct Function {
    overload: Option<String>,
    function: String,
    #[serde(default)]
    member: bool,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    result: String,
    #[serde(default)]
    mutating: bool,
}

/// What no expression can name, and the macro that makes it.
pub(super) const WITHIN: [(&str, &str); 3] = [
    ("not_strictly_false", "all:2:true"),
    ("@mapInsert_map_key_value", "transformMap:3:true"),
    ("@mapInsert_map_map", "transformMapEntry:3:true"),
];

pub(super) static GRAMMAR: LazyLock<Grammar> = LazyLock::new(|| {
    let mut grammar = Grammar::default();
    let types = grammar.read(include_str!("../grammar.txt"));
    for line in records::function_lines().lines() {
        let function: Function = serde_json::from_str(line).unwrap();
        if let Some(overload) = &function.overload
            && WITHIN.iter().all(|(within, _)| within != overload)
        {
            grammar.add(overload, &function, &types);
        }
    }
    for (kind, choices) in &grammar.kinds {
        grammar.all.extend((0..choices.branches.len()).map(|at| (*kind, at)));
    }
    grammar
});

impl Grammar {
    /// Reads the file; gives the kind of each type.
    fn read(&mut self, text: &'static str) -> BTreeMap<&'static str, &'static str> {
        let (mut types, mut anywhere) = (BTreeMap::new(), Vec::new());
        let mut place = Place::Everywhere;
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with("//")) {
            if line == "@mutating" {
                place = Place::Mutating;
                continue;
            }
            if let Some((kind, of)) = line.split_once(" is ").filter(|(kind, _)| !kind.contains(':')) {
                assert_eq!(types.insert(of, kind), None, "{line}");
                continue;
            }
            let (kind, template) = line.split_once(": ").unwrap();
            if kind == "any" {
                anywhere.push(template);
                continue;
            }
            let choices = self
                .kinds
                .entry(kind)
                .or_insert_with(|| Choices { only_mutating: place == Place::Mutating, ..Choices::default() });
            if template.contains('{') {
                let (name, templates) = (macro_of(template), vec![template.to_owned()]);
                choices.branches.push(Choice { name, place, templates });
            } else {
                choices.leaves.push(template);
            }
        }
        for choices in self.kinds.values_mut() {
            choices.branches.extend(anywhere.iter().map(|template| Choice {
                name: macro_of(template),
                place: Place::Everywhere,
                templates: vec![(*template).to_owned()],
            }));
        }
        types
    }

    /// Adds the calls of an overload, one for every way to choose its type parameters among the types that there are.
    fn add(&mut self, overload: &str, function: &Function, types: &BTreeMap<&'static str, &'static str>) {
        let place = if function.mutating { Place::Mutating } else { Place::Everywhere };
        let mut found = false;
        for chosen in instances(function, types) {
            let kind = |of: &str| if of.starts_with("type(") { Some("type") } else { types.get(of).copied() };
            let (Some(result), Some(arguments)) =
                (kind(&chosen.result), chosen.args.iter().map(|of| kind(of)).collect::<Option<Vec<&str>>>())
            else {
                continue;
            };
            found = true;
            let template = call(function, &arguments, &chosen.args, types);
            let branches = &mut self.kinds.get_mut(result).unwrap().branches;
            match branches.iter_mut().find(|choice| choice.name.as_deref() == Some(overload)) {
                Some(choice) => choice.templates.push(template),
                None => branches.push(Choice {
                    name: Some(overload.to_owned()),
                    place,
                    templates: vec![template],
                }),
            }
        }
        assert!(found, "{overload} takes or gives a type that grammar.txt has no kind of: {function:?}");
    }
}

/// The argument types and the result of an overload, with each of the types in the place of each parameter.
struct Chosen {
    args: Vec<String>,
    result: String,
}

fn instances(function: &Function, types: &BTreeMap<&'static str, &'static str>) -> Vec<Chosen> {
    let mut all = vec![Chosen { args: function.args.clone(), result: function.result.clone() }];
    for parameter in ["<A>", "<B>", "<K>", "<T>", "<V>"] {
        let used = |of: &String| of.contains(parameter);
        if !function.args.iter().chain([&function.result]).any(used) {
            continue;
        }
        let put = |chosen: &Chosen, of: &str| Chosen {
            args: chosen.args.iter().map(|argument| argument.replace(parameter, of)).collect(),
            result: chosen.result.replace(parameter, of),
        };
        all = all.iter().flat_map(|chosen| types.keys().map(|of| put(chosen, of))).collect();
    }
    all
}

/// How an overload is called with arguments of these kinds.
fn call(
    function: &Function,
    kinds: &[&str],
    args: &[String],
    types: &BTreeMap<&'static str, &'static str>,
) -> String {
    let holes: Vec<String> = kinds.iter().map(|kind| format!("{{{kind}}}")).collect();
    match (function.function.as_str(), holes.as_slice()) {
        ("!_" | "-_", [only]) => format!("({}{only})", function.function.trim_end_matches('_')),
        ("_?_:_", [condition, then, otherwise]) => format!("({condition} ? {then} : {otherwise})"),
        ("_[_]", [base, key]) => format!("{base}[{key}]"),
        ("_[?_]", [base, key]) => format!("{base}[?{key}]"),
        ("_?._", [base, _]) => format!("{base}.?spec"),
        // Kubernetes makes the list before it counts what that costs; a long one would be the end of the oracle.
        ("lists.range", [only]) => format!("lists.range(({only} % 50))"),
        ("@in", [element, of]) => format!("({element} in {of})"),
        ("@sortByAssociatedKeys", [list, _]) => {
            let inside =
                |at: usize| types[args[at].strip_prefix("list(").unwrap().strip_suffix(')').unwrap()];
            format!("{list}.sortBy({{$x}}, {{{}:$x={}}})", inside(1), inside(0))
        }
        (infix, [left, right]) if infix.starts_with('_') => {
            format!("({left} {} {right})", infix.trim_matches('_'))
        }
        (name, [target, rest @ ..]) if function.member => format!("{target}.{name}({})", rest.join(", ")),
        (name, arguments) => format!("{name}({})", arguments.join(", ")),
    }
}

/// The macro that a template calls, as Kubernetes lists it: its name, how many arguments it has, and whether it has a target.
pub(super) fn macro_of(template: &str) -> Option<String> {
    if template.starts_with("has(") {
        return Some("has:1:false".to_owned());
    }
    // Only a macro names a variable first.
    let (before, arguments) = template.split_once("({$")?;
    let (_, name) = before.rsplit_once('.')?;
    let mut depth = 0;
    let mut count = 1;
    for letter in arguments.chars() {
        match letter {
            '{' | '(' | '[' | '‹' => depth += 1,
            ')' if depth == 0 => break,
            '}' | ')' | ']' | '›' => depth -= 1,
            // The name's own brace was opened before.
            ',' if depth == -1 => count += 1,
            _ => {}
        }
    }
    Some(format!("{name}:{count}:true"))
}

#[test]
fn a_macro_is_told_by_its_name_and_its_arguments() {
    for (template, name) in [
        ("{ints}.all({$x}, {bool:$x=int})", Some("all:2:true")),
        ("{ints}.all({$i}, {$x}, {bool:$i=int,$x=int})", Some("all:3:true")),
        ("{texts}.transformMapEntry({$i}, {$x}, ‹{text:$i=int}: {int}›)", Some("transformMapEntry:3:true")),
        ("{ints}.filter({$x}, {bool:$x=int}).size()", Some("filter:2:true")),
        ("has({worker}.gpu)", Some("has:1:false")),
        ("{ints}.sort()", None),
    ] {
        assert_eq!(macro_of(template).as_deref(), name, "{template}");
    }
}
