use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::fixtures::*;

const UID: &str = "705ab4f5-6393-11e8-b7cc-42010a800002";

fn body(operation: &str, object: Value, old: Value) -> String {
    review_body(operation, "tenantclusters", &object, &old, "ana@example.org")
}

#[test]
fn a_creation_is_read() {
    let body = body("CREATE", cluster_json(json!({})), Value::Null);
    let review = Review::parse(body.as_bytes()).unwrap();
    assert_eq!((&*review.uid, &*review.namespace, &*review.name), (UID, "payments", "orders"));
    assert_eq!(review.caller, caller("ana@example.org"));
    let Subject::TenantCluster(change) = review.subject else { panic!("{:?}", review.subject) };
    assert_eq!(*change, Change::Create(cluster(json!({}))));
}

#[test]
fn old_and_new_are_told_apart() {
    let (old, new) = (cluster_json(json!({})), cluster_json(json!({"spec": {"workers": {"replicas": 9}}})));
    let body = body("UPDATE", new, old);
    let Subject::TenantCluster(change) = Review::parse(body.as_bytes()).unwrap().subject else {
        panic!("kind")
    };
    let Change::Update { old, new } = *change else { panic!("change") };
    assert_eq!((old.spec.replicas(), new.spec.replicas()), (Some(3), Some(9)));
}

#[test]
fn a_cluster_without_a_spec_is_read() {
    for object in [cluster_json(json!({"spec": null})), merged(json!({}), json!({"metadata": {"name": "a"}}))]
    {
        let body = body("CREATE", object, Value::Null);
        let Subject::TenantCluster(change) = Review::parse(body.as_bytes()).unwrap().subject else {
            panic!("kind")
        };
        let Change::Create(cluster) = *change else { panic!("change") };
        assert_eq!(cluster.spec, TenantCluster::default().spec);
    }
}

#[test]
fn scale_and_status_are_told_apart() {
    let with = |subresource: &str, object: Value| {
        let mut review: Value = serde_json::from_str(&body("UPDATE", object, Value::Null)).unwrap();
        review["request"]["subResource"] = json!(subresource);
        review.to_string()
    };
    let scale =
        with("scale", json!({"kind": "Scale", "metadata": {"name": "orders"}, "spec": {"replicas": 7}}));
    assert!(matches!(Review::parse(scale.as_bytes()).unwrap().subject, Subject::Scale { replicas: 7 }));
    let status = with("status", cluster_json(json!({"spec": {"workers": "nonsense"}})));
    assert!(matches!(Review::parse(status.as_bytes()).unwrap().subject, Subject::Untouched));
}

#[test]
fn kubectl_scale_meets_the_same_rules() {
    let judged = |replicas: i32| {
        let scale = json!({"kind": "Scale", "metadata": {"name": "orders", "namespace": "payments"}, "spec": {"replicas": replicas}});
        let mut review: Value = serde_json::from_str(&body("UPDATE", scale, Value::Null)).unwrap();
        review["request"]["subResource"] = json!("scale");
        let text = review.to_string();
        crate::judge(&Review::parse(text.as_bytes()).unwrap(), &facts())
            .denials()
            .map(line)
            .collect::<Vec<_>>()
    };
    assert_eq!(judged(5), [""; 0]);
    assert_eq!(
        judged(300),
        [
            "spec.networking.podCIDR: `10.244.0.0/16` has room for 256 nodes, each with a /24, but the cluster has 300 workers; use \
          fewer, or create another cluster"
        ]
    );
    assert_eq!(
        judged(0),
        [
            "spec.workers.replicas: `0` is too few, because a cluster without workers runs nothing; write at least 1, or delete the \
          cluster"
        ]
    );
}

#[test]
fn bad_bodies_get_a_clean_error_and_keep_the_uid() {
    let with_request = |request: &str| {
        format!(r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{request}}}"#)
    };
    let deep = format!(r#"{{"uid":"u","object":{}}}"#, "[".repeat(100_000) + &"]".repeat(100_000));
    let table: [(Vec<u8>, Option<&str>); 9] = [
        (b"{".to_vec(), None),
        (vec![0xff, 0xfe], None),
        (b"{}".to_vec(), None),
        (with_request("{}").into_bytes(), None),
        (with_request(r#"{"uid":"u"}"#).into_bytes(), Some("u")),
        (with_request(r#"{"uid":"u","operation":"CREATE","operation":"UPDATE"}"#).into_bytes(), Some("u")),
        (with_request(r#"{"uid":"u","operation":"DANCE","resource":{}}"#).into_bytes(), Some("u")),
        (
            with_request(r#"{"uid":"u","operation":"CREATE","resource":{"resource":"pods","version":"v1"}}"#)
                .into_bytes(),
            Some("u"),
        ),
        (with_request(&deep).into_bytes(), Some("u")),
    ];
    for (body, uid) in table {
        let error = Review::parse(&body).unwrap_err();
        assert_eq!(error.uid.as_deref(), uid, "{error}");
        assert!(!error.is_about_the_object, "{error}");
    }
}

#[test]
fn an_object_that_cannot_be_read_is_told_from_a_bad_envelope() {
    let object = cluster_json(json!({"spec": {"workers": {"replicas": 1e300}}}));
    let error = Review::parse(body("CREATE", object, Value::Null).as_bytes()).unwrap_err();
    assert_eq!(error.uid.as_deref(), Some(UID));
    assert!(error.is_about_the_object);
    assert_eq!(
        error.message,
        "spec.workers.replicas: `1e+300` is a number; write a whole number between -2147483648 and 2147483647"
    );
}

#[test]
fn an_unreadable_object_can_still_lose_its_finalizers_and_go() {
    let broken =
        |metadata: Value| cluster_json(json!({"metadata": metadata, "spec": {"workers": "nonsense"}}));
    let with = broken(json!({"finalizers": ["a"]}));
    let without = broken(json!({}));
    let passes = |operation: &str, object: &Value, old: &Value| {
        let text = body(operation, object.clone(), old.clone());
        crate::judge(&Review::parse(text.as_bytes()).unwrap(), &facts()).allows()
    };
    assert!(passes("UPDATE", &without, &with));
    assert!(passes("DELETE", &Value::Null, &with));
    let leaving = broken(json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "labels": {"a": "b"}}));
    assert!(passes("UPDATE", &leaving, &with));
    assert!(passes("UPDATE", &cluster_json(json!({})), &with), "a repair");
}

#[test]
fn an_answer_has_the_uid_the_causes_and_the_rules() {
    let object =
        cluster_json(json!({"spec": {"kubernetesVersion": "v1.36.0", "controlPlane": {"replicas": 4}}}));
    let text = body("CREATE", object, Value::Null);
    let review = Review::parse(text.as_bytes()).unwrap();
    let verdict = crate::judge(&review, &facts());
    let answer: Value =
        serde_json::from_slice(&crate::verdict::answer_verdict(&review.uid, &verdict)).unwrap();
    let hosted = "`v1.36.0` is not run by the hosted control plane; choose one of `v1.24` to `v1.35`";
    assert_eq!(
        answer,
        json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": {
                "uid": UID, "allowed": false,
                "status": {
                    "status": "Failure", "code": 422, "reason": "Invalid",
                    "message": format!("2 problems\n- spec.kubernetesVersion: {hosted}\n- spec.controlPlane.replicas: `4` is not \
                                        possible; write 1, 2 or 3"),
                    "details": {
                        "name": "orders", "group": "butler.butlerlabs.dev", "kind": "TenantCluster",
                        "causes": [
                            {"reason": "FieldValueNotSupported", "field": "spec.kubernetesVersion", "message": hosted},
                            {"reason": "FieldValueInvalid", "field": "spec.controlPlane.replicas",
                             "message": "`4` is not possible; write 1, 2 or 3"}
                        ]
                    }
                },
                "auditAnnotations": {"findings": "kubernetes-version/NotHosted,control-plane/Replicas"}
            }
        })
    );
}

/// What the quick way gives has to be what the careful way gives; it may only give up more often.
fn both_ways_agree(text: &str) -> bool {
    let Some(quick) = quick::request(text) else { return false };
    let careful = envelope::read_carefully(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(format!("{quick:?}"), format!("{careful:?}"));
    true
}

#[test]
fn an_ordinary_review_goes_the_quick_way() {
    let object = cluster_json(
        json!({"metadata": {"annotations": {"a/b": "c \"d\" \n é"}, "managedFields": [{"f:a": {}}]}}),
    );
    let text = body("UPDATE", object.clone(), cluster_json(json!({})));
    assert!(both_ways_agree(&text));
    let pretty = serde_json::to_string_pretty(&serde_json::from_str::<Value>(&text).unwrap()).unwrap();
    assert!(both_ways_agree(&pretty));
    let review = Review::parse(text.as_bytes()).unwrap();
    let Subject::TenantCluster(change) = review.subject else { panic!("{:?}", review.subject) };
    let Change::Update { new, .. } = *change else { panic!("change") };
    let expected: TenantCluster = serde_json::from_value(object).unwrap();
    assert_eq!((new.metadata.annotations, new.spec), (expected.metadata.annotations, expected.spec));
}

#[test]
fn what_is_not_ordinary_goes_the_careful_way() {
    let text = body("CREATE", cluster_json(json!({})), Value::Null);
    let deep = "[".repeat(100) + &"]".repeat(100);
    let tweaks = [
        ("\"uid\":", "\"u\\u0069d\":"),
        ("\"dryRun\":false", "\"dryRun\":null"),
        ("\"dryRun\":false", &*format!("\"dryRun\":false,\"extra\":{deep}")),
    ];
    for (from, to) in tweaks {
        let tweaked = text.replace(from, to);
        assert_ne!(tweaked, text);
        assert!(!both_ways_agree(&tweaked), "{tweaked}");
        assert!(Review::parse(tweaked.as_bytes()).is_ok(), "{tweaked}");
    }
}

proptest! {
    #[test]
    fn both_ways_agree_on_whatever_comes(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..4)
    ) {
        let letters = b"\"\\{}[]:,0-1.e+ntfu \n\x01\x7fa/";
        let mut bytes = body("UPDATE", cluster_json(json!({"metadata": {"labels": {"a": "1"}}})), cluster_json(json!({}))).into_bytes();
        for (at, letter) in changes {
            let at = at.index(bytes.len());
            bytes[at] = letters[letter.index(letters.len())];
        }
        both_ways_agree(&String::from_utf8_lossy(&bytes));
    }
}
