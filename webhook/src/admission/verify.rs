//! Before a yes is given that nothing judges later, what it takes for granted is listed where it is kept.

use std::sync::Arc;

use butler_policies::presumption::{presumptions, unverified};
use butler_policies::{Facts, Review, Verdict, judge};

use super::Admission;
use crate::facts::Look;

impl<L: Look> Admission<L> {
    /// `verdict` allows, as far as `facts` go. Most reviews take nothing for granted and cost nothing here.
    pub(super) async fn verify(&self, review: &Review<'_>, facts: &Arc<Facts>, verdict: Verdict) -> Verdict {
        let presumptions = presumptions(review, facts);
        if presumptions.is_empty() {
            return verdict;
        }
        let mut facts = Facts::clone(facts);
        for presumption in presumptions {
            let Some(all) = self.look.list(&presumption).await else {
                return unverified(review, presumption.kind);
            };
            all.into_iter().for_each(|(key, fact)| facts.learn(key, fact));
        }
        judge(review, &facts)
    }
}
