//! The value of a string or bytes literal from its text.

/// What a quoted text stands for, without prefix and quotes; `Err` says why it stands for nothing.
///
/// In strings, `\x` and octal escapes are code points; in bytes, they are bytes.
pub(crate) fn unquote(token: &str, bytes: bool) -> Result<Vec<u8>, &'static str> {
    let text = if bytes { token.get(1..).unwrap_or_default() } else { token };
    let raw = text.starts_with(['r', 'R']);
    let text = if raw { text.get(1..).unwrap_or_default() } else { text };
    let triple = text.len() >= 6 && (text.starts_with("'''") || text.starts_with("\"\"\""));
    let quotes = if triple { 3 } else { 1 };
    let inner = text.get(quotes..text.len().saturating_sub(quotes)).unwrap_or_default();
    // Line ends are one thing whatever the editor wrote.
    let inner = inner.replace("\r\n", "\n").replace('\r', "\n");
    if raw || !inner.contains('\\') {
        return Ok(inner.into_bytes());
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner.as_str();
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(rest.get(..at).unwrap_or_default().as_bytes());
        rest = escape(rest.get(at + 1..).unwrap_or_default(), bytes, &mut out)?;
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

/// Writes what the escape sequence at the beginning of `text`, its backslash left out, stands for; returns the rest.
fn escape<'a>(text: &'a str, bytes: bool, out: &mut Vec<u8>) -> Result<&'a str, &'static str> {
    let wrong = "unable to unescape string";
    let kind = text.chars().next().ok_or(wrong)?;
    let simple = match kind {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0c,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0b,
        '\\' => b'\\',
        '\'' => b'\'',
        '"' => b'"',
        '`' => b'`',
        '?' => b'?',
        'x' | 'X' => return code_point(text, 1, 2, 16, bytes, out),
        'u' if !bytes => return code_point(text, 1, 4, 16, bytes, out),
        'U' if !bytes => return code_point(text, 1, 8, 16, bytes, out),
        '0'..='3' => return code_point(text, 0, 3, 8, bytes, out),
        _ => return Err(wrong),
    };
    out.push(simple);
    text.get(1..).ok_or(wrong)
}

fn code_point<'a>(
    text: &'a str,
    skip: usize,
    digits: usize,
    radix: u32,
    bytes: bool,
    out: &mut Vec<u8>,
) -> Result<&'a str, &'static str> {
    let wrong = "unable to unescape string";
    let value = text.get(skip..skip + digits).ok_or(wrong)?;
    let value = u32::from_str_radix(value, radix).map_err(|_| wrong)?;
    if bytes {
        out.push(u8::try_from(value).map_err(|_| wrong)?);
    } else {
        let point = char::from_u32(value).ok_or("invalid unicode code point")?;
        out.extend_from_slice(point.encode_utf8(&mut [0; 4]).as_bytes());
    }
    text.get(skip + digits..).ok_or(wrong)
}

#[cfg(test)]
mod tests {
    use super::unquote;

    #[test]
    fn literals_stand_for_what_they_say() {
        for (token, bytes, expected) in [
            ("'a'", false, b"a".as_slice()),
            ("''", false, b""),
            ("\"a'b\"", false, b"a'b"),
            ("'''a\r\nb'''", false, b"a\nb"),
            (r"r'\n'", false, br"\n"),
            (r"'\n\t\\\?\`'", false, b"\n\t\\?`"),
            (r"'\x41\101\u00e9'", false, "AAé".as_bytes()),
            (r"'\xff'", false, "ÿ".as_bytes()),
            (r"b'\xff\377é'", true, b"\xff\xff\xc3\xa9"),
            (r"br'\x'", true, br"\x"),
        ] {
            assert_eq!(unquote(token, bytes).as_deref(), Ok(expected), "{token}");
        }
    }

    #[test]
    fn what_is_no_code_point_is_refused() {
        assert_eq!(unquote(r"'\ud800'", false), Err("invalid unicode code point"));
        assert_eq!(unquote(r"b'\u00e9'", true), Err("unable to unescape string"));
    }
}
