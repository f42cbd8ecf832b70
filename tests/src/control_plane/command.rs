//! kubectl and helm against a control plane.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::Duration;

use tempfile::NamedTempFile;

use super::{ControlPlane, ControlPlaneError, User, programs};
use crate::binaries::Binary;
use crate::guard::{Held, Streams};

/// Longer than any command of a test should take; a forgotten `--watch` must not hang a suite for ever.
const PATIENCE: Duration = Duration::from_secs(300);

/// What a command printed and how it ended.
#[derive(Clone, Debug)]
pub struct CommandOutput {
    /// The command line, for messages.
    pub command: String,
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

impl CommandOutput {
    /// What it printed, if it succeeded.
    ///
    /// # Errors
    /// When it did not; the error quotes what it complained about.
    pub fn success(self) -> Result<String, ControlPlaneError> {
        if self.status.success() {
            return Ok(self.stdout);
        }
        Err(ControlPlaneError::Command { command: self.command, status: self.status, errors: self.stderr })
    }
}

impl ControlPlane {
    /// Runs kubectl as the administrator. A command that fails is not an error here: look at its status.
    ///
    /// # Errors
    /// When it cannot be run or does not end.
    pub async fn kubectl(&self, args: &[&str]) -> Result<CommandOutput, ControlPlaneError> {
        self.run(Binary::Kubectl, self.kubeconfig(), args, None).await
    }

    /// Runs kubectl as the administrator with something to read, as for `apply -f -`.
    ///
    /// # Errors
    /// When it cannot be run or does not end.
    pub async fn kubectl_with_input(
        &self,
        args: &[&str],
        input: &str,
    ) -> Result<CommandOutput, ControlPlaneError> {
        self.run(Binary::Kubectl, self.kubeconfig(), args, Some(input)).await
    }

    /// Runs kubectl as another user.
    ///
    /// # Errors
    /// When it cannot be run or does not end.
    pub async fn kubectl_as(&self, user: &User, args: &[&str]) -> Result<CommandOutput, ControlPlaneError> {
        self.run(Binary::Kubectl, user.kubeconfig(), args, None).await
    }

    /// Runs helm as the administrator. Its caches are in the data directory, not in the caller's home.
    ///
    /// # Errors
    /// When it cannot be run or does not end.
    pub async fn helm(&self, args: &[&str]) -> Result<CommandOutput, ControlPlaneError> {
        self.run(Binary::Helm, self.kubeconfig(), args, None).await
    }

    async fn run(
        &self,
        binary: Binary,
        kubeconfig: &Path,
        args: &[&str],
        input: Option<&str>,
    ) -> Result<CommandOutput, ControlPlaneError> {
        let [program] = programs::find([binary]).await?;
        let home = self.data_directory().join("home");
        let mut command = Command::new(&program);
        command
            .args(args)
            .env("KUBECONFIG", kubeconfig)
            // Neither the caller's caches nor the caller's preferences.
            .env("KUBECACHEDIR", home.join("kubectl"))
            .env("KUBERC", "off")
            .env("HELM_CACHE_HOME", home.join("helm/cache"))
            .env("HELM_CONFIG_HOME", home.join("helm/config"))
            .env("HELM_DATA_HOME", home.join("helm/data"));
        let line = format!("{} {}", name(&program), args.join(" "));
        // In a file of the data directory, which goes with it: the program's guard needs the pipe for itself.
        let input = input.map(|text| self.write_input(text)).transpose()?;
        programs::blocking(move || run(&command, line, input)).await
    }

    fn write_input(&self, text: &str) -> Result<NamedTempFile, ControlPlaneError> {
        let directory = self.data_directory();
        let written = || -> io::Result<NamedTempFile> {
            let mut file = NamedTempFile::new_in(directory)?;
            file.write_all(text.as_bytes())?;
            Ok(file)
        };
        written().map_err(ControlPlaneError::file(directory))
    }
}

fn name(program: &Path) -> String {
    program.file_name().unwrap_or(program.as_os_str()).display().to_string()
}

fn run(
    command: &Command,
    line: String,
    input: Option<NamedTempFile>,
) -> Result<CommandOutput, ControlPlaneError> {
    let failed = |source| ControlPlaneError::Start { program: line.clone(), source };
    let mut streams = Streams::piped();
    streams.input = input.as_ref().map(|file| PathBuf::from(file.path()));

    let mut held = Held::start(command, streams).map_err(failed)?;
    let output = held.take_output().map(|stream| thread::spawn(|| read(stream)));
    let errors = held.take_errors().map(|stream| thread::spawn(|| read(stream)));
    let ended = held.wait_for(PATIENCE).map_err(failed)?;
    // Ends the readers too, if the command did not end by itself.
    held.kill();
    let collected = |reader: Option<thread::JoinHandle<String>>| {
        reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
    };
    let (stdout, stderr) = (collected(output), collected(errors));
    match ended {
        Some(status) => Ok(CommandOutput { command: line, status, stdout, stderr }),
        None => Err(ControlPlaneError::CommandTooSlow { command: line, patience: PATIENCE }),
    }
}

fn read(mut stream: impl Read) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok();
    String::from_utf8_lossy(&bytes).into_owned()
}
