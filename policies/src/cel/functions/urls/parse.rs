//! The parts of a URL, found and decoded as Go does it.

use std::net::Ipv6Addr;

use super::lossy;
use crate::cel::functions::quoted::quoted;

/// A URL's parts. What is decoded may be no text.
#[derive(Clone, Debug)]
pub(crate) struct Url {
    pub(super) scheme: String,
    opaque: String,
    /// Name, and password if there is one, decoded.
    user: Option<(Vec<u8>, Option<Vec<u8>>)>,
    pub(super) host: Vec<u8>,
    omits_host: bool,
    path: Vec<u8>,
    raw_path: String,
    pub(super) query: String,
    force_query: bool,
    fragment: Vec<u8>,
    raw_fragment: String,
}

/// Which part of a URL a byte is in; each allows others unescaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Path,
    User,
    Host,
    Zone,
    Query,
    Fragment,
}

/// Whether a text is an absolute URL or an absolute path.
pub(crate) fn is_request_uri(text: &str) -> Result<(), String> {
    parse(text, true).map(|_| ())
}

impl Url {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = parse(rest, false)?;
        url.fragment = unescape(fragment, Place::Fragment)?;
        if escape(&url.fragment, Place::Fragment) != fragment {
            url.raw_fragment = fragment.to_owned();
        }
        Ok(url)
    }

    pub(super) fn host_and_port(&self) -> (String, String) {
        let host = lossy(&self.host);
        let (mut name, port) = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, port),
            _ => (host.as_str(), ""),
        };
        if let Some(inner) = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            name = inner;
        }
        (name.to_owned(), port.to_owned())
    }

    pub(super) fn escaped_path(&self) -> String {
        if !self.raw_path.is_empty()
            && valid_encoded(&self.raw_path, Place::Path)
            && unescape(&self.raw_path, Place::Path).is_ok_and(|path| path == self.path)
        {
            return self.raw_path.clone();
        }
        if self.path == b"*" {
            return "*".to_owned();
        }
        escape(&self.path, Place::Path)
    }

    fn escaped_fragment(&self) -> String {
        if !self.raw_fragment.is_empty()
            && valid_encoded(&self.raw_fragment, Place::Fragment)
            && unescape(&self.raw_fragment, Place::Fragment).is_ok_and(|fragment| fragment == self.fragment)
        {
            return self.raw_fragment.clone();
        }
        escape(&self.fragment, Place::Fragment)
    }

    /// Keys and values of the query; those that cannot be decoded are left out.
    pub(super) fn parameters(&self) -> Vec<(String, String)> {
        let decoded = |text: &str| unescape(text, Place::Query).ok().map(|bytes| lossy(&bytes));
        self.query
            .split('&')
            .filter(|part| !part.is_empty() && !part.contains(';'))
            .filter_map(|part| {
                let (key, value) = part.split_once('=').unwrap_or((part, ""));
                Some((decoded(key)?, decoded(value)?))
            })
            .collect()
    }

    /// The URL written out again.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        if !self.scheme.is_empty() {
            out.push_str(&self.scheme);
            out.push(':');
        }
        if self.opaque.is_empty() {
            let has_host = !self.host.is_empty() || self.user.is_some();
            if has_host || (!self.scheme.is_empty() && !self.omits_host) {
                if has_host || !self.path.is_empty() {
                    out.push_str("//");
                }
                if let Some((name, password)) = &self.user {
                    out.push_str(&escape(name, Place::User));
                    if let Some(password) = password {
                        out.push(':');
                        out.push_str(&escape(password, Place::User));
                    }
                    out.push('@');
                }
                out.push_str(&escape(&self.host, Place::Host));
            }
            let path = self.escaped_path();
            if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
                out.push('/');
            }
            if out.is_empty() && path.split('/').next().is_some_and(|first| first.contains(':')) {
                out.push_str("./");
            }
            out.push_str(&path);
        } else {
            out.push_str(&self.opaque);
        }
        if self.force_query || !self.query.is_empty() {
            out.push('?');
            out.push_str(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push('#');
            out.push_str(&self.escaped_fragment());
        }
        out
    }
}

fn parse(text: &str, request: bool) -> Result<Url, String> {
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() && request {
        return Err("empty url".to_owned());
    }
    let mut url = Url {
        scheme: String::new(),
        opaque: String::new(),
        user: None,
        host: Vec::new(),
        omits_host: false,
        path: Vec::new(),
        raw_path: String::new(),
        query: String::new(),
        force_query: false,
        fragment: Vec::new(),
        raw_fragment: String::new(),
    };
    if text == "*" {
        url.path = b"*".to_vec();
        return Ok(url);
    }
    let (scheme, rest) = scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    let mut rest = match rest.split_once('?') {
        Some((before, "")) => {
            url.force_query = true;
            before
        }
        Some((before, query)) => {
            url.query = query.to_owned();
            before
        }
        None => rest,
    };
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            url.opaque = rest.to_owned();
            return Ok(url);
        }
        if request {
            return Err("invalid URI for request".to_owned());
        }
        if rest.split('/').next().is_some_and(|first| first.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let relative = !request && !rest.starts_with("///");
    if (!url.scheme.is_empty() || relative) && rest.starts_with("//") {
        let after = rest.get(2..).unwrap_or_default();
        let end = after.find('/').unwrap_or(after.len());
        let (authority, path) = after.split_at(end);
        rest = path;
        set_authority(&mut url, authority)?;
    } else if !url.scheme.is_empty() && rest.starts_with('/') {
        url.omits_host = true;
    }
    url.path = unescape(rest, Place::Path)?;
    if escape(&url.path, Place::Path) != rest {
        url.raw_path = rest.to_owned();
    }
    Ok(url)
}

fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok(text.split_once(':').unwrap_or(("", text))),
            _ => break,
        }
    }
    Ok(("", text))
}

fn set_authority(url: &mut Url, authority: &str) -> Result<(), String> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    url.host = parse_host(&url.scheme, host)?;
    let Some(user) = user else { return Ok(()) };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    if !user.bytes().all(allowed) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    url.user = Some(match user.split_once(':') {
        Some((name, password)) => (unescape(name, Place::User)?, Some(unescape(password, Place::User)?)),
        None => (unescape(user, Place::User)?, None),
    });
    Ok(())
}

fn is_port(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn parse_host(scheme: &str, host: &str) -> Result<Vec<u8>, String> {
    let port_error = |port: &str| format!("invalid port {} after host", quoted(port));
    match host.rfind('[') {
        Some(0) => {}
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {
            if let (Some(first), Some(last)) = (host.find(':'), host.rfind(':')) {
                // Only databases name several hosts with ports at once.
                let strict = matches!(scheme, "http" | "https");
                let port = host.get(if strict { first } else { last }..).unwrap_or_default();
                if !is_port(port) {
                    return Err(port_error(port));
                }
            }
            return unescape(host, Place::Host);
        }
    }
    let end = host.rfind(']').ok_or("missing ']' in host")?;
    let port = host.get(end + 1..).unwrap_or_default();
    if !is_port(port) {
        return Err(port_error(port));
    }
    let inner = host.get(1..end).unwrap_or_default();
    let name = match inner.find("%25") {
        Some(zone) => {
            let (address, zone) = inner.split_at(zone);
            [unescape(address, Place::Host)?, unescape(zone, Place::Zone)?].concat()
        }
        None => unescape(inner, Place::Host)?,
    };
    let text = lossy(&name);
    let (address, zone) =
        text.split_once('%').map_or((text.as_str(), None), |(address, zone)| (address, Some(zone)));
    if address.parse::<Ipv6Addr>().is_err() || zone == Some("") {
        return Err("invalid host: unable to parse IP".to_owned());
    }
    Ok([b"[".as_slice(), &name, b"]", port.as_bytes()].concat())
}

/// Whether a byte stands for itself in its place.
fn plain(byte: u8, place: Place) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return true;
    }
    match place {
        Place::Host | Place::Zone => b"!$&'()*+,;=:[]<>\"".contains(&byte),
        Place::Path => b"$&+,:;=@/".contains(&byte),
        Place::User => b"$&+=;,".contains(&byte),
        Place::Query => false,
        Place::Fragment => b"$&+:=@/;,?!()*".contains(&byte),
    }
}

fn escape(bytes: &[u8], place: Place) -> String {
    let mut out = Vec::with_capacity(bytes.len());
    for byte in bytes {
        if plain(*byte, place) {
            out.push(*byte);
        } else if *byte == b' ' && place == Place::Query {
            out.push(b'+');
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    lossy(&out)
}

fn valid_encoded(text: &str, place: Place) -> bool {
    text.bytes().all(|byte| b"!$&'()*+,;=:@[]%".contains(&byte) || plain(byte, place))
}

fn unescape(text: &str, place: Place) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at).copied() {
        match byte {
            b'%' => {
                let escape = text.get(at..at + 3).filter(|_| at + 2 < bytes.len());
                let value = escape.and_then(|escape| u8::from_str_radix(escape.get(1..)?, 16).ok());
                let signless = escape.is_some_and(|escape| !escape.contains('+'));
                let wrong = || {
                    let shown: String = text.get(at..).unwrap_or_default().chars().take(3).collect();
                    format!("invalid URL escape {}", quoted(&shown))
                };
                let value = value.filter(|_| signless).ok_or_else(wrong)?;
                let percent = escape == Some("%25");
                // In a host, only what is no ASCII may be escaped; in a zone, what could be written plainly too.
                if place == Place::Host && value < 0x80 && !percent {
                    return Err(wrong());
                }
                if place == Place::Zone && !percent && value != b' ' && !plain(value, Place::Host) {
                    return Err(wrong());
                }
                out.push(value);
                at += 3;
            }
            b'+' if place == Place::Query => {
                out.push(b' ');
                at += 1;
            }
            _ => {
                if matches!(place, Place::Host | Place::Zone) && byte.is_ascii() && !plain(byte, place) {
                    return Err(format!(
                        "invalid character {} in host name",
                        quoted(&char::from(byte).to_string())
                    ));
                }
                out.push(byte);
                at += 1;
            }
        }
    }
    Ok(out)
}
