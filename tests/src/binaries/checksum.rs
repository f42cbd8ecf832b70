//! SHA-256 as the cache uses it: over fields for keys, over files for verification.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use sha2::Digest as _;

/// A running hash.
pub(super) struct Sha256(sha2::Sha256);

impl Sha256 {
    pub(super) fn new() -> Self {
        Self(sha2::Sha256::new())
    }

    /// Adds a text with its length in front, so that `ab`, `c` and `a`, `bc` differ.
    pub(super) fn field(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_be_bytes());
        self.0.update(text);
    }

    /// The hash in hexadecimal.
    pub(super) fn finish(self) -> String {
        let mut hexadecimal = String::with_capacity(64);
        for byte in self.0.finalize() {
            // Writing to a String cannot fail.
            let _ = write!(hexadecimal, "{byte:02x}");
        }
        hexadecimal
    }
}

/// The hash of a file's content.
pub(super) fn sha256_of_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    // Large enough that an unoptimised build spends its time in the (optimised) hash and not in this loop.
    let mut buffer = vec![0; 1 << 20];
    loop {
        let length = file.read(&mut buffer)?;
        match buffer.get(..length) {
            None | Some([]) => return Ok(hash.finish()),
            Some(read) => hash.0.update(read),
        }
    }
}
