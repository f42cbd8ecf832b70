//! Expressions made at random from a grammar of types: most are well typed, some are not, and the same seed
//! always makes the same one.

mod grammar;

use std::collections::BTreeSet;

use crate::{corpus::Case, records};
use grammar::{Choice, GRAMMAR, Place, WITHIN};

/// Expressions of ascending seeds, each only once.
pub(crate) fn expressions(first_seed: u64) -> impl Iterator<Item = Case> {
    let mut made = BTreeSet::new();
    (first_seed..)
        .map(|seed| Maker::expression(seed).0)
        .filter(move |case| made.insert(case.expression.clone()))
}

struct Maker {
    random: Random,
    place: Place,
    /// The variables of the macros around, each with its kind.
    names: Vec<(String, &'static str)>,
    made: usize,
    /// Within an object of a mutation: what only Kubernetes could read there can be compared with nothing.
    exact: bool,
    /// The overloads and macros that were written.
    used: BTreeSet<&'static str>,
}

impl Maker {
    /// The expression of a seed, and what it uses. Seeds take turns in what they begin with, so that nothing waits for chance.
    fn expression(seed: u64) -> (Case, BTreeSet<&'static str>) {
        let (kind, at) = GRAMMAR.all[(seed % GRAMMAR.all.len() as u64) as usize];
        let choice = &GRAMMAR.kinds[kind].branches[at];
        let mut random = Random(seed);
        let place = if random.below(20) == 0 { Place::Mutating } else { choice.place };
        let place = if GRAMMAR.kinds[kind].only_mutating { Place::Mutating } else { place };
        let input = match random.below(40) {
            0 => "create",
            1 => "delete",
            _ => "update",
        };
        let mut maker =
            Self { random, place, names: Vec::new(), made: 0, exact: false, used: BTreeSet::new() };
        let depth = 2 + maker.random.below(3) as u32;
        let expression = maker.write(choice, kind, depth);
        (Case { expression, input: input.to_owned(), mutating: place == Place::Mutating }, maker.used)
    }

    fn any_kind(&mut self) -> &'static str {
        let place = self.place;
        let fits = |only_mutating: bool| !only_mutating || place == Place::Mutating;
        let kinds: Vec<&str> =
            GRAMMAR.kinds.iter().filter(|(_, of)| fits(of.only_mutating)).map(|(kind, _)| *kind).collect();
        self.random.choose(&kinds)
    }

    fn make(&mut self, kind: &'static str, depth: u32) -> String {
        // A mistake, as people make them.
        let kind = if self.random.below(80) == 0 && !self.exact { self.any_kind() } else { kind };
        let text =
            if depth == 0 || self.random.below(5) == 0 { self.leaf(kind) } else { self.branch(kind, depth) };
        // What the checker cannot see is left to the evaluation.
        if self.random.below(25) == 0 { format!("dyn({text})") } else { text }
    }

    fn leaf(&mut self, kind: &'static str) -> String {
        let names: Vec<_> =
            self.names.iter().filter(|(_, other)| *other == kind).map(|(name, _)| name.clone()).collect();
        if !names.is_empty() && self.random.below(3) > 0 {
            return self.random.choose(&names);
        }
        braces(self.random.choose(&GRAMMAR.kinds[kind].leaves))
    }

    fn branch(&mut self, kind: &'static str, depth: u32) -> String {
        let place = self.place;
        let branches: Vec<&Choice> =
            GRAMMAR.kinds[kind].branches.iter().filter(|choice| choice.place <= place).collect();
        let choice = self.random.choose(&branches);
        self.write(choice, kind, depth)
    }

    fn write(&mut self, choice: &'static Choice, kind: &'static str, depth: u32) -> String {
        self.used.extend(choice.name.as_deref());
        let outside = self.exact;
        self.exact |= GRAMMAR.kinds[kind].only_mutating;
        let template = &choice.templates[self.random.below(choice.templates.len() as u64) as usize];
        let mut text = String::new();
        let mut names = Vec::new();
        let mut rest = template.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let (hole, after) = after.split_once('}').unwrap();
            text.push_str(&braces(before));
            text.push_str(&self.fill(hole, kind, depth - 1, &mut names));
            rest = after;
        }
        text.push_str(&braces(rest));
        self.exact = outside;
        text
    }

    /// Fills one hole of a template: `int` is an expression, `$x` the name of a new variable,
    /// `bool:$x=int,$y=text` an expression that may use such variables.
    fn fill(
        &mut self,
        hole: &'static str,
        kind: &'static str,
        depth: u32,
        names: &mut Vec<(&'static str, String)>,
    ) -> String {
        if hole.starts_with('$') {
            self.made += 1;
            names.push((hole, format!("v{}", self.made)));
            return format!("v{}", self.made);
        }
        let (wanted, variables) = hole.split_once(':').unwrap_or((hole, ""));
        let outside = self.names.len();
        for variable in variables.split(',').filter(|variable| !variable.is_empty()) {
            let (name, kind) = variable.split_once('=').unwrap();
            let (_, name) = names.iter().find(|(other, _)| *other == name).unwrap();
            self.names.push((name.clone(), kind));
        }
        let text = self.make(if wanted == "same" { kind } else { wanted }, depth);
        self.names.truncate(outside);
        text
    }
}

/// Braces that belong to the expression and are no hole.
fn braces(text: &str) -> String {
    text.replace('‹', "{").replace('›', "}")
}

/// SplitMix64: small, fast, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn choose<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
}

#[test]
fn a_seed_always_makes_the_same_expressions() {
    let made: Vec<Case> = expressions(7).take(1_000).collect();
    assert_eq!(made, expressions(7).take(1_000).collect::<Vec<_>>());
    assert_eq!(BTreeSet::from_iter(&made).len(), made.len());
}

#[test]
fn every_overload_and_every_macro_of_kubernetes_is_generated() {
    // As many as are recorded every day.
    let seeds = 0..crate::corpus::GENERATED as u64;
    assert!(GRAMMAR.all.len() <= seeds.end as usize, "some of {} never begin", GRAMMAR.all.len());
    let mut used: BTreeSet<&str> = seeds.flat_map(|seed| Maker::expression(seed).1).collect();
    let within: Vec<&str> =
        WITHIN.iter().filter(|(_, by)| used.contains(by)).map(|(overload, _)| *overload).collect();
    used.extend(within);
    let missing: Vec<String> =
        records::functions().into_iter().filter(|name| !used.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "nothing that is generated uses {missing:?}");
}

#[test]
fn every_hole_of_the_grammar_can_be_filled() {
    let known = |kind: &str| {
        kind == "same" || GRAMMAR.kinds.get(kind).is_some_and(|choices| !choices.leaves.is_empty())
    };
    for (kind, choices) in &GRAMMAR.kinds {
        assert!(known(kind), "`{kind}` has no expression without a hole");
        for template in choices.branches.iter().flat_map(|choice| &choice.templates) {
            for part in template.split('{').skip(1) {
                let (hole, _) = part.split_once('}').unwrap();
                let (wanted, variables) = hole.split_once(':').unwrap_or((hole, ""));
                assert!(wanted.starts_with('$') || known(wanted), "`{hole}` in `{template}`");
                for variable in variables.split(',').filter(|variable| !variable.is_empty()) {
                    let (name, kind) = variable.split_once('=').unwrap();
                    assert!(
                        known(kind) && template.contains(&format!("{{{name}}}")),
                        "`{hole}` in `{template}`"
                    );
                }
            }
        }
    }
}
