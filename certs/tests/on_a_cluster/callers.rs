//! Proof that the caller is the API server.

use butler_bench::{ControlPlane, Options};
use butler_certs::{Callers, Proof};

use crate::replica::{Load, Replica, call};
use crate::world::{World, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_api_server_gets_an_answer_where_proof_is_required() {
    let options = Options::default().without_controllers().webhook_client_certificate();
    let plane = ControlPlane::start(options).await.unwrap();
    let world = World::new(&plane).await;
    let authority = plane.pki().file("ca.crt");
    let callers = Callers::from_file(&authority, ["kube-apiserver-webhook-client"]).unwrap();
    let proof = Proof::Required(vec![callers]);
    let replica = Replica::with_proof(&world.client, world.settings(), proof).await;
    world.register(&[replica.port]).await;
    world.rest().await;
    let trusted = world.entry("ca.crt").await.unwrap();
    let host = format!("webhook.{}.svc", world.namespace);

    let cluster = plane.pki().cluster();
    let right = cluster.client("kube-apiserver-webhook-client", &[]).unwrap();
    let administrator = cluster.client("kubernetes-admin", &["system:masters"]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let other = butler_bench::pki::Authority::open(&directory.path().join("other"), "butler-bench").unwrap();
    let forged = other.client("kube-apiserver-webhook-client", &[]).unwrap();

    let shown = call(replica.port, &trusted, &host, Some((&right.certificate, &right.key))).await;
    assert!(shown.is_ok(), "{shown:?}");
    for (who, identity) in [
        ("nobody", None),
        ("the administrator", Some((&*administrator.certificate, &*administrator.key))),
        ("another authority's", Some((&*forged.certificate, &*forged.key))),
    ] {
        let refused = call(replica.port, &trusted, &host, identity).await;
        assert!(refused.is_err(), "{who} got an answer");
    }

    let load = Load::start(&world.client, &world.namespace);
    eventually("calls of the API server", async || load.calls() > 20).await;
    let (_, failures) = load.stop().await;
    assert_eq!(failures, Vec::<String>::new());
}
