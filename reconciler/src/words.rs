//! How messages list things.

/// How many names a message lists.
const LISTED: usize = 5;

/// Names in backticks, joined by commas; of many only the first, and how many more there are.
pub(crate) fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    and_more(shown.join(", "), names.len())
}

/// The same for what already reads as it should.
pub(crate) fn listed_as_is(things: &[String]) -> String {
    and_more(things.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", "), things.len())
}

fn and_more(shown: String, count: usize) -> String {
    match count.saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
