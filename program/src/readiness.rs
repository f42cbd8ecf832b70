//! Whether a program can do its work.

use std::fmt;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

type Check = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Ready when every check passes and nobody has asked us to end.
#[derive(Default)]
pub struct Readiness {
    checks: Vec<(&'static str, Check)>,
    is_draining: AtomicBool,
}

impl Readiness {
    /// Adds a check. It is asked at every probe, so it looks at something in memory; its error says what is missing.
    #[must_use]
    pub fn check(
        mut self,
        name: &'static str,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.checks.push((name, Box::new(check)));
        self
    }

    /// Whether every check passes and nobody has asked us to end.
    pub fn is_ready(&self) -> bool {
        !self.is_draining() && self.checks.iter().all(|(_, check)| check().is_ok())
    }

    /// From here on never ready again.
    pub fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has asked us to end.
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// Whether it is ready, and a line for each check.
    pub fn report(&self) -> (bool, String) {
        let drain = if self.is_draining() { Err("the process is ending".to_owned()) } else { Ok(()) };
        let results =
            self.checks.iter().map(|(name, check)| (*name, check())).chain(std::iter::once(("drain", drain)));
        let mut is_ready = true;
        let mut lines = String::new();
        for (name, result) in results {
            is_ready &= result.is_ok();
            // Writing to a String cannot fail.
            let _ = match result {
                Ok(()) => writeln!(lines, "{name}: ok"),
                Err(why) => writeln!(lines, "{name}: not ready: {why}"),
            };
        }
        (is_ready, lines)
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.checks.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("Readiness")
            .field("checks", &names)
            .field("is_draining", &self.is_draining)
            .finish()
    }
}
