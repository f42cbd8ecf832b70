//! What Kubernetes accepts as a name.

use std::fmt;
use std::str::FromStr;

use crate::excerpt::excerpt;
use crate::reference::SYSTEM_NAMESPACE;

/// The longest DNS label, label value, namespace or Service name.
pub const LABEL_LENGTH: usize = 63;

/// The longest name of most other objects.
pub const SUBDOMAIN_LENGTH: usize = 253;

/// Why a text cannot be a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// There is no name.
    #[error("the name is empty; write 1 to {longest} characters")]
    Empty {
        /// How long it may be.
        longest: usize,
    },
    /// The name has too many characters.
    #[error("`{text}` has {length} characters; at most {longest} fit{because}")]
    TooLong {
        /// The name, or its beginning.
        text: String,
        /// Its length.
        length: usize,
        /// How long it may be.
        longest: usize,
        /// Where the limit comes from, for one that is not common knowledge.
        because: String,
    },
    /// The name contains something that no name may contain.
    #[error("`{text}` contains `{character}`; use only {allowed}")]
    Character {
        /// The name.
        text: String,
        /// The first character that may not be in it.
        character: String,
        /// What may be in it.
        allowed: &'static str,
    },
    /// The name, or one of its parts between dots, begins wrongly.
    #[error("`{text}` does not begin with {wanted}; put one first")]
    Start {
        /// The name.
        text: String,
        /// What it has to begin with.
        wanted: &'static str,
    },
    /// The name, or one of its parts between dots, ends wrongly.
    #[error("`{text}` does not end with a lower-case letter or digit; put one last")]
    End {
        /// The name.
        text: String,
    },
}

const LETTER: &str = "a lower-case letter";
const LETTER_OR_DIGIT: &str = "a lower-case letter or digit";
const IN_A_LABEL: &str = "lower-case letters, digits and `-`";
const IN_A_SUBDOMAIN: &str = "lower-case letters, digits, `-` and `.`";

/// Accepts a DNS label as RFC 1123 has it: namespaces and Teams.
pub fn dns_label(text: &str) -> Result<(), NameError> {
    length_and_characters(text, LABEL_LENGTH, IN_A_LABEL, is_in_a_label)?;
    ends(text, LETTER_OR_DIGIT, text)
}

/// Accepts a DNS label as RFC 1035 has it, which begins with a letter: Services and hosted control planes.
pub fn rfc1035_label(text: &str) -> Result<(), NameError> {
    length_and_characters(text, LABEL_LENGTH, IN_A_LABEL, is_in_a_label)?;
    ends(text, LETTER, text)
}

/// Accepts a DNS subdomain: labels joined by dots, the name of most objects.
pub fn dns_subdomain(text: &str) -> Result<(), NameError> {
    length_and_characters(text, SUBDOMAIN_LENGTH, IN_A_SUBDOMAIN, |character| {
        character == '.' || is_in_a_label(character)
    })?;
    text.split('.').try_for_each(|part| ends(part, LETTER_OR_DIGIT, text))
}

fn is_in_a_label(character: char) -> bool {
    matches!(character, 'a'..='z' | '0'..='9' | '-')
}

fn length_and_characters(
    text: &str,
    longest: usize,
    allowed: &'static str,
    is_allowed: impl Fn(char) -> bool,
) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty { longest });
    }
    if let Some(character) = text.chars().find(|character| !is_allowed(*character)) {
        let character = excerpt(character.encode_utf8(&mut [0; 4]));
        return Err(NameError::Character { text: excerpt(text), character, allowed });
    }
    if text.len() > longest {
        let because = String::new();
        return Err(NameError::TooLong { text: excerpt(text), length: text.len(), longest, because });
    }
    Ok(())
}

fn ends(part: &str, wanted: &'static str, text: &str) -> Result<(), NameError> {
    let starts_well = part.starts_with(|first: char| {
        first.is_ascii_lowercase() || (wanted == LETTER_OR_DIGIT && first.is_ascii_digit())
    });
    if !starts_well {
        return Err(NameError::Start { text: excerpt(text), wanted });
    }
    if part.ends_with('-') {
        return Err(NameError::End { text: excerpt(text) });
    }
    Ok(())
}

/// Whether a namespace is Kubernetes' or the platform's own, and so never a team's: `default`, `kube-…`,
/// `butler-system`, and the namespace of clusters without a team.
pub fn is_reserved_namespace(name: &str, default_namespace: &str) -> bool {
    matches!(name, "default" | SYSTEM_NAMESPACE) || name.starts_with("kube-") || name == default_namespace
}

/// The name of a namespace, and so of a Team.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespaceName(String);

impl NamespaceName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for NamespaceName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        dns_label(text).map(|()| Self(text.to_owned()))
    }
}

impl fmt::Display for NamespaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
