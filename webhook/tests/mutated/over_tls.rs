//! A share of the mutated reviews, over the wire: through TLS, HTTP and the limits of the server.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use butler_webhook::admission::{Admission, Metrics, Reply};
use butler_webhook::endpoint::ENDPOINTS;
use butler_webhook::facts::Snapshots;
use butler_webhook::server::Limits;

use crate::platform::{self, Elsewhere};
use crate::random::Random;
use crate::server::{Server, ask};
use crate::tally::Tally;
use crate::{Chunk, EVERYDAY, answer, environment, originals};

/// One in so many.
const SHARE: u64 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_mutated_review_over_tls_gets_a_well_formed_answer() {
    let first = environment("BUTLER_MUTATION_SEED").unwrap_or(1);
    let count = environment("BUTLER_MUTATIONS").unwrap_or(EVERYDAY).div_ceil(SHARE);
    let originals = Arc::new(originals::all());
    let salt = Arc::default();
    let facts = Arc::new(Snapshots::new(platform::snapshots().swap_remove(0)));
    let gate = Admission::new(facts, Elsewhere::new(&salt), Metrics::default());
    let server = Server::start(gate).await;
    let tally = Tally::default();
    let mut connection = None;
    let mut too_large = 0;
    for seed in first..first.wrapping_add(count) {
        let mut random = Random::new(seed);
        let original = Chunk::choose(&originals, &mut random);
        let endpoint = if random.one_in(50) { random.choose(ENDPOINTS) } else { &original.endpoint };
        let body = Chunk::mutate(original, &originals, &mut random);
        salt.store(seed, Ordering::Relaxed);
        let stream = match connection.take() {
            Some(stream) => stream,
            None => server.connect().await,
        };
        let (status, text, stream) = ask(stream, *endpoint, &body).await;
        connection = stream;
        let reply = match status {
            200 => Reply::Answer(text),
            400 => Reply::NotAReview(String::from_utf8(text).unwrap()),
            413 if body.len() > Limits::default().body_bytes => {
                too_large += 1;
                continue;
            }
            other => panic!("seed {seed}: {other} {}", String::from_utf8_lossy(&text)),
        };
        answer::check(*endpoint, &body, &reply);
        tally.count(&reply);
    }
    println!("{count} mutated reviews over TLS from seed {first}: {tally}, {too_large} too large");
}
