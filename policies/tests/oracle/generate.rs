//! Expressions made at random from a grammar of types: most are well typed, some are not, and the same seed
//! always makes the same one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

/// What can be made of one kind: expressions without holes, and with.
#[derive(Default)]
struct Choices {
    leaves: Vec<&'static str>,
    branches: Vec<&'static str>,
}

static GRAMMAR: LazyLock<BTreeMap<&'static str, Choices>> = LazyLock::new(|| {
    let mut grammar: BTreeMap<&str, Choices> = BTreeMap::new();
    for line in include_str!("grammar.txt").lines().filter(|line| !line.is_empty() && !line.starts_with("//"))
    {
        let (kind, template) = line.split_once(": ").unwrap();
        let choices = grammar.entry(kind).or_default();
        if template.contains('{') { choices.branches.push(template) } else { choices.leaves.push(template) }
    }
    let anywhere = grammar.remove("any").unwrap().branches;
    for choices in grammar.values_mut() {
        choices.branches.extend(&anywhere);
    }
    grammar
});

/// Expressions of ascending seeds, each only once.
pub(crate) fn expressions(first_seed: u64) -> impl Iterator<Item = String> {
    let mut made = BTreeSet::new();
    (first_seed..).map(expression).filter(move |expression| made.insert(expression.clone()))
}

/// The expression of a seed.
fn expression(seed: u64) -> String {
    let mut maker = Maker { random: Random(seed), names: Vec::new(), made: 0 };
    let kind = maker.any_kind();
    let depth = 2 + maker.random.below(3) as u32;
    maker.make(kind, depth)
}

struct Maker {
    random: Random,
    /// The variables of the macros around, each with its kind.
    names: Vec<(String, &'static str)>,
    made: usize,
}

impl Maker {
    fn any_kind(&mut self) -> &'static str {
        let kinds: Vec<&str> = GRAMMAR.keys().copied().collect();
        self.random.choose(&kinds)
    }

    fn make(&mut self, kind: &'static str, depth: u32) -> String {
        // A mistake, as people make them.
        let kind = if self.random.below(60) == 0 { self.any_kind() } else { kind };
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
        braces(self.random.choose(&GRAMMAR[kind].leaves))
    }

    fn branch(&mut self, kind: &'static str, depth: u32) -> String {
        let template = self.random.choose(&GRAMMAR[kind].branches);
        let mut text = String::new();
        let mut names = Vec::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let (hole, after) = after.split_once('}').unwrap();
            text.push_str(&braces(before));
            text.push_str(&self.fill(hole, kind, depth - 1, &mut names));
            rest = after;
        }
        text.push_str(&braces(rest));
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
    let made: Vec<String> = expressions(7).take(1_000).collect();
    assert_eq!(made, expressions(7).take(1_000).collect::<Vec<_>>());
    assert_eq!(BTreeSet::from_iter(&made).len(), made.len());
}

#[test]
fn every_hole_of_the_grammar_can_be_filled() {
    let known =
        |kind: &str| kind == "same" || GRAMMAR.get(kind).is_some_and(|choices| !choices.leaves.is_empty());
    for (kind, choices) in &*GRAMMAR {
        assert!(known(kind), "`{kind}` has no expression without a hole");
        for template in &choices.branches {
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
