//! Client certificates with more than one group.
//!
//! Kubernetes reads a user's groups from the organisation attributes of the subject, one attribute per group.
//! `rcgen` keeps one value per attribute type, so a subject with several is put in afterwards and the
//! certificate signed again.

use rcgen::{KeyPair, SigningKey};

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const UTF8_STRING: u8 = 0x0c;
const BIT_STRING: u8 = 0x03;
/// 2.5.4.3 and 2.5.4.10, encoded with their tag and length.
const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];
const ORGANIZATION: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x0a];
/// Where the subject stands in `TBSCertificate`: version, serial, algorithm, issuer, validity, subject.
const SUBJECT: usize = 5;

/// The same certificate with the subject "`name` in `groups`", signed by `signer`. `None` if `certificate` is
/// not one.
pub(super) fn with_subject(
    certificate: &[u8],
    name: &str,
    groups: &[&str],
    signer: &KeyPair,
) -> Option<Result<Vec<u8>, rcgen::Error>> {
    let [signed_part, algorithm, _signature] = elements(content(certificate)?)?.try_into().ok()?;
    let mut fields = elements(content(signed_part)?)?;
    let subject = subject(name, groups);
    *fields.get_mut(SUBJECT)? = &subject;

    let signed_part = element(SEQUENCE, &fields.concat());
    Some(signer.sign(&signed_part).map(|signature| {
        // The leading zero is the count of unused bits in the last byte.
        let signature = element(BIT_STRING, &[&[0], signature.as_slice()].concat());
        element(SEQUENCE, &[signed_part.as_slice(), algorithm, &signature].concat())
    }))
}

fn subject(name: &str, groups: &[&str]) -> Vec<u8> {
    let attribute = |kind: &[u8], value: &str| {
        let value = element(UTF8_STRING, value.as_bytes());
        element(SET, &element(SEQUENCE, &[kind, &value].concat()))
    };
    let mut attributes: Vec<u8> = groups.iter().flat_map(|group| attribute(&ORGANIZATION, group)).collect();
    attributes.extend(attribute(&COMMON_NAME, name));
    element(SEQUENCE, &attributes)
}

/// One element: tag, length, content.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    let length = content.len().to_be_bytes();
    let significant: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
    match significant.as_slice() {
        [] => bytes.push(0),
        [short] if *short < 0x80 => bytes.push(*short),
        // At most eight bytes of length, so the count always fits.
        long => {
            bytes.push(0x80 | u8::try_from(long.len()).unwrap_or(u8::MAX));
            bytes.extend_from_slice(long);
        }
    }
    bytes.extend_from_slice(content);
    bytes
}

/// Splits the first element off: its header's length, and where it ends.
fn measure(bytes: &[u8]) -> Option<(usize, usize)> {
    let first = usize::from(*bytes.get(1)?);
    if first < 0x80 {
        return Some((2, 2 + first));
    }
    let header = 2 + (first & 0x7f);
    let length =
        bytes.get(2..header)?.iter().fold(0_usize, |length, byte| (length << 8) | usize::from(*byte));
    Some((header, header.checked_add(length)?))
}

fn content(bytes: &[u8]) -> Option<&[u8]> {
    let (header, end) = measure(bytes)?;
    bytes.get(header..end)
}

fn elements(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (_, end) = measure(bytes)?;
        let (element, rest) = bytes.split_at_checked(end)?;
        found.push(element);
        bytes = rest;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_encoded_as_short_as_possible_and_read_back() {
        for (length, header) in [(0, 2), (1, 2), (127, 2), (128, 3), (255, 3), (256, 4), (65_536, 5)] {
            let bytes = element(SEQUENCE, &vec![7; length]);
            assert_eq!(measure(&bytes), Some((header, header + length)));
            assert_eq!(content(&bytes).unwrap().len(), length);
        }
    }

    #[test]
    fn what_is_not_a_certificate_is_not_one() {
        let key = KeyPair::generate().unwrap();
        for bytes in
            [&[][..], &[0x30], &[0x30, 0x05, 0x00], &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff], &[0x30, 0x00]]
        {
            assert!(with_subject(bytes, "name", &["a", "b"], &key).is_none());
        }
    }
}
