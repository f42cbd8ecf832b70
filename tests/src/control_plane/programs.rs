//! Where the programs are.

use std::io;
use std::path::PathBuf;

use super::ControlPlaneError;
use crate::binaries::{Binaries, Binary};

/// The paths of these programs, in the same order; builds what this machine does not have yet.
pub(crate) async fn find<const N: usize>(wanted: [Binary; N]) -> Result<[PathBuf; N], ControlPlaneError> {
    let binaries = blocking(move || Binaries::ensure(&wanted)).await?;
    let mut paths = wanted.map(|_| PathBuf::new());
    for (path, binary) in paths.iter_mut().zip(wanted) {
        *path = binaries.path(binary)?.to_owned();
    }
    Ok(paths)
}

/// Runs something that blocks without holding up the other tasks of the caller.
pub(crate) async fn blocking<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, ControlPlaneError>
where
    T: Send + 'static,
    E: Send + 'static,
    ControlPlaneError: From<E>,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => Ok(result?),
        Err(error) => Err(ControlPlaneError::Start {
            program: "a thread of our own".to_owned(),
            source: io::Error::other(error),
        }),
    }
}
