//! What Kubernetes takes as a name, each kind of name as it is checked there.

use crate::cel::is_taken;

/// Lower-case labels joined by dots: the name of most objects.
pub(crate) fn is_subdomain(name: &str) -> bool {
    name.len() <= 253 && !name.is_empty() && name.split('.').all(|label| is_dns(label, usize::MAX))
}

/// One lower-case label that begins with a letter: an API version or, in lower case, a kind.
pub(crate) fn is_dns_1035(name: &str) -> bool {
    is_dns(name, 63) && name.starts_with(|first: char| first.is_ascii_lowercase())
}

fn is_dns(label: &str, longest: usize) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !label.is_empty()
        && label.len() <= longest
        && label.bytes().all(inner)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// A name that may have a prefix: the key of a label, an annotation, or a condition's name.
pub(crate) fn is_qualified(name: &str) -> bool {
    match name.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_word(name),
        None => is_word(name),
    }
}

/// The value of a label.
pub(crate) fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_word(value)
}

fn is_word(word: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let outer = |edge: Option<char>| edge.is_some_and(|edge| edge.is_ascii_alphanumeric());
    word.len() <= 63 && word.bytes().all(inner) && outer(word.chars().next()) && outer(word.chars().last())
}

/// A segment of an object's path.
pub(crate) fn is_path_segment(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '%'])
}

/// A name that an expression can use.
pub(crate) fn is_identifier(name: &str) -> bool {
    let first = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    first && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !is_taken(name)
}

#[cfg(test)]
mod tests {
    use super::{is_identifier, is_label_value, is_path_segment, is_qualified, is_subdomain};

    #[test]
    fn names_are_those_that_kubernetes_takes() {
        type Table = (fn(&str) -> bool, &'static [&'static str], &'static [&'static str]);
        let tables: [Table; 5] = [
            (is_subdomain, &["a", "a-b.c", "1a"], &["", "A", "a..b", "-a", "a_b"]),
            (is_qualified, &["a", "A_b.c", "x.y/Z"], &["", "/a", "a/", "-a", "X/a", "a/b/c"]),
            (is_label_value, &["", "a", "A.b_c-1"], &["-", "a b", "é"]),
            (is_path_segment, &["a", "a:b"], &["", ".", "..", "a/b", "a%"]),
            (is_identifier, &["a", "_a1"], &["", "1a", "a-b", "namespace", "é"]),
        ];
        for (is_good, good, bad) in tables {
            assert!(good.iter().all(|name| is_good(name)), "{good:?}");
            assert!(bad.iter().all(|name| !is_good(name)), "{bad:?}");
        }
    }
}
