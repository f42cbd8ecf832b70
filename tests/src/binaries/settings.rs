//! What the environment says about where programs are and where they may be kept.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{cache::Cache, error::BinariesError};

/// The environment, read once at the door: nothing below this asks for a variable.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// Where products are kept; none if no variable says where, which only matters once something must be
    /// kept.
    cache: Option<PathBuf>,
    /// `KUBEBUILDER_ASSETS`.
    pub(super) assets: Option<PathBuf>,
    /// `PATH`.
    pub(super) search_path: OsString,
}

impl Settings {
    pub(super) fn from_environment() -> Self {
        Self::from_variables(|name| std::env::var_os(name))
    }

    pub(super) fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        // Everybody's habit: an empty variable is an unset one.
        let directory = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = directory("BUTLER_CACHE_DIR")
            // The XDG specification asks to ignore relative paths.
            .or_else(|| Some(directory("XDG_CACHE_HOME").filter(|path| path.is_absolute())?.join("butler")))
            .or_else(|| Some(directory("HOME")?.join(caches_of_a_home()).join("butler")));
        Self {
            cache: cache.map(|path| absolute(&path).join("binaries")),
            assets: directory("KUBEBUILDER_ASSETS").map(|path| absolute(&path)),
            search_path: variable("PATH").unwrap_or_default(),
        }
    }

    pub(super) fn cache(&self) -> Result<Cache<'_>, BinariesError> {
        self.cache.as_deref().map(Cache::new).ok_or(BinariesError::NoCacheDirectory)
    }
}

fn caches_of_a_home() -> &'static str {
    if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" }
}

/// Programs are started from other working directories than ours, so a relative path would not find them.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache_with(variables: &[(&str, &str)]) -> Option<PathBuf> {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        Settings::from_variables(find).cache
    }

    #[test]
    fn the_cache_is_where_the_first_set_variable_says() {
        let all = [("BUTLER_CACHE_DIR", "/own"), ("XDG_CACHE_HOME", "/xdg"), ("HOME", "/home/me")];
        assert_eq!(cache_with(&all), Some("/own/binaries".into()));
        assert_eq!(cache_with(&all[1..]), Some("/xdg/butler/binaries".into()));
        let home = Path::new("/home/me").join(caches_of_a_home()).join("butler/binaries");
        assert_eq!(cache_with(&all[2..]), Some(home.clone()));
        assert_eq!(
            cache_with(&[("BUTLER_CACHE_DIR", ""), ("XDG_CACHE_HOME", "xdg"), ("HOME", "/home/me")]),
            Some(home)
        );
    }

    #[test]
    fn a_relative_cache_is_made_absolute() {
        let expected = std::env::current_dir().unwrap().join("cache/binaries");
        assert_eq!(cache_with(&[("BUTLER_CACHE_DIR", "cache")]), Some(expected));
    }

    #[test]
    fn without_any_variable_the_message_says_which_to_set() {
        let settings = Settings::from_variables(|_| None);
        assert_eq!(
            settings.cache().unwrap_err().to_string(),
            "there is no place for the cache because neither BUTLER_CACHE_DIR, XDG_CACHE_HOME nor HOME is set: \
             set BUTLER_CACHE_DIR to a directory with 1 GB of room"
        );
    }
}
