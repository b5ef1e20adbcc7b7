//! What a request asks for, and why some are refused.

use std::net::IpAddr;

use hosts::LimitedBy;
use hyper::header::{self, HeaderMap};
use hyper::{Method, StatusCode, Uri};

use super::events::Window;
use crate::web::page::{FILES, File};

/// Longest text that is searched in names.
const LONGEST_SEARCH: usize = 64;
/// Part of a path that an answer repeats.
const SHOWN: usize = 60;

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A file of the page.
    File(&'static File),
    /// The events for these peers.
    Events(Window),
    /// The metrics.
    Metrics,
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// What is wrong, and the remedy.
    pub(super) sentence: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, sentence: impl Into<String>) -> Self {
        Self {
            status,
            sentence: sentence.into(),
        }
    }

    fn bad(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, sentence)
    }
}

/// The names by which a client may call this server. A page of another site reaches it only by a name of that site
/// (DNS rebinding), so a foreign name is refused.
#[derive(Debug)]
pub(super) struct Names(IpAddr);

impl Names {
    /// Creates the names of a server at this address.
    pub(super) fn of(address: IpAddr) -> Self {
        Self(address)
    }

    /// Checks the value of a `Host` header, or the authority of a URI. The port may be that of an SSH tunnel.
    fn check(&self, authority: &str) -> Result<(), Refusal> {
        let parsed: Option<hyper::http::uri::Authority> = authority.parse().ok();
        let host = parsed.as_ref().map_or("", |parsed| parsed.host());
        let literal = host.trim_start_matches('[').trim_end_matches(']');
        let is_own = literal.parse::<IpAddr>().map_or_else(
            |_| host.eq_ignore_ascii_case("localhost"),
            |address| address == self.0 || address.is_loopback(),
        );
        let has_user = authority.contains('@');
        if is_own && !has_user {
            return Ok(());
        }
        Err(Refusal::bad(format!(
            "This server has no name '{}'; call it localhost or {}. A reverse proxy must send that as the Host header.",
            shown(authority),
            self.0
        )))
    }
}

/// Reads a request.
pub(super) fn read(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    names: &Names,
) -> Result<Asked, Refusal> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().unwrap_or_default(),
        (None, _) => return Err(Refusal::bad("The request has no Host header; send one.")),
        (Some(_), Some(_)) => {
            return Err(Refusal::bad("The request has two Host headers; send one."));
        }
    };
    names.check(host)?;
    if let Some(authority) = uri.authority() {
        names.check(authority.as_str())?;
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        let sentence = "This server only shows; use GET or HEAD. To change something, run a command of lasthop.";
        return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, sentence));
    }
    match uri.path() {
        "/metrics" => Ok(Asked::Metrics),
        "/events" => window(uri.query().unwrap_or_default()).map(Asked::Events),
        path => match FILES.iter().find(|file| file.path == path) {
            Some(file) => Ok(Asked::File(file)),
            None => Err(Refusal::new(
                StatusCode::NOT_FOUND,
                format!(
                    "There is no {} here; see / (the page), /events and /metrics.",
                    shown(path)
                ),
            )),
        },
    }
}

/// Returns the beginning of what a client sent, for a message to it.
fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

/// Reads the query of a request for events.
fn window(query: &str) -> Result<Window, Refusal> {
    let mut window = Window::default();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        match name {
            "from" => {
                let wrong = || {
                    Refusal::bad(format!(
                        "'from' is '{}'; it is the number of the first peer to show, from 0.",
                        shown(value)
                    ))
                };
                window.from = value.parse().map_err(|_| wrong())?;
            }
            "find" => {
                window.find = decode(value).ok_or_else(|| {
                    Refusal::bad(format!(
                        "'find' is text to search in names: at most {LONGEST_SEARCH} bytes of UTF-8, with %XX for \
                         special characters."
                    ))
                })?;
            }
            "verdict" => {
                let known = |word: &LimitedBy| crate::web::metrics::word(*word) == value;
                let found = LimitedBy::ALL.into_iter().find(known);
                window.verdict = Some(found.ok_or_else(|| {
                    let words = LimitedBy::ALL.map(crate::web::metrics::word);
                    let words = words.join(", ");
                    Refusal::bad(format!(
                        "There is no verdict '{}'; known: {words}.",
                        shown(value)
                    ))
                })?);
            }
            _ => {
                return Err(Refusal::bad(format!(
                    "/events has no parameter '{}'; known: from, find, verdict.",
                    shown(name)
                )));
            }
        }
    }
    Ok(window)
}

/// Decodes a value of a query: `+` is a space, and `%XX` a byte (application/x-www-form-urlencoded).
fn decode(value: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => (digit()? * 16 + digit()?) as u8,
            other => other,
        });
        if bytes.len() > LONGEST_SEARCH {
            return None;
        }
    }
    String::from_utf8(bytes).ok()
}
