//! Mutated reviews through the real handler: whatever comes in, the answer is one that the API server understands.
//!
//! Each case is made from one number, its seed, so a failure is repeated with the seed that it prints:
//! `BUTLER_MUTATION_SEED=… BUTLER_MUTATIONS=1`. How many cases are run, and how to run a million, is in the README of the
//! bench.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test's helpers fail the test by panicking, like the test itself"
)]

mod answer;
mod bytes;
mod json;
mod material;
mod memory;
mod originals;
mod over_tls;
mod platform;
mod random;
mod schemas;
#[path = "../shared/over_tls.rs"]
mod server;
mod structure;
mod tally;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use butler_webhook::admission::{Admission, Metrics, Reply};
use butler_webhook::endpoint::{ENDPOINTS, Endpoint};
use butler_webhook::facts::Snapshots;

use self::originals::Original;
use self::platform::Elsewhere;
use self::random::Random;
use self::tally::Tally;

/// Enough to meet every mutation many times over, and few enough for every day.
const EVERYDAY: u64 = if cfg!(debug_assertions) { 6_000 } else { 100_000 };
/// The cases of one thread. Its name tells which, also when it overflows its stack, which nobody survives to report.
const CHUNK: u64 = 1_000;
/// What a worker of the server's runtime has.
const STACK: usize = 2 << 20;
/// What the whole run may take, with bodies of up to 8 MiB, two of them at a time.
const MOST_MEMORY: u64 = 256 << 20;

#[test]
fn every_mutated_review_gets_a_well_formed_answer() {
    let first = environment("BUTLER_MUTATION_SEED").unwrap_or(1);
    let count = environment("BUTLER_MUTATIONS").unwrap_or(EVERYDAY);
    let originals = Arc::new(originals::all());
    let tally = Arc::new(Tally::default());
    let before = memory::peak();
    let next = Arc::new(AtomicU64::new(0));
    let hands: Vec<_> = (0..std::thread::available_parallelism().map_or(1, usize::from))
        .map(|_| {
            let (originals, tally, next) = (Arc::clone(&originals), Arc::clone(&tally), Arc::clone(&next));
            std::thread::spawn(move || {
                loop {
                    let from = next.fetch_add(CHUNK, Ordering::Relaxed);
                    if from >= count {
                        return;
                    }
                    let seeds = first.wrapping_add(from)..first.wrapping_add(count.min(from + CHUNK));
                    let (originals, tally) = (Arc::clone(&originals), Arc::clone(&tally));
                    let name = format!("seeds {} to {}", seeds.start, seeds.end);
                    let chunk = std::thread::Builder::new().name(name).stack_size(STACK);
                    chunk.spawn(move || Chunk::new(originals, tally).run(seeds)).unwrap().join().unwrap();
                }
            })
        })
        .collect();
    hands.into_iter().for_each(|hand| hand.join().unwrap());
    let peak = memory::peak();
    println!("{count} mutated reviews from seed {first}: {tally}");
    println!("peak memory {} MiB, of which {} MiB before the first review", peak >> 20, before >> 20);
    assert!(peak <= MOST_MEMORY, "{peak} bytes; at most {MOST_MEMORY} were promised");
    if count >= 1_000 {
        tally.assert_every_kind_of_answer_was_met();
    }
}

#[test]
fn every_original_is_a_review() {
    let originals = Arc::new(originals::all());
    let chunk = Chunk::new(Arc::clone(&originals), Arc::default());
    for original in originals.iter() {
        chunk.ask(original.endpoint, &original.body.to_bytes(), 0);
    }
    chunk.tally.assert_no_bad_request();
}

fn environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|error| panic!("{name}: `{text}`: {error}")))
}

/// What one thread needs.
struct Chunk {
    runtime: tokio::runtime::Runtime,
    originals: Arc<Vec<Original>>,
    tally: Arc<Tally>,
    gates: Vec<Admission<Elsewhere>>,
    salt: Arc<AtomicU64>,
}

impl Chunk {
    fn new(originals: Arc<Vec<Original>>, tally: Arc<Tally>) -> Self {
        let salt = Arc::new(AtomicU64::new(0));
        let gates = platform::snapshots().into_iter().map(|facts| {
            Admission::new(Arc::new(Snapshots::new(facts)), Elsewhere::new(&salt), Metrics::default())
        });
        let gates = gates.collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Self { runtime, originals, tally, gates, salt }
    }

    fn run(&self, seeds: std::ops::Range<u64>) {
        for seed in seeds {
            let _repeat = Repeat(seed);
            let mut random = Random::new(seed);
            let original = Self::choose(&self.originals, &mut random);
            let endpoint = if random.one_in(50) { random.choose(ENDPOINTS) } else { &original.endpoint };
            let body = Self::mutate(original, &self.originals, &mut random);
            self.ask(*endpoint, &body, seed);
        }
    }

    /// One of any endpoint, however many reviews of its kind there are.
    fn choose<'a>(originals: &'a [Original], random: &mut Random) -> &'a Original {
        let endpoint = random.choose(ENDPOINTS);
        let mut of_endpoint = originals.iter().filter(|original| original.endpoint == *endpoint);
        let count = of_endpoint.clone().count();
        of_endpoint.nth(random.below(count)).unwrap()
    }

    fn mutate(original: &Original, originals: &[Original], random: &mut Random) -> Vec<u8> {
        let mut body = original.body.clone();
        for _ in 0..random.below(5) {
            structure::mutate(&mut body, originals, random);
        }
        let mut body = body.to_bytes();
        if random.one_in(6) {
            for _ in 0..=random.below(3) {
                bytes::mutate(&mut body, random);
            }
        }
        body
    }

    /// Asks, checks the answer, and asks again with what the answer would make of the object.
    fn ask(&self, endpoint: Endpoint, body: &[u8], seed: u64) {
        self.salt.store(seed, Ordering::Relaxed);
        let gate = &self.gates[usize::try_from(seed).unwrap() % self.gates.len()];
        let reply = self.runtime.block_on(gate.review(endpoint, body));
        let patched = answer::check(endpoint, body, &reply);
        self.tally.count(&reply);
        // What is asked again is written anew, and then says nothing twice, in the old object neither.
        let says_nothing_twice = || {
            let anew = serde_json::from_slice::<serde_json::Value>(body).unwrap().to_string();
            self.runtime.block_on(gate.review(endpoint, anew.as_bytes())) == reply
        };
        if let Some(patched) = patched.filter(|_| says_nothing_twice()) {
            let again = self.runtime.block_on(gate.review(endpoint, &patched));
            let rest = answer::check(endpoint, &patched, &again);
            assert!(
                rest.is_none(),
                "the completed object is completed again:\n{}\n{again:?}",
                text(&patched)
            );
        }
        if let Reply::NotAReview(message) = reply {
            assert!(!message.is_empty(), "a refusal says why");
        }
    }
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(16 << 10)]).into_owned()
}

/// Says how to repeat the case during which the thread panicked.
struct Repeat(u64);

impl Drop for Repeat {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("repeat it with BUTLER_MUTATION_SEED={} BUTLER_MUTATIONS=1", self.0);
        }
    }
}
