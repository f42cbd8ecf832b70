//! What people type: Butler's command line.

fn main() {}
