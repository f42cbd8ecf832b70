//! The same file, the same verdict: the policies of `policies/library/` and of `corpus/` judge the same requests twice,
//! as objects of a real kube-apiserver and as files of the webhook, and every answer is held against the other.
//!
//! Both sides are a control plane of their own with Butler's gate in force. On the one the gate has no policies and the
//! API server has them all; on the other the gate has the files and the API server knows of none.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test's helpers fail the test by panicking, like the test itself"
)]

mod answer;
mod corpus;
mod differences;
mod editions;
mod planned;
mod side;

/// The gate as its own tests start it.
#[path = "../on_a_cluster"]
#[expect(dead_code, reason = "those tests use more of it")]
mod on_a_cluster {
    pub(crate) mod harness;
    pub(crate) mod objects;
}

use self::corpus::Folder;
use self::differences::Differences;
use self::on_a_cluster::{harness, objects};
use self::planned::Planned;
use self::side::Side;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_says_the_same_here_and_in_kube_apiserver() {
    let (folders, ours_only): (Vec<Folder>, Vec<Folder>) =
        corpus::read().into_iter().partition(|folder| !folder.is_ours_only);
    let mut planned: Vec<Planned> = folders.iter().flat_map(planned::plan).collect();

    let (theirs, ours) = tokio::join!(Side::start(false), Side::start(true));
    let (left_out, also) = tokio::join!(theirs.set_up(&folders, &planned), ours.set_up(&folders, &planned));
    assert_eq!(left_out, also);
    planned.retain(|planned| !left_out.contains(&planned.id));
    tokio::join!(theirs.enforce_by_api_server(&folders), ours.enforce_by_gate(&folders));
    let (theirs, ours) = tokio::join!(theirs.ask_all(&planned), ours.ask_all(&planned));

    let mut differences = Differences::expected();
    for ((planned, theirs), ours) in planned.iter().zip(&theirs).zip(&ours) {
        differences.compare(planned, theirs, ours);
    }
    let policies: usize = folders.iter().map(Folder::policies).sum();
    let (explained, unexplained) = differences.finish();
    println!(
        "policies: {policies}, requests: {}, differences: {}, explained: {explained}, left out: {}, ours only: {}",
        planned.len(),
        unexplained.len(),
        left_out.len(),
        ours_only.iter().map(Folder::policies).sum::<usize>(),
    );
    assert!(unexplained.is_empty(), "{} differences\n\n{}", unexplained.len(), unexplained.join("\n\n"));
}
