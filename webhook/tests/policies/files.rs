//! What becomes of a directory's changes.

use std::fs;
use std::time::Instant;

use butler_policies::facts::Facts;
use butler_webhook::policy_files::Pace;

use crate::world::{Mount, VALIDATE, World, Written, creation, eventually};

const WELL: &str = "butler_policies_last_load_successful";
const WRONG: &str = "kind: ValidatingAdmissionPolicy\n";

fn file(validation: &str) -> String {
    Written { validation, ..Written::default() }.text()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_that_begins_with_bad_files_is_not_ready_and_turns_everybody_away_until_they_are_mended() {
    let mut mount = Mount::of(&[("a.yaml", WRONG.to_owned())]);
    let world = World::start(mount.path()).await;
    eventually("the files are refused", || world.refusals() > 0.0).await;
    let why = world.policies.ready().unwrap_err();
    let start = format!("`{0}` cannot be loaded: {0}/a.yaml:1:1: ", mount.path().display());
    assert!(why.starts_with(&start), "{why}");
    for path in [VALIDATE, crate::world::MUTATE] {
        let answer = world.ask(path, &creation(3)).await;
        assert_eq!(answer["allowed"], false);
        assert_eq!(
            (&answer["status"]["code"], &answer["status"]["reason"]),
            (&503.into(), &"ServiceUnavailable".into())
        );
        assert_eq!(
            answer["status"]["message"],
            "the policies of the platform cannot be loaded, so nothing can be judged; ask who runs the platform to look at \
             its log"
        );
    }
    assert_eq!(world.metric(WELL), Some(0.0));
    assert!(!world.metrics().contains("butler_policies_loaded_info"), "{}", world.metrics());

    mount.swap(&[("a.yaml", Written::default().text())]);
    eventually("the files are loaded", || world.metric(WELL) == Some(1.0)).await;
    assert_eq!(world.policies.ready(), Ok(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_directory_has_no_policies_and_one_that_is_not_there_is_waited_for() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("policies");
    let world = World::start(&directory).await;
    eventually("it is missed", || world.refusals() > 0.0).await;
    assert!(world.policies.ready().is_err());
    fs::create_dir(&directory).unwrap();
    eventually("it is there", || world.policies.ready().is_ok()).await;
    assert_eq!(world.metric("butler_policies_in_force{kind=\"validating\"}"), Some(0.0));

    fs::create_dir(directory.join("below")).unwrap();
    fs::write(directory.join("below/one.yaml"), Written::default().text()).unwrap();
    let count = "butler_policies_in_force{kind=\"validating\"}";
    eventually("a file of a directory below is loaded", || world.metric(count) == Some(1.0)).await;
}

/// As the program runs: nobody restarts it, and nothing but the link is changed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_config_map_that_is_swapped_is_noticed_without_being_asked() {
    const SWAPS: u32 = 5;
    let mut mount = Mount::of(&[("a.yaml", file("{expression: object.spec.workers.replicas <= 1}"))]);
    let world = World::at_pace(mount.path(), Facts::default(), Pace::default()).await;
    eventually("the policies are loaded", || world.policies.ready().is_ok()).await;
    let mut slowest = 0.0_f64;
    for swap in 0..SWAPS {
        let before = world.policies.hash();
        // Allows one more than was allowed before, so that the answer tells which file it is by.
        let most = swap + 2;
        let expression = format!("{{expression: object.spec.workers.replicas <= {most}}}");
        mount.swap(&[("a.yaml", file(&expression))]);
        let swapped = Instant::now();
        eventually("the swap is noticed", || world.policies.hash() != before).await;
        slowest = slowest.max(swapped.elapsed().as_secs_f64());
        let is_denied = async |workers| {
            world.ask(VALIDATE, &creation(workers)).await.to_string().contains("'few-workers'")
        };
        assert!(!is_denied(most).await && is_denied(most + 1).await, "{most}");
    }
    println!("{SWAPS} swaps, the slowest was in force after {slowest:.2} s");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_good_set_goes_on_and_everything_is_shown() {
    let good = [("a.yaml", Written::default().text())];
    let mut mount = Mount::of(&good);
    let world = World::loaded(mount.path()).await;
    let hash = world.policies.hash().unwrap();
    let is_denied = async || world.ask(VALIDATE, &creation(9)).await["status"]["message"].to_string();
    let denial = "ValidatingAdmissionPolicy 'few-workers' with binding 'few-workers' denied request: at most five workers";
    assert!(is_denied().await.contains(denial));
    let info = format!("butler_policies_loaded_info{{hash=\"{hash}\"}}");
    assert_eq!(world.metric(&info), Some(1.0));
    let denied =
        "butler_policies_evaluations_total{policy=\"few-workers\",kind=\"validating\",result=\"denied\"}";
    assert_eq!(world.metric(denied), Some(1.0));
    assert_eq!(world.metric("butler_policies_cost_count"), Some(1.0));

    mount.swap(&[("a.yaml", file("{expression: object.spec.nodes <=}"))]);
    eventually("the files are refused", || world.refusals() > 0.0).await;
    assert!(is_denied().await.contains(denial), "the last good set goes on");
    assert_eq!((world.metric(WELL), world.metric(&info)), (Some(0.0), Some(1.0)));
    assert_eq!(world.metric("butler_policies_load_problems{severity=\"error\"}"), Some(1.0));

    mount.swap(&good);
    eventually("all is well again", || world.metric(WELL) == Some(1.0)).await;
    assert_eq!(world.metric("butler_policies_loads_total{result=\"loaded\"}"), Some(1.0));

    let other = Written { name: "other", ..Written::default() };
    mount.swap(&[("b.yaml", other.text())]);
    eventually("the other is in force", || world.policies.hash() != Some(hash.clone())).await;
    assert!(!world.metrics().contains("few-workers"), "what is gone is not shown: {}", world.metrics());
    assert!(world.metric("butler_policies_last_load_success_timestamp_seconds").unwrap() > 1e9);
}
