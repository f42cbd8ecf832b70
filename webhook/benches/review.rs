//! What a review costs: CPU time of the server per review, as a ratio to a constant reply of the same server.
//!
//! ```console
//! $ cargo bench -p butler-webhook --bench review
//! ```
//!
//! The server runs in a process of its own, on one thread, and that thread's time on a processor is what is measured:
//! TLS, HTTP/1.1, the review, its metrics and its log line, without the caller. The caller keeps 16 connections busy.
//! What is compared takes turns in short rounds, so that whatever else the machine does hits all alike, and the median
//! of the rounds counts.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a measurement that cannot be made has nobody to report to but its reader"
)]

#[path = "review/caller.rs"]
mod caller;
#[path = "review/objects.rs"]
mod objects;
#[path = "review/policies.rs"]
mod policies;
#[path = "review/server.rs"]
mod server;

use mimalloc::MiMalloc;

use self::caller::Caller;
use self::server::{Question, ServerProcess};

/// The program's own.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Reviews per question and round: some tenths of a second.
const REVIEWS: usize = 4_000;
const ROUNDS: usize = 15;
/// What the measurement promises to show; the program fails beyond it.
const MOST: f64 = 2.5;
/// The same with ten policies.
const MOST_BY_POLICIES: f64 = 4.0;
const FLAT: f64 = 0.10;

fn main() {
    if std::env::args().nth(1).as_deref() == Some(server::ARGUMENT) {
        return server::serve();
    }
    let server = ServerProcess::start();
    let caller = Caller::connect(&server);
    for question in Question::ALL {
        caller.check(question);
        caller.ask(question, REVIEWS);
    }
    let mut rounds: Vec<[f64; Question::ALL.len()]> = Vec::new();
    for round in 0..ROUNDS {
        let mut costs = [0.0; Question::ALL.len()];
        for turn in 0..costs.len() {
            let at = (round + turn) % costs.len();
            let before = server.time_on_processor();
            caller.ask(Question::ALL[at], REVIEWS);
            costs[at] = (server.time_on_processor() - before).as_secs_f64() * 1e6 / REVIEWS as f64;
        }
        rounds.push(costs);
    }
    let of = |question: Question| {
        let place = Question::ALL.iter().position(|other| *other == question).unwrap();
        move |costs: &[f64; Question::ALL.len()]| costs[place]
    };
    let ratio = |question: Question, to: Question| {
        let (question, to) = (of(question), of(to));
        median(rounds.iter().map(|costs| question(costs) / to(costs)).collect())
    };
    for question in Question::ALL {
        let cost = median(rounds.iter().map(of(question)).collect());
        println!("{question:?}: {cost:.1} µs, body of {} bytes", question.body().len());
    }
    let update = ratio(Question::Update, Question::ConstantUpdate);
    let flat = ratio(Question::ManyClusters, Question::Validate);
    println!("an update, with the old object in the body, to a constant reply to the same body: {update:.2}");
    println!("{} cached clusters to {}: {flat:.3}", server::MANY, server::FEW);
    let validate = ratio(Question::Validate, Question::Constant);
    let mutate = ratio(Question::Mutate, Question::Constant);
    let many = ratio(Question::ManyClusters, Question::Constant);
    let policies10 = ratio(Question::TenPolicies, Question::Constant);
    let policies1000 = ratio(Question::ManyPolicies, Question::Constant);
    let flat_by_policies = ratio(Question::ManyPolicies, Question::TenPolicies);
    println!(
        "{} policies to {}, of which as many match: {flat_by_policies:.3}",
        policies::MANY,
        policies::MATCHING
    );
    println!(
        "ratio constant=1.00 validate={validate:.2} mutate={mutate:.2} clusters10000={many:.2} \
         policies10={policies10:.2} policies1000={policies1000:.2}"
    );
    let is_flat = |ratio: f64| (ratio - 1.0).abs() <= FLAT;
    let promised = validate <= MOST
        && mutate <= MOST
        && many <= MOST
        && policies10 <= MOST_BY_POLICIES
        && is_flat(flat)
        && is_flat(flat_by_policies);
    drop(server);
    if !promised {
        std::process::exit(1);
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
