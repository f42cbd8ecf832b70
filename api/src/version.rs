//! Kubernetes versions as users write them: `v1.30.2`, nothing before, nothing after.
//!
//! Stricter than the CRD's pattern in two points: a number has no leading zero, as in semantic versioning (`v1.030.2`
//! and `v1.30.2` would otherwise be one version with two spellings, and lists of allowed versions compare text), and it
//! fits 32 bits.

use std::fmt;
use std::str::FromStr;

use crate::excerpt::excerpt;

/// A Kubernetes release, ordered by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubernetesVersion {
    /// The first number.
    pub major: u32,
    /// The second number: three or four of them appear per year.
    pub minor: u32,
    /// The third number: fixes only.
    pub patch: u32,
}

/// A Kubernetes minor, such as `v1.30`: what version skew rules speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubernetesMinor {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
}

/// Why a text is not a Kubernetes version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// Not `v` and three numbers.
    #[error("`{0}` is not a Kubernetes version; write `v` and three numbers, such as `v1.30.2`")]
    Shape(String),
    /// Not `v` and two numbers.
    #[error("`{0}` is not a Kubernetes minor; write `v` and two numbers, such as `v1.30`")]
    MinorShape(String),
    /// One of the numbers begins with a needless zero.
    #[error("`{text}` has a number with a leading zero; write `{corrected}`")]
    LeadingZero {
        /// The whole version.
        text: String,
        /// The same version in its one spelling.
        corrected: String,
    },
    /// One of the numbers does not fit.
    #[error("`{text}` has the number `{part}`, which is above 4294967295; write a version that exists")]
    TooLarge {
        /// The whole version.
        text: String,
        /// The number in question.
        part: String,
    },
}

impl KubernetesVersion {
    /// The version with these three numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// The minor this release belongs to.
    pub const fn minor(self) -> KubernetesMinor {
        KubernetesMinor { major: self.major, minor: self.minor }
    }

    /// Whether both releases belong to one minor, so that only fixes lie between them.
    pub fn is_same_minor(self, other: Self) -> bool {
        self.minor() == other.minor()
    }

    /// How many minors this release is ahead of `other`: negative when behind, `None` when the majors differ, because
    /// nobody knows how many minors a major will have.
    pub fn minor_distance(self, other: Self) -> Option<i64> {
        self.minor().distance(other.minor())
    }

    /// Whether going from `old` to this release goes back at all, be it by a patch.
    pub fn is_downgrade_from(self, old: Self) -> bool {
        self < old
    }

    /// Whether going from `old` to this release leaves out a minor in between. A control plane has to visit each of
    /// them. A step to a later major counts as leaving some out.
    pub fn skips_minor_from(self, old: Self) -> bool {
        self.minor_distance(old).map_or(self.major > old.major, |distance| distance > 1)
    }
}

impl KubernetesMinor {
    /// How many minors this one is ahead of `other`; see [`KubernetesVersion::minor_distance`].
    pub fn distance(self, other: Self) -> Option<i64> {
        (self.major == other.major).then(|| i64::from(self.minor) - i64::from(other.minor))
    }
}

impl FromStr for KubernetesVersion {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let shape = || VersionError::Shape(excerpt(text));
        let mut parts = text.strip_prefix('v').ok_or_else(shape)?.split('.');
        let (Some(major), Some(minor), Some(patch), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(shape());
        };
        if ![major, minor, patch].iter().all(|part| is_number(part)) {
            return Err(shape());
        }
        let corrected = [major, minor, patch].map(without_leading_zeros).join(".");
        if corrected.len() + 1 < text.len() {
            let corrected = excerpt(&format!("v{corrected}"));
            return Err(VersionError::LeadingZero { text: excerpt(text), corrected });
        }
        let number = |part: &str| {
            part.parse().map_err(|_| VersionError::TooLarge { text: excerpt(text), part: excerpt(part) })
        };
        Ok(Self { major: number(major)?, minor: number(minor)?, patch: number(patch)? })
    }
}

impl FromStr for KubernetesMinor {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        // The patch is put there only to read both with the same strictness.
        let whole: Result<KubernetesVersion, _> = format!("{text}.0").parse();
        whole.map(KubernetesVersion::minor).map_err(|_| VersionError::MinorShape(excerpt(text)))
    }
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

fn without_leading_zeros(number: &str) -> &str {
    let trimmed = number.trim_start_matches('0');
    if trimmed.is_empty() { "0" } else { trimmed }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl fmt::Display for KubernetesMinor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{KubernetesVersion, VersionError};

    fn version(text: &str) -> KubernetesVersion {
        text.parse().unwrap()
    }

    fn error(text: &str) -> String {
        text.parse::<KubernetesVersion>().unwrap_err().to_string()
    }

    #[test]
    fn a_version_is_v_and_three_numbers() {
        assert_eq!(version("v1.30.2"), KubernetesVersion::new(1, 30, 2));
        assert_eq!(version("v0.0.0"), KubernetesVersion::new(0, 0, 0));
        assert_eq!(version("v4294967295.0.1").major, u32::MAX);
    }

    #[test]
    fn anything_else_is_refused_with_an_example() {
        let table = [
            "",
            "v",
            "1.30.2",
            "V1.30.2",
            "v1.30",
            "v1.30.2.1",
            "v1.30.x",
            "v1..2",
            "v1.30.2-rc.1",
            "v1.30.2+k3s1",
            " v1.30.2",
            "v1.30.2 ",
            "v1.30.+2",
            "v-1.30.2",
            "vv1.30.2",
            "v1.30.٢",
        ];
        for text in table {
            assert_eq!(
                error(text),
                format!(
                    "`{text}` is not a Kubernetes version; write `v` and three numbers, such as `v1.30.2`"
                ),
            );
        }
    }

    #[test]
    fn a_leading_zero_is_refused() {
        assert_eq!(error("v1.030.2"), "`v1.030.2` has a number with a leading zero; write `v1.30.2`");
        assert_eq!(error("v1.30.00"), "`v1.30.00` has a number with a leading zero; write `v1.30.0`");
    }

    #[test]
    fn a_number_past_32_bits_is_refused() {
        assert_eq!(
            error("v1.4294967296.0"),
            "`v1.4294967296.0` has the number `4294967296`, which is above 4294967295; write a version that exists",
        );
        let long = format!("v1.{}.0", "9".repeat(100_000));
        assert!(matches!(long.parse::<KubernetesVersion>(), Err(VersionError::TooLarge { .. })));
        assert!(error(&long).len() < 300);
    }

    #[test]
    fn steps_between_versions_are_told_apart() {
        let table = [
            // old, new, minors ahead, goes back, skips one
            ("v1.30.2", "v1.30.2", Some(0), false, false),
            ("v1.30.2", "v1.30.9", Some(0), false, false),
            ("v1.30.2", "v1.30.1", Some(0), true, false),
            ("v1.30.2", "v1.31.0", Some(1), false, false),
            ("v1.30.2", "v1.32.0", Some(2), false, true),
            ("v1.30.2", "v1.29.9", Some(-1), true, false),
            ("v1.30.2", "v2.0.0", None, false, true),
            ("v2.0.0", "v1.30.2", None, true, false),
        ];
        for (old, new, distance, back, skips) in table {
            let (old, new) = (version(old), version(new));
            assert_eq!(new.minor_distance(old), distance, "{old} to {new}");
            assert_eq!(new.is_downgrade_from(old), back, "{old} to {new}");
            assert_eq!(new.skips_minor_from(old), skips, "{old} to {new}");
            assert_eq!(new.is_same_minor(old), distance == Some(0), "{old} to {new}");
        }
    }

    #[test]
    fn a_minor_is_v_and_two_numbers() {
        assert_eq!("v1.30".parse(), Ok(version("v1.30.2").minor()));
        for text in ["", "1.30", "v1.30.2", "v1.030", "v1"] {
            assert_eq!(
                text.parse::<super::KubernetesMinor>().unwrap_err().to_string(),
                format!("`{text}` is not a Kubernetes minor; write `v` and two numbers, such as `v1.30`"),
            );
        }
    }

    #[test]
    fn a_minor_is_shown_without_its_patch() {
        assert_eq!(version("v1.30.2").minor().to_string(), "v1.30");
    }

    proptest! {
        #[test]
        fn order_is_the_order_of_the_numbers(left in any::<(u32, u32, u32)>(), right in any::<(u32, u32, u32)>()) {
            let of = |(major, minor, patch)| KubernetesVersion::new(major, minor, patch);
            prop_assert_eq!(of(left).cmp(&of(right)), left.cmp(&right));
        }

        #[test]
        fn a_shown_version_reads_back(numbers in any::<(u32, u32, u32)>()) {
            let version = KubernetesVersion::new(numbers.0, numbers.1, numbers.2);
            prop_assert_eq!(version.to_string().parse(), Ok(version));
        }

        #[test]
        fn what_is_accepted_is_shown_as_it_was_written(text in "v?[0-9]{0,3}\\.[0-9]{1,3}(\\.[0-9]{1,11})?") {
            if let Ok(version) = text.parse::<KubernetesVersion>() {
                prop_assert_eq!(version.to_string(), text);
            }
        }

        #[test]
        fn distance_is_antisymmetric(left in any::<(u32, u32, u32)>(), right in any::<(u32, u32, u32)>()) {
            let of = |(major, minor, patch)| KubernetesVersion::new(major % 2, minor, patch);
            let (left, right) = (of(left), of(right));
            prop_assert_eq!(left.minor_distance(right), right.minor_distance(left).map(|distance| -distance));
        }
    }
}
