//! Mutations that know nothing of JSON.

use crate::random::Random;

/// What tends to confuse a reader of JSON or of text.
const FRAGMENTS: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"\\u",
    b"\\ud800",
    b"\\udc00\\ud800",
    b"\\u0000",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"null",
    b"-",
    b"1e309",
    b"0",
    b"\0",
    b"\xff",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b"//",
    b"/*",
    b"\n",
    b"\r\n",
    b"\t",
];

pub(crate) fn mutate(body: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(body.len() + 1);
    let some = random.below(32);
    let end = (at + some).min(body.len());
    match random.below(9) {
        0 => {
            if let Some(byte) = body.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => {
            if let Some(byte) = body.get_mut(at) {
                *byte = random.next() as u8;
            }
        }
        2 => body.truncate(at),
        3 => drop(body.drain(at..end)),
        4 => drop(body.splice(at..at, random.choose(FRAGMENTS).iter().copied())),
        5 => drop(body.splice(at..end, random.choose(FRAGMENTS).iter().copied())),
        6 => {
            let from = random.below(body.len() + 1);
            let piece: Vec<u8> = body[from..].iter().copied().take(some * 8).collect();
            drop(body.splice(at..end, piece));
        }
        7 => {
            let noise: Vec<u8> = (0..some).map(|_| random.next() as u8).collect();
            drop(body.splice(at..at, noise));
        }
        // What a sender that gives up, and starts again, leaves behind.
        _ => {
            let again = body.clone();
            body.truncate(at);
            body.extend(again);
        }
    }
}
