//! Loopback ports that are free now, and what to do when they are not any more a moment later.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the range from which Linux takes ports for outgoing connections (32768 and up): none of those can
/// take the port of an API server while it is stopped for a restart. Steward's Cluster API provider also
/// reads ports as signed 16-bit.
const FIRST: u16 = 12_000;
const COUNT: u16 = 20_000;

/// How many ports to look at before giving up, and how often to start a program anew because its port was
/// taken.
const LOOKS: usize = 200;
pub(super) const ATTEMPTS: usize = 5;

/// Each process begins elsewhere, so that neighbours rarely meet; within a process no port is offered twice
/// in a row.
static NEXT: LazyLock<AtomicU16> = LazyLock::new(|| {
    let random = RandomState::new().build_hasher().finish() % u64::from(COUNT);
    AtomicU16::new(u16::try_from(random).unwrap_or_default())
});

/// A port on 127.0.0.1 that nobody listens on at this moment; `None` if the machine has none to give.
pub fn free_port() -> Option<u16> {
    (0..LOOKS).map(|_| FIRST + NEXT.fetch_add(1, Ordering::Relaxed) % COUNT).find(|port| is_free(*port))
}

/// Whether nobody listens on this port of 127.0.0.1 at this moment.
pub fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Whether a program's last words say that its port was taken by somebody else.
pub(super) fn was_taken(last_words: &str) -> bool {
    last_words.contains("address already in use")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ports_differ_and_stay_below_those_of_outgoing_connections() {
        let ports: Vec<u16> = (0..50).filter_map(|_| free_port()).collect();
        assert_eq!(ports.len(), 50);
        assert!(ports.iter().all(|port| (FIRST..32_768).contains(port)), "{ports:?}");
        let distinct: std::collections::BTreeSet<_> = ports.iter().collect();
        assert_eq!(distinct.len(), 50);
    }

    #[test]
    fn a_port_with_a_listener_is_not_free() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!is_free(listener.local_addr().unwrap().port()));
    }

    #[test]
    fn the_programs_words_for_a_taken_port_are_understood() {
        // As etcd 3.6, kube-apiserver 1.36 and Cluster API 1.13 put it.
        for words in [
            r#"{"level":"fatal","msg":"discovery failed","error":"listen tcp 127.0.0.1:14230: bind: address already in use"}"#,
            r#"err="failed to create listener: failed to listen on 127.0.0.1:14231: listen tcp 127.0.0.1:14231: bind: address already in use""#,
            r#""problem running manager" err="listen tcp :14232: bind: address already in use""#,
        ] {
            assert!(was_taken(words), "{words}");
        }
        assert!(!was_taken("unknown flag: --no-such-flag"));
    }
}
