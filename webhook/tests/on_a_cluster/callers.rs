//! Whoever is not the API server gets nothing.

use butler_bench::pki::Authority;

use crate::direct::{call, is_yes, trusted};
use crate::harness::{CALLER, Gate, Setup};
use crate::load::Load;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_proves_nothing_gets_not_a_byte_and_the_api_server_is_served() {
    let gate = Gate::start(Setup { caller_proof: true, ..Setup::default() }).await;
    let (port, bundle) = (gate.replicas()[0].port(), trusted(gate.client()).await);
    let ours = gate.plane().pki().cluster();
    let right = ours.client(CALLER, &[]).unwrap();
    let wrong_name = ours.client("somebody", &["system:masters"]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let stranger = Authority::open(&directory.path().join("stranger"), "stranger").unwrap();
    let wrong_authority = stranger.client(CALLER, &[]).unwrap();
    let refused = [
        ("no certificate", None),
        ("one of another authority", Some((&*wrong_authority.certificate, &*wrong_authority.key))),
        ("one with another name", Some((&*wrong_name.certificate, &*wrong_name.key))),
    ];
    for (what, identity) in refused {
        let (answer, result) = call(port, &bundle, identity).await;
        assert_eq!(String::from_utf8_lossy(&answer), "", "{what}");
        let error = result.unwrap_err();
        println!("with {what}: {error}");
    }
    let (answer, _) = call(port, &bundle, Some((&right.certificate, &right.key))).await;
    assert!(is_yes(&answer), "{}", String::from_utf8_lossy(&answer));

    let load = Load::start(&gate).await;
    load.settle().await;
    let served = load.stop().await;
    assert_eq!((served.wrong, served.failed), (Vec::new(), Vec::new()));
}
