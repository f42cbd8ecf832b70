//! What a shell needs to talk to the control plane: `butlerctl dev env` prints it, and so does a start.

use std::path::Path;

/// The lines to evaluate: the kubeconfig, and the programs of the same versions before any others.
pub(super) fn exports(kubeconfig: &Path, programs: &Path) -> String {
    format!("export KUBECONFIG={}\nexport PATH={}:\"$PATH\"", quoted(kubeconfig), quoted(programs))
}

/// As one word of a POSIX shell, whatever the path contains.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_one_word_in_a_shell() {
        assert_eq!(quoted(Path::new("/tmp/it's here")), r"'/tmp/it'\''s here'");
    }
}
