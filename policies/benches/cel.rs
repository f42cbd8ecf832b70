//! What evaluating an expression takes, as a ratio to Kubernetes' own CEL (cel-go) and to the `cel` crate.
//!
//! ```console
//! $ cargo bench -p butler-policies --bench cel
//! ```
//!
//! All three evaluate the same compiled expression over the same objects, again and again, on one thread. What is
//! prepared before is what each prepares once for a request or a policy: the expression is compiled, and the objects are
//! read. cel-go gets them as kube-apiserver gives them to it, as maps, with its cost counted and its constants folded
//! (`tests/go/cel-oracle`, whose `--time` measures); the `cel` crate gets its own values, with integers where JSON has
//! them. So nobody's parsing of JSON or of CEL is in the figures.
//!
//! What is compared takes turns, and of several turns the best counts: whatever slows one down is never the expression.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a measurement that cannot be made has nobody to report to but its reader"
)]

#[path = "cel/crate_cel.rs"]
mod crate_cel;
#[path = "cel/kubernetes.rs"]
mod kubernetes;
#[path = "cel/ours.rs"]
mod ours;

use std::time::{Duration, Instant};

use self::crate_cel::CrateCel;
use self::kubernetes::Kubernetes;
use self::ours::Ours;

const EXPRESSIONS: &str = include_str!("cel/expressions.txt");
const INPUT: &str = include_str!("cel/input.json");

/// Turns of each.
const TURNS: usize = 5;
/// What the measurement promises to show; the program fails beyond it.
const MOST_OF_KUBERNETES: f64 = 0.5;

/// What one expression takes, in nanoseconds. The `cel` crate cannot evaluate each.
struct Measured {
    expression: &'static str,
    ours: f64,
    kubernetes: f64,
    crate_cel: Option<f64>,
}

fn main() {
    let expressions = EXPRESSIONS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let input: serde_json::Value = serde_json::from_str(INPUT).unwrap();
    let mut kubernetes = Kubernetes::start(&input);
    let (ours, crate_cel) = (Ours::read(&input), CrateCel::read(&input));
    let all: Vec<Measured> =
        expressions.map(|expression| measure(expression, &ours, &mut kubernetes, &crate_cel)).collect();
    for Measured { expression, ours, kubernetes, crate_cel } in &all {
        let other = crate_cel.map_or_else(|| "-".to_owned(), |time| format!("{time:.0}"));
        println!("{ours:>6.0} ns, cel-go {kubernetes:>6.0} ns, cel {other:>6} ns: {expression}");
    }
    let without = all.iter().filter(|measured| measured.crate_cel.is_none()).count();
    println!("{} expressions; {without} of them are beyond the `cel` crate and left out there", all.len());
    let slower = all.iter().filter(|measured| measured.crate_cel.is_some_and(|time| measured.ours >= time));
    let slower = slower.inspect(|measured| println!("slower than `cel`: {}", measured.expression)).count();
    let total = |time: fn(&Measured) -> f64| all.iter().map(time).sum::<f64>();
    let kubernetes = total(|measured| measured.ours) / total(|measured| measured.kubernetes);
    let crate_cel = total(|measured| measured.crate_cel.map_or(0.0, |_| measured.ours))
        / total(|measured| measured.crate_cel.unwrap_or(0.0));
    println!("ratio cel-go={kubernetes:.2} cel={crate_cel:.2}");
    if kubernetes > MOST_OF_KUBERNETES || slower > 0 {
        std::process::exit(1);
    }
}

fn measure(
    expression: &'static str,
    ours: &Ours,
    kubernetes: &mut Kubernetes,
    crate_cel: &CrateCel,
) -> Measured {
    let answer = kubernetes.value(expression);
    let mut run_ours = ours.prepare(expression, &answer);
    let mut run_crate_cel = crate_cel.prepare(expression, &answer);
    let mut measured = Measured {
        expression,
        ours: f64::MAX,
        kubernetes: f64::MAX,
        crate_cel: run_crate_cel.as_ref().map(|_| f64::MAX),
    };
    for _ in 0..TURNS {
        measured.kubernetes = measured.kubernetes.min(kubernetes.nanoseconds(expression));
        measured.ours = measured.ours.min(nanoseconds(&mut run_ours));
        if let (Some(run), Some(time)) = (&mut run_crate_cel, &mut measured.crate_cel) {
            *time = time.min(nanoseconds(run));
        }
    }
    measured
}

/// The time of one run, measured as the oracle measures: in rounds long enough to divide, of which the best counts.
fn nanoseconds(run: &mut dyn FnMut()) -> f64 {
    let mut round = |count: u32| {
        let started = Instant::now();
        for _ in 0..count {
            run();
        }
        started.elapsed()
    };
    let mut count = 1;
    while round(count) < Duration::from_millis(2) && count < 1 << 20 {
        count *= 2;
    }
    let best = (0..5).map(|_| round(count)).min().unwrap();
    best.as_secs_f64() * 1e9 / f64::from(count)
}
