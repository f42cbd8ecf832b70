//! What holds for every review, however the platform has changed since the object was admitted.

mod defaults;
mod generated;
mod ratchet;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixtures::*;
use crate::review::Review;
use crate::{complete, judge};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_mutation_of_a_review_panics(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let (new, old) = (cluster_json(json!({})), cluster_json(json!({"spec": {"workers": {"replicas": 1}}})));
        let text = review_body("UPDATE", "tenantclusters", &new, &old, "ana@example.org");
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let facts = facts();
        for bytes in [&bytes[..], &bytes[..cut.index(bytes.len())]] {
            if let Ok(review) = Review::parse(bytes) {
                let verdict = judge(&review, &facts);
                let completion = complete(&review, &facts);
                let answers = [
                    crate::verdict::answer_verdict(&review.uid, &verdict),
                    crate::verdict::answer_patch(&review.uid, &completion.patch),
                ];
                for answer in answers {
                    let answer: Value = serde_json::from_slice(&answer).expect("an answer");
                    prop_assert_eq!(answer["response"]["uid"].as_str(), Some(&*review.uid));
                }
            }
        }
    }
}
