//! Which Kubernetes releases the hosted control plane runs.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::version::{KubernetesMinor, KubernetesVersion, VersionError};
use crate::wire::given;

/// The oldest minor that a cluster may ask for. Steward has no lower bound of its own, but workers join with containerd, and
/// v1.24 is the first minor that knows nothing else.
pub const LOWEST_HOSTED: KubernetesMinor = KubernetesMinor { major: 1, minor: 24 };

/// The newest minor that Steward accepts: it refuses what is above the kubeadm it was built with.
pub const HIGHEST_HOSTED: KubernetesMinor = KubernetesMinor { major: 1, minor: 35 };

/// Kubernetes releases that clusters may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SupportedKubernetes {
    /// Oldest minor, for example `v1.30`. Left out, it is `v1.24`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowest: Option<String>,
    /// Newest minor, for example `v1.35`. Left out, it is the newest one that this release of Butler knows Steward to
    /// run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highest: Option<String>,
}

impl SupportedKubernetes {
    /// The oldest minor, as written.
    pub fn lowest(&self) -> Option<Result<KubernetesMinor, VersionError>> {
        given(&self.lowest).map(str::parse)
    }

    /// The newest minor, as written.
    pub fn highest(&self) -> Option<Result<KubernetesMinor, VersionError>> {
        given(&self.highest).map(str::parse)
    }

    /// The bounds that count. One that cannot be read counts as left out: a mistake in the platform's settings must
    /// not stop every cluster.
    pub fn range(&self) -> SupportedRange {
        SupportedRange {
            lowest: self.lowest().and_then(Result::ok).unwrap_or(LOWEST_HOSTED),
            highest: self.highest().and_then(Result::ok).unwrap_or(HIGHEST_HOSTED),
        }
    }
}

/// The minors that clusters may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportedRange {
    /// The oldest.
    pub lowest: KubernetesMinor,
    /// The newest.
    pub highest: KubernetesMinor,
}

impl SupportedRange {
    /// Whether clusters may use that release.
    pub fn contains(&self, version: KubernetesVersion) -> bool {
        (self.lowest..=self.highest).contains(&version.minor())
    }
}

impl fmt::Display for SupportedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` to `{}`", self.lowest, self.highest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_bounds_unless_the_platform_sets_its_own() {
        let none = SupportedKubernetes::default().range();
        assert!(none.contains(KubernetesVersion::new(1, 35, 9)));
        assert!(!none.contains(KubernetesVersion::new(1, 36, 0)));
        assert!(none.contains(KubernetesVersion::new(1, 24, 0)));
        assert!(!none.contains(KubernetesVersion::new(1, 23, 17)));
        assert_eq!(none.to_string(), "`v1.24` to `v1.35`");
        let own = SupportedKubernetes { lowest: Some("v1.30".into()), highest: Some("v1.36".into()) }.range();
        assert!(own.contains(KubernetesVersion::new(1, 36, 0)));
        assert!(!own.contains(KubernetesVersion::new(1, 29, 9)));
        assert_eq!(own.to_string(), "`v1.30` to `v1.36`");
    }

    #[test]
    fn a_bound_that_cannot_be_read_counts_as_left_out() {
        let broken = SupportedKubernetes { lowest: Some("new".into()), highest: Some("1.36".into()) };
        assert_eq!(broken.range(), SupportedKubernetes::default().range());
    }
}
