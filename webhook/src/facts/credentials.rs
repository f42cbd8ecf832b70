//! Which Secrets the ProviderConfigs refer to.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use butler_api::reference::NsRef;

/// The Secrets to look after, each with the number of times that a ProviderConfig which refers to it was heard of: a
/// higher number asks for a look right away.
pub(super) type Wanted = BTreeMap<NsRef, u64>;

/// References from ProviderConfigs to Secrets.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    by_provider: HashMap<NsRef, NsRef>,
    providers: BTreeMap<NsRef, BTreeSet<NsRef>>,
    wanted: Wanted,
    asked: u64,
}

impl Credentials {
    /// The Secrets to look after.
    pub(super) fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    pub(super) fn is_wanted(&self, secret: &NsRef) -> bool {
        self.wanted.contains_key(secret)
    }

    /// A ProviderConfig refers to that Secret now, or to none. Gives back a Secret that nobody refers to any more.
    pub(super) fn refer(&mut self, provider: &NsRef, secret: Option<NsRef>) -> Option<NsRef> {
        let old = match &secret {
            Some(secret) => self.by_provider.insert(provider.clone(), secret.clone()),
            None => self.by_provider.remove(provider),
        };
        if let Some(secret) = &secret {
            self.asked += 1;
            self.wanted.insert(secret.clone(), self.asked);
            self.providers.entry(secret.clone()).or_default().insert(provider.clone());
        }
        let old = old.filter(|old| Some(old) != secret.as_ref())?;
        let others = self.providers.get_mut(&old)?;
        others.remove(provider);
        if !others.is_empty() {
            return None;
        }
        self.providers.remove(&old);
        self.wanted.remove(&old);
        Some(old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(name: &str) -> NsRef {
        NsRef { name: name.to_owned(), namespace: "butler-system".to_owned() }
    }

    #[test]
    fn a_secret_is_wanted_as_long_as_anybody_refers_to_it() {
        let mut credentials = Credentials::default();
        assert_eq!(credentials.refer(&at("a"), Some(at("shared"))), None);
        assert_eq!(credentials.refer(&at("b"), Some(at("shared"))), None);
        assert_eq!(credentials.refer(&at("a"), Some(at("own"))), None);
        assert_eq!(credentials.wanted().keys().cloned().collect::<Vec<_>>(), [at("own"), at("shared")]);
        assert_eq!(credentials.refer(&at("b"), None), Some(at("shared")));
        assert_eq!(credentials.refer(&at("b"), None), None);
        assert!(credentials.is_wanted(&at("own")) && !credentials.is_wanted(&at("shared")));
    }

    #[test]
    fn a_provider_that_changes_asks_for_its_secret_anew() {
        let mut credentials = Credentials::default();
        credentials.refer(&at("a"), Some(at("own")));
        let before = credentials.wanted().clone();
        credentials.refer(&at("a"), Some(at("own")));
        assert_ne!(credentials.wanted(), &before);
    }
}
