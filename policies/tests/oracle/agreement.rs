//! How far two implementations agree, counted per topic and shown where they do not.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
};

use crate::{
    answer::Answer,
    corpus::{self, Case, Inputs},
    estimates, generate, oracle, ours, records,
};

/// What two answers to one question have in common.
#[derive(Debug, Default, Clone, Copy)]
struct Agreement {
    cases: usize,
    /// Both have a value, or neither has.
    errorness: usize,
    /// Both were refused before they could run, or neither was.
    refusal: usize,
    /// Equal values of the same type, or two errors.
    value: usize,
    /// Cases whose cost Kubernetes itself finds the same each time.
    costs: usize,
    cost: usize,
    /// Cases that fail to evaluate on both sides, whose words a user may see.
    failures: usize,
    wording: usize,
}

impl Agreement {
    fn add(&mut self, theirs: &Answer, ours: &Answer) -> Vec<&'static str> {
        let mut different = Vec::new();
        let mut count = |name, counter: &mut usize, same: bool| {
            *counter += usize::from(same);
            if !same {
                different.push(name);
            }
        };
        self.cases += 1;
        let any = theirs.varies("error");
        count("error", &mut self.errorness, any || theirs.is_error() == ours.is_error());
        count("refusal", &mut self.refusal, any || theirs.is_refused() == ours.is_refused());
        // As text, because -0.0 equals 0.0.
        let text = |answer: &Answer| answer.value.as_ref().map(ToString::to_string);
        let same_value = theirs.kind == ours.kind && text(theirs) == text(ours);
        count("value", &mut self.value, any || theirs.varies("value") || same_value);
        if theirs.cost.is_some() && !theirs.is_refused() {
            self.costs += 1;
            count("cost", &mut self.cost, theirs.cost == ours.cost);
        }
        if let (Some(error), Some(own), false) = (&theirs.error, &ours.error, any || theirs.broke_off())
            && !theirs.is_refused()
            && !ours.is_refused()
        {
            self.failures += 1;
            count("wording", &mut self.wording, words(error) == words(own));
        }
        different
    }

    fn is_whole(&self) -> bool {
        [self.errorness, self.refusal, self.value].iter().all(|same| *same == self.cases)
            && self.cost == self.costs
            && self.wording == self.failures
    }

    fn sum(self, other: Self) -> Self {
        Self {
            cases: self.cases + other.cases,
            errorness: self.errorness + other.errorness,
            refusal: self.refusal + other.refusal,
            value: self.value + other.value,
            costs: self.costs + other.costs,
            cost: self.cost + other.cost,
            failures: self.failures + other.failures,
            wording: self.wording + other.wording,
        }
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cases, errorness, refusal, value, costs, cost, failures, wording } = self;
        write!(
            formatter,
            "cases={cases} value={value} errorness={errorness} refusal={refusal} cost={cost}/{costs} \
             wording={wording}/{failures}"
        )
    }
}

/// The words of an error that are compared, of its first line. A key that nothing can have is told by the Go type that holds
/// it just then, which depends on how the key was come by; that name is left out.
fn words(error: &str) -> &str {
    const HELD_BY: &str = "invalid qualifier type: ";
    let first = error.lines().next().unwrap_or_default();
    if first.starts_with(HELD_BY) { HELD_BY } else { first }
}

/// Prints each difference, up to `shown` of a topic.
fn compare(topic: &str, theirs: &[Answer], ours: &[Answer], shown: usize) -> Agreement {
    let mut agreement = Agreement::default();
    let mut differences = 0;
    for (theirs, ours) in theirs.iter().zip(ours) {
        let different = agreement.add(theirs, ours);
        if !different.is_empty() {
            differences += 1;
            if differences <= shown {
                println!("{topic}: {} differs: {}", different.join(", "), theirs.id);
                println!("  Kubernetes: {}", brief(theirs));
                println!("  ours:       {}", brief(ours));
            }
        }
    }
    agreement
}

fn brief(answer: &Answer) -> String {
    let answer = Answer { id: String::new(), ..answer.clone().recorded() };
    serde_json::to_string(&answer).unwrap().replacen(r#""id":"","#, "", 1)
}

/// Our own language, or the program in `CEL_PROGRAM`.
fn ask(inputs: &Inputs, cases: &[Case]) -> Vec<Answer> {
    if std::env::var_os("CEL_PROGRAM").is_some() {
        oracle::ask(oracle::command("CEL_PROGRAM"), inputs, cases)
    } else {
        ours::ask(inputs, cases)
    }
}

/// Where the long run of generated expressions begins.
const LONG_SEED: u64 = 1_000_000;

/// The differences that have a reason: `explained.txt` has lines `TOPIC: EXPRESSION` below a line `# REASON`. The end
/// of a line inside an expression is written `\n`. The topic of the long run is `long`.
fn explained() -> BTreeSet<(String, String)> {
    let text = fs::read_to_string(corpus::folder().join("explained.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pair =
        |line: &str| line.split_once(": ").map(|(topic, rest)| (topic.to_owned(), rest.replace("\\n", "\n")));
    lines.map(|line| pair(line).unwrap()).collect()
}

#[test]
fn ours_is_the_language_of_kubernetes() {
    let (inputs, mut explained) = (Inputs::read(), explained());
    explained.retain(|(topic, _)| topic != "long");
    let mut all = Agreement::default();
    let mut unexplained = Vec::new();
    for (topic, cases) in corpus::topics() {
        let ours = ours::ask(&inputs, &cases);
        for (theirs, ours) in records::read(&topic).iter().zip(&ours) {
            let different = all.add(theirs, ours);
            if !different.is_empty() && !explained.remove(&(topic.clone(), theirs.id.clone())) {
                unexplained.push(format!("{topic}: {} differs: {}", different.join(", "), theirs.id));
            }
        }
    }
    println!("{all}");
    assert!(
        unexplained.is_empty(),
        "{} differences without a reason:\n{}",
        unexplained.len(),
        unexplained.join("\n")
    );
    assert!(explained.is_empty(), "explained.txt has what no longer differs: {explained:#?}");
    assert!(all.cost * 100 >= all.costs * 99, "{all}");
}

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |text| text.parse().unwrap())
}

fn report(agreements: &BTreeMap<String, Agreement>) {
    for (topic, agreement) in agreements {
        println!("{topic:<14} {agreement}");
    }
    println!("{:<14} {}", "all", agreements.values().copied().fold(Agreement::default(), Agreement::sum));
}

#[test]
#[ignore = "prints how far we, or the program in CEL_PROGRAM, agree with the records: see README.md"]
fn program() {
    let (inputs, shown) = (Inputs::read(), number("CEL_SHOW", 5) as usize);
    let wanted = std::env::var("CEL_TOPIC").ok();
    let mut agreements = BTreeMap::new();
    for (topic, cases) in corpus::topics() {
        if wanted.as_ref().is_none_or(|wanted| *wanted == topic) {
            let ours = ask(&inputs, &cases);
            agreements.insert(topic.clone(), compare(&topic, &records::read(&topic), &ours, shown));
        }
    }
    report(&agreements);
}

#[test]
#[ignore = "asks the oracle about generated expressions: see README.md"]
fn generated() {
    let (inputs, shown) = (Inputs::read(), number("CEL_SHOW", 20) as usize);
    let (seed, count) = (number("CEL_SEED", LONG_SEED), number("CEL_COUNT", 100_000) as usize);
    let cases: Vec<Case> = generate::expressions(seed).take(count).collect();
    let theirs = records::answers(&inputs, &cases);
    let ours = ask(&inputs, &cases);
    let refused = theirs.iter().filter(|answer| answer.is_refused()).count();
    let failed = theirs.iter().filter(|answer| answer.is_error()).count() - refused;
    let values = cases.len() - refused - failed;
    println!(
        "{} expressions: {values} have a value, {failed} fail to evaluate, {refused} are refused",
        cases.len()
    );
    let used: BTreeSet<&str> = theirs.iter().flat_map(|answer| &answer.uses).map(String::as_str).collect();
    let all = records::functions();
    let unused: Vec<&str> = all.iter().map(String::as_str).filter(|name| !used.contains(name)).collect();
    println!("{} of {} overloads and macros are used; not {unused:?}", all.len() - unused.len(), all.len());
    let explained = explained();
    let is_explained =
        |answer: &Answer| answer.broke_off() || explained.contains(&("long".to_owned(), answer.id.clone()));
    let pairs = || theirs.iter().zip(&ours).filter(|(theirs, _)| !is_explained(theirs));
    let (known, others): (Vec<Answer>, Vec<Answer>) =
        pairs().map(|(theirs, ours)| (theirs.clone(), ours.clone())).unzip();
    let agreement = compare("generated", &known, &others, shown);
    let all = compare("generated", &theirs, &ours, 0);
    report(&BTreeMap::from([("generated".to_owned(), all)]));
    assert!(all.cost * 100 >= all.costs * 99, "{all}");
    assert!(agreement.is_whole(), "without those of explained.txt: {agreement}");
    // Seeds take turns; a short run need not have seen all.
    assert!(unused.is_empty() || count < corpus::GENERATED, "nothing uses {unused:?}");
    let wrong = estimates::too_low(theirs.iter().zip(&cases));
    assert!(wrong.is_empty(), "{} estimates are too low:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_difference_is_found_and_named() {
    let answer = |text| serde_json::from_str::<Answer>(text).unwrap();
    let one = r#"{"id":"a","type":"int","value":1,"cost":3}"#;
    for (other, different) in [
        (one, vec![]),
        (r#"{"id":"a","type":"int","value":2,"cost":3}"#, vec!["value"]),
        (r#"{"id":"a","type":"uint","value":1,"cost":3}"#, vec!["value"]),
        (r#"{"id":"a","type":"double","value":1.0,"cost":3}"#, vec!["value"]),
        (r#"{"id":"a","type":"int","value":1,"cost":4}"#, vec!["cost"]),
        (r#"{"id":"a","type":"int","value":1}"#, vec!["cost"]),
        (r#"{"id":"a","stage":"evaluate","error":"x","cost":3}"#, vec!["error", "value"]),
        (r#"{"id":"a","stage":"check","error":"x"}"#, vec!["error", "refusal", "value", "cost"]),
    ] {
        let mut agreement = Agreement::default();
        assert_eq!(agreement.add(&answer(one), &answer(other)), different, "{other}");
    }
    let varies = answer(r#"{"id":"a","type":"bool","value":true,"varies":["cost"]}"#);
    let mut agreement = Agreement::default();
    assert!(agreement.add(&varies, &answer(r#"{"id":"a","type":"bool","value":true,"cost":9}"#)).is_empty());
    assert_eq!((agreement.cases, agreement.costs), (1, 0));
}
