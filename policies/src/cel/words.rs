//! Words that cannot be names.

/// Words that name no variable and no function.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Words with a meaning of their own.
const MEANT: [&str; 4] = ["true", "false", "null", "in"];

/// Whether the language keeps the word for later.
pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// Whether nothing can be named so, be it kept or meant.
pub(crate) fn is_taken(word: &str) -> bool {
    is_reserved(word) || MEANT.contains(&word)
}
