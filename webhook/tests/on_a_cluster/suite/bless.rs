//! Writes what was seen into the files of cases, for somebody to read the difference.

use std::fs;

use super::case::Planned;

/// What was seen in place of what is expected.
pub(super) struct Seen {
    pub(super) prints: String,
    pub(super) patch: Option<String>,
}

/// Whether to write instead of to compare.
pub(super) fn is_asked_for() -> bool {
    std::env::var_os("BUTLER_BLESS").is_some()
}

/// Rewrites the expectations of one case and leaves everything else in its file as it is.
pub(super) fn write(planned: &Planned, seen: &Seen) {
    let text = fs::read_to_string(&planned.file).unwrap();
    let key = if planned.case.admitted.is_some() { "admitted" } else { "denied" };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let start = lines
        .iter()
        .position(|line| line.trim_start().strip_prefix("- name: ") == Some(planned.case.name.as_str()))
        .unwrap_or_else(|| panic!("{}: no line `- name: {}`", planned.file.display(), planned.case.name));
    let length = lines[start + 1..]
        .iter()
        .position(|line| line.trim_start().starts_with("- name: ") || line.starts_with('#'))
        .unwrap_or(lines.len() - start - 1);
    let mut kept = Vec::new();
    let mut dropping = false;
    for line in lines.drain(start..=start + length) {
        if line.starts_with("    ") && !line.starts_with("     ") {
            dropping =
                ["admitted:", "denied:", "patch:"].iter().any(|key| line.trim_start().starts_with(key));
        }
        if !dropping && !line.is_empty() {
            kept.push(line);
        }
    }
    kept.extend(block(key, &seen.prints));
    kept.extend(seen.patch.iter().flat_map(|patch| block("patch", patch)));
    lines.splice(start..start, kept);
    fs::write(&planned.file, lines.join("\n") + "\n").unwrap();
}

fn block(key: &str, text: &str) -> Vec<String> {
    if text.is_empty() {
        return vec![format!("    {key}: \"\"")];
    }
    let indicator = if text.ends_with('\n') { "|" } else { "|-" };
    let head = format!("    {key}: {indicator}");
    let body = text.lines().map(|line| if line.is_empty() { String::new() } else { format!("      {line}") });
    std::iter::once(head).chain(body).collect()
}
