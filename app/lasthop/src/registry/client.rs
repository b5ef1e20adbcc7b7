//! A client of etcd, by the JSON that each member answers over HTTP (etcd's documentation, "gRPC gateway"): it needs no
//! async runtime, and a tenth of the libraries that gRPC brings.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use ureq::http::Response;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Body, BodyReader};
use zeroize::Zeroizing;

use crate::config::Source;
use crate::config::registry::{Endpoint, RegistryConfig};
use crate::failure::Failure;
use crate::key_file;

/// Time for an answer of one member.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time after which a watch is begun anew: a member that has gone without a word is noticed then.
const WATCH: Duration = Duration::from_mins(1);
/// Most entries in an answer, and most bytes of one.
const PAGE: usize = 1_000;
const MOST_BYTES: u64 = 64 << 20;
/// Most entries of a list.
const MOST_ENTRIES: usize = 2 * 65_536;
/// Codes of errors: the member has no leader or no time, and the token is not valid any more.
const UNAVAILABLE: u32 = 14;
const UNAUTHENTICATED: u32 = 16;
/// Header with which a member ends a watch when it has lost the majority.
const NEEDS_LEADER: &str = "Grpc-Metadata-hasleader";
/// Statuses of HTTP: success, and the first one that is the server's fault.
const SUCCESS: u16 = 200;
const SERVER_ERROR: u16 = 500;

/// A client for the keys of one gateway.
pub(crate) struct Client {
    agent: ureq::Agent,
    endpoints: Vec<String>,
    /// Begin of the keys of the gateway.
    prefix: String,
    user: String,
    password: Zeroizing<String>,
    access: Mutex<Access>,
    /// Revision of its last write.
    written: AtomicI64,
}

/// How the members are reached at present.
#[derive(Debug, Default)]
struct Access {
    token: Option<String>,
    /// Index of the member that has answered last.
    member: usize,
}

/// Why there is no answer.
enum Trouble {
    /// The token is not valid.
    Token,
    /// No member answers, with the reason of each.
    Away(String),
    /// The registry refuses, or answers with what means nothing.
    Refused(String),
}

/// Entries of the list.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) origin: Origin,
    /// Public key of the gateway whose list it is; empty if it is nobody's yet.
    pub(super) owner: String,
    /// Number of the last change in etcd.
    pub(super) revision: i64,
    /// Number of all entries.
    pub(super) count: usize,
    /// Keys, without the prefix, and values of those that were asked for.
    pub(super) entries: Vec<(String, String)>,
}

/// What tells a list from another one at the same place, such as one that was begun anew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// Number of the cluster of etcd; it depends on the members' names and addresses.
    cluster: u64,
    /// Revision at which it became a gateway's.
    revision: i64,
}

/// A change of one key.
#[derive(Debug)]
pub(super) enum Write<'a> {
    Put(&'a str, &'a str),
    Delete(&'a str),
}

#[derive(Deserialize)]
struct Header {
    #[serde(default, deserialize_with = "number")]
    cluster_id: u64,
    #[serde(default, deserialize_with = "number")]
    revision: i64,
}

#[derive(Deserialize)]
struct Pair {
    key: String,
    #[serde(default)]
    value: String,
    #[serde(default, deserialize_with = "number")]
    create_revision: i64,
}

#[derive(Default, Deserialize)]
struct Range {
    #[serde(default)]
    kvs: Vec<Pair>,
    #[serde(default, deserialize_with = "number")]
    count: usize,
    #[serde(default)]
    more: bool,
}

#[derive(Deserialize)]
struct Transaction {
    header: Header,
    #[serde(default)]
    succeeded: bool,
    #[serde(default)]
    responses: Vec<Answer>,
}

/// Answer to a part of a transaction.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    response_range: Range,
}

#[derive(Deserialize)]
struct Authenticated {
    token: String,
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
    #[serde(default)]
    code: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Watched {
    Result(News),
    Error { message: String },
}

#[derive(Deserialize)]
struct News {
    header: Header,
    #[serde(default)]
    events: Vec<Value>,
    #[serde(default)]
    canceled: bool,
}

/// Changes as they happen.
pub(super) struct Watch {
    lines: BufReader<BodyReader<'static>>,
    /// Last revision when it began.
    pub(super) revision: i64,
}

impl Watch {
    /// Waits for a change; returns its revision, or none if nothing has changed for a while, or the member has ended: then
    /// it is time for another watch.
    pub(super) fn wait(&mut self) -> Option<i64> {
        loop {
            let news = self.read().ok()?;
            // A watch is canceled where it begins before what etcd remembers. The list has it all.
            if news.canceled || !news.events.is_empty() {
                return Some(news.header.revision);
            }
        }
    }

    fn read(&mut self) -> Result<News, String> {
        let mut line = Vec::new();
        let read = self
            .lines
            .by_ref()
            .take(MOST_BYTES)
            .read_until(b'\n', &mut line);
        read.map_err(|error| error.to_string())?;
        match serde_json::from_slice(&line) {
            Ok(Watched::Result(news)) => Ok(news),
            Ok(Watched::Error { message }) => Err(message),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Client {
    /// Creates a client of the registry of the configuration in `source`.
    pub(super) fn new(config: &RegistryConfig, source: &Source) -> Result<Self, Failure> {
        let password = source.secret_file(&config.password_file)?;
        let password = key_file::read_text(&password, "write the password of etcd's user into it")?;
        let mut tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
        if let Some(path) = &config.ca_file {
            tls = tls.root_certs(authorities(source, path)?);
        }
        let agent = ureq::Agent::config_builder()
            .tls_config(tls.build())
            .timeout_connect(Some(PATIENCE))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None);
        let endpoints = config.endpoints.get_ref().iter();
        Ok(Self {
            agent: agent.build().into(),
            endpoints: endpoints.map(|Endpoint(url)| url.clone()).collect(),
            prefix: config.prefix.0.clone(),
            user: config.user.clone(),
            password,
            access: Mutex::default(),
            written: AtomicI64::default(),
        })
    }

    /// Returns the entries of the hosts that have changed since a revision; since 0: all.
    pub(super) fn list(&self, since: i64) -> Result<Listing, Failure> {
        let mut listing = Listing::default();
        let mut from = self.hosts();
        loop {
            let hosts = json!({
                "key": BASE64.encode(&from),
                "range_end": BASE64.encode(self.end_of_hosts()),
                "limit": PAGE.to_string(),
                // All pages are of one moment.
                "revision": listing.revision.to_string(),
                "min_mod_revision": since.saturating_add(1).to_string(),
            });
            let owner = json!({ "key": BASE64.encode(self.owner()) });
            let ranges =
                json!({ "success": [{ "requestRange": owner }, { "requestRange": hosts }] });
            let answer: Transaction = self.call("kv/txn", &ranges)?;
            let Ok([owner, page]) = <[Answer; 2]>::try_from(answer.responses) else {
                return Err(self.refused("the answer lacks a part"));
            };
            let (owner, page) = (owner.response_range.kvs, page.response_range);
            if listing.revision == 0 {
                listing.revision = answer.header.revision;
                listing.count = page.count;
                listing.origin.cluster = answer.header.cluster_id;
            }
            if let Some(owner) = owner.first() {
                listing.origin.revision = owner.create_revision;
                listing.owner = decoded(&owner.value);
            }
            let last = page.kvs.last().map(|pair| decoded(&pair.key));
            for pair in &page.kvs {
                let key = self.below(&decoded(&pair.key));
                listing.entries.push((key, decoded(&pair.value)));
            }
            if listing.count.max(listing.entries.len()) > MOST_ENTRIES {
                let what =
                    format!("the registry has more than {MOST_ENTRIES} hosts of this gateway");
                return Err(Failure::setting(what));
            }
            match last.filter(|_| page.more) {
                Some(last) => from = format!("{last}\0"),
                None => return Ok(listing),
            }
        }
    }

    /// Returns the keys of all hosts at a revision.
    pub(super) fn keys(&self, revision: i64) -> Result<BTreeSet<String>, Failure> {
        let request = json!({
            "key": BASE64.encode(self.hosts()),
            "range_end": BASE64.encode(self.end_of_hosts()),
            "revision": revision.to_string(),
            "keys_only": true,
        });
        let all: Range = self.call("kv/range", &request)?;
        let keys = all.kvs.iter().map(|pair| self.below(&decoded(&pair.key)));
        Ok(keys.collect())
    }

    /// Writes entries of hosts, all or none, if none has changed since a revision. Returns the revision with them, or
    /// none if one has changed.
    pub(super) fn write(&self, writes: &[Write<'_>], since: i64) -> Result<Option<i64>, Failure> {
        let key = |key: &str| BASE64.encode(self.hosts() + key);
        let write = |write: &Write<'_>| match write {
            Write::Put(name, text) => {
                json!({ "requestPut": { "key": key(name), "value": BASE64.encode(text) } })
            }
            Write::Delete(name) => json!({ "requestDeleteRange": { "key": key(name) } }),
        };
        let request = json!({
            "compare": [{
                "key": BASE64.encode(self.hosts()),
                "range_end": BASE64.encode(self.end_of_hosts()),
                "target": "MOD",
                "result": "LESS",
                "mod_revision": since.saturating_add(1).to_string(),
            }],
            "success": writes.iter().map(write).collect::<Vec<_>>(),
        });
        let done: Transaction = self.call("kv/txn", &request)?;
        let written = done.succeeded.then_some(done.header.revision);
        written.inspect(|revision| self.written.store(*revision, Ordering::Relaxed));
        Ok(written)
    }

    /// Returns true if this client has made the change with this revision, before which it knew all others.
    pub(super) fn has_written(&self, revision: i64) -> bool {
        self.written.load(Ordering::Relaxed) == revision
    }

    /// Makes the keys belong to the gateway with this public key, unless they belong to one already.
    pub(super) fn own(&self, public_key: &str) -> Result<(), Failure> {
        let key = BASE64.encode(self.owner());
        let request = json!({
            "compare": [{ "key": key, "target": "CREATE", "result": "EQUAL", "create_revision": "0" }],
            "success": [{ "requestPut": { "key": key, "value": BASE64.encode(public_key) } }],
        });
        self.call("kv/txn", &request).map(|_: Transaction| ())
    }

    /// Begins to watch the hosts' entries from a revision on.
    pub(super) fn watch(&self, from: i64) -> Result<Watch, Failure> {
        let request = json!({ "create_request": {
            "key": BASE64.encode(self.hosts()),
            "range_end": BASE64.encode(self.end_of_hosts()),
            "start_revision": from.to_string(),
        } });
        let response = self.request("watch", &request, WATCH)?;
        let mut watch = Watch {
            lines: BufReader::new(response.into_body().into_reader()),
            revision: 0,
        };
        // The first answer says that the watch has begun.
        let begun = watch.read().map_err(|what| does_not_answer(&what))?;
        watch.revision = begun.header.revision;
        Ok(watch)
    }

    /// Returns the key with the public key of the gateway whose list it is.
    fn owner(&self) -> String {
        format!("{}owner", self.prefix)
    }

    /// Returns the begin of the keys of hosts.
    fn hosts(&self) -> String {
        format!("{}hosts/", self.prefix)
    }

    /// Returns the first key after all of them.
    fn end_of_hosts(&self) -> String {
        // The character after '/'.
        format!("{}hosts0", self.prefix)
    }

    /// Returns a key without what those of all hosts begin with.
    fn below(&self, key: &str) -> String {
        key.strip_prefix(&self.hosts()).unwrap_or(key).into()
    }

    /// Requests something, and reads the whole answer.
    fn call<T: DeserializeOwned>(&self, method: &str, request: &Value) -> Result<T, Failure> {
        let mut response = self.request(method, request, PATIENCE)?;
        self.read(&mut response)
    }

    fn read<T: DeserializeOwned>(&self, response: &mut Response<Body>) -> Result<T, Failure> {
        let body = response.body_mut().with_config().limit(MOST_BYTES);
        body.read_json()
            .map_err(|error| self.refused(&error.to_string()))
    }

    /// Returns the error of an answer that is none of etcd's, or that refuses.
    fn refused(&self, what: &str) -> Failure {
        let endpoints = self.endpoints.join(", ");
        let what: String = what.chars().take(200).collect();
        Failure::setting(format!("the registry ({endpoints}) refuses: {what}"))
    }

    /// Sends a request with a valid token.
    fn request(
        &self,
        method: &str,
        request: &Value,
        time: Duration,
    ) -> Result<Response<Body>, Failure> {
        let trouble = match self.try_request(method, request, time) {
            // It is valid for some minutes.
            Err(Trouble::Token) => {
                self.access().token = None;
                self.try_request(method, request, time)
            }
            other => other,
        };
        trouble.map_err(|trouble| match trouble {
            Trouble::Token => self.refused("it gives a token that it does not accept"),
            Trouble::Refused(what) => self.refused(&what),
            Trouble::Away(what) => does_not_answer(&what),
        })
    }

    fn try_request(
        &self,
        method: &str,
        request: &Value,
        time: Duration,
    ) -> Result<Response<Body>, Trouble> {
        let known = self.access().token.clone();
        let token = match known {
            Some(token) => token,
            None => self.authenticate()?,
        };
        self.ask_each(method, request, Some(&token), time)
    }

    fn authenticate(&self) -> Result<String, Trouble> {
        let password: &str = &self.password;
        let request = json!({ "name": self.user, "password": password });
        let mut response = self.ask_each("auth/authenticate", &request, None, PATIENCE)?;
        let answer: Result<Authenticated, _> = response.body_mut().read_json();
        let answer = answer.map_err(|error| Trouble::Refused(error.to_string()))?;
        self.access().token = Some(answer.token.clone());
        Ok(answer.token)
    }

    /// Asks one member after the other until one answers, first the one that has answered last.
    fn ask_each(
        &self,
        method: &str,
        request: &Value,
        token: Option<&str>,
        time: Duration,
    ) -> Result<Response<Body>, Trouble> {
        let first = self.access().member;
        let count = self.endpoints.len();
        let mut reasons = Vec::new();
        for member in (first..first + count).map(|member| member % count) {
            let endpoint = &self.endpoints[member];
            match self.ask(&format!("{endpoint}/v3/{method}"), request, token, time) {
                Ok(response) => {
                    self.access().member = member;
                    return Ok(response);
                }
                Err(Trouble::Away(reason)) => reasons.push(format!("{endpoint}: {reason}")),
                Err(other) => return Err(other),
            }
        }
        Err(Trouble::Away(reasons.join("; ")))
    }

    fn ask(
        &self,
        url: &str,
        request: &Value,
        token: Option<&str>,
        time: Duration,
    ) -> Result<Response<Body>, Trouble> {
        let mut post = self.agent.post(url).header(NEEDS_LEADER, "true");
        if let Some(token) = token {
            post = post.header("Authorization", token);
        }
        let post = post.config().timeout_global(Some(time)).build();
        let mut response = match post.send_json(request) {
            Ok(response) => response,
            Err(error) => return Err(Trouble::Away(error.to_string())),
        };
        let status = response.status().as_u16();
        if status == SUCCESS {
            return Ok(response);
        }
        let refusal: Result<Refusal, _> = response.body_mut().read_json();
        Err(match refusal {
            Ok(Refusal { code, .. }) if code == UNAUTHENTICATED => Trouble::Token,
            Ok(refusal) if refusal.code == UNAVAILABLE => Trouble::Away(refusal.error),
            _ if status >= SERVER_ERROR => Trouble::Away(format!("HTTP status {status}")),
            Ok(refusal) => Trouble::Refused(refusal.error),
            Err(_) => Trouble::Refused(format!("{url} is not etcd (HTTP status {status})")),
        })
    }

    fn access(&self) -> MutexGuard<'_, Access> {
        self.access.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn does_not_answer(why: &str) -> Failure {
    Failure::setting(format!("the registry does not answer: {why}"))
}

/// Reads the certificates of authorities.
fn authorities(source: &Source, path: &std::path::Path) -> Result<RootCerts, Failure> {
    let path = source.file(path);
    let name = path.display();
    let pem = std::fs::read(&path)
        .map_err(|error| Failure::setting(format!("cannot read {name}: {error}")))?;
    let certificates = parse_pem(&pem).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    let certificates: Vec<_> = certificates.collect();
    if certificates.is_empty() {
        return Err(Failure::setting(format!(
            "{name}: no certificate is in it; it is to be a PEM file"
        )));
    }
    Ok(certificates.into())
}

/// Returns the text of bytes in base64. What is no text is no host's entry either.
fn decoded(text: &str) -> String {
    let bytes = BASE64.decode(text).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads a number that JSON has as text, since it may be larger than those of JavaScript.
fn number<'de, D: Deserializer<'de>, N: std::str::FromStr>(input: D) -> Result<N, D::Error> {
    let text = String::deserialize(input)?;
    let wrong = |_| serde::de::Error::custom(format!("'{text}' is no number"));
    text.parse().map_err(wrong)
}
