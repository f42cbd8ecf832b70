//! Short, stable text from bytes and numbers, made of characters that every name may contain.

/// RFC 4648's alphabet in lower case.
const ALPHABET: [char; 32] = [
    'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u',
    'v', 'w', 'x', 'y', 'z', '2', '3', '4', '5', '6', '7',
];

/// How many characters a digest has: 50 bits.
const DIGEST_LENGTH: u32 = 10;

/// A digest of some bytes: the same in every release and on every machine, so that it may be part of a name.
///
/// FNV-1a, 64 bits, the upper 50. It tells versions of one thing apart; it does not stand against someone who looks for two
/// texts with one digest, and nothing here needs that: such a person would only mix up objects of their own.
pub(super) fn digest(bytes: &[u8]) -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let hash = bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    base32(u128::from(hash >> (64 - 5 * DIGEST_LENGTH)), DIGEST_LENGTH)
}

/// A text of at most `most` characters that is different for different texts: a longer one ends in its digest.
pub fn bounded(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let kept = most.saturating_sub(DIGEST_LENGTH as usize + 1);
    format!("{}~{}", text.chars().take(kept).collect::<String>(), digest(text.as_bytes()))
}

/// The lowest `5 * length` bits of a number, five per character, the highest first.
pub(super) fn base32(number: u128, length: u32) -> String {
    (0..length).rev().filter_map(|place| ALPHABET.get((number >> (5 * place)) as usize & 31)).collect()
}
