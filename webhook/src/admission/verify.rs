//! Before an answer is given that nothing judges later, what it takes for granted is listed where it is kept.

use std::sync::Arc;
use std::time::Duration;

use butler_policies::presumption::{presumptions, unverified};
use butler_policies::{Facts, Review, Verdict};
use tokio::time::timeout;

use super::Admission;
use crate::facts::Look;

/// A no has been confirmed already, which may have taken most of the time that the API server gives us.
const PATIENCE_OF_A_NO: Duration = Duration::from_secs(1);

impl<L: Look> Admission<L> {
    /// `verdict` is right as far as `facts` go. Most answers take nothing for granted and cost nothing here.
    pub(super) async fn verify(
        &self,
        review: &Review<'_>,
        mut facts: Arc<Facts>,
        verdict: Verdict,
        judge: impl Fn(&Review<'_>, &Facts) -> Verdict,
    ) -> Verdict {
        let presumptions = presumptions(review, &verdict, &facts);
        if presumptions.is_empty() {
            return verdict;
        }
        let facts = Arc::make_mut(&mut facts);
        for presumption in presumptions {
            let listing = self.look.list(&presumption);
            let listed = match verdict.allows() {
                true => listing.await,
                false => timeout(PATIENCE_OF_A_NO, listing).await.ok().flatten(),
            };
            let Some(all) = listed else {
                // Not knowing denies, but what is denied already has better reasons.
                return if verdict.allows() { unverified(review, presumption.kind) } else { verdict };
            };
            all.into_iter().for_each(|(key, fact)| facts.learn(key, fact));
        }
        judge(review, facts)
    }
}
