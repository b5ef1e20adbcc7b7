//! The members of etcd, by the JSON that each answers over HTTP (etcd's documentation, "gRPC gateway"): it needs no
//! async runtime, and few libraries.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use ureq::Body;
use ureq::http::Response;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use zeroize::Zeroizing;

use super::answers::{Authenticated, Refusal};
use crate::config::Source;
use crate::config::registry::{Endpoint, RegistryConfig};
use crate::failure::Failure;
use crate::key_file;

/// Time for an answer of one member.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time after which no further member is asked: the helper process has other work, too.
const PATIENCE_WITH_ALL: Duration = Duration::from_secs(3);
/// Most bytes of an answer.
pub(super) const MOST_BYTES: u64 = 64 << 20;
/// Codes of errors: the revision is not remembered, or not reached yet; the member has no leader or no time; and the
/// token is not valid any more.
const OUT_OF_RANGE: u32 = 11;
const UNAVAILABLE: u32 = 14;
const UNAUTHENTICATED: u32 = 16;
/// Header with which a member ends a watch when it has lost the majority.
const NEEDS_LEADER: &str = "Grpc-Metadata-hasleader";
/// Statuses of HTTP: success, and the first one that is the server's fault.
const SUCCESS: u16 = 200;
const SERVER_ERROR: u16 = 500;

/// The members of etcd, and the user that asks them.
pub(super) struct Cluster {
    agent: ureq::Agent,
    endpoints: Vec<String>,
    user: String,
    password: Zeroizing<String>,
    access: Mutex<Access>,
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
    /// It does not have that revision.
    Revision(String),
    /// No member answers, with the reason of each.
    Away(String),
    /// The registry refuses, or answers with what means nothing.
    Refused(String),
}

impl Cluster {
    /// Creates a client of the members that the configuration in `source` names.
    pub(super) fn new(config: &RegistryConfig, source: &Source) -> Result<Self, Failure> {
        let password = source.secret_file(&config.password_file)?;
        let password = key_file::read_text(&password, "write the password of etcd's user into it")?;
        let mut tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
        if let Some(path) = &config.ca_file {
            tls = tls.root_certs(authorities(&source.file(path))?);
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
            user: config.user.clone(),
            password,
            access: Mutex::default(),
        })
    }

    /// Requests something, and reads the whole answer.
    pub(super) fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        request: &Value,
    ) -> Result<T, Failure> {
        let mut response = self.request(method, request, PATIENCE)?;
        self.read(&mut response)
    }

    /// Requests something of a revision; returns none if that is not remembered.
    pub(super) fn call_in_the_past<T: DeserializeOwned>(
        &self,
        method: &str,
        request: &Value,
    ) -> Result<Option<T>, Failure> {
        match self.request_anew(method, request, PATIENCE) {
            Ok(mut response) => self.read(&mut response).map(Some),
            Err(Trouble::Revision(_)) => Ok(None),
            Err(trouble) => Err(self.failure(trouble)),
        }
    }

    fn read<T: DeserializeOwned>(&self, response: &mut Response<Body>) -> Result<T, Failure> {
        let body = response.body_mut().with_config().limit(MOST_BYTES);
        body.read_json()
            .map_err(|error| self.refused(&error.to_string()))
    }

    /// Returns the error of an answer that is none of etcd's, or that refuses.
    pub(super) fn refused(&self, what: &str) -> Failure {
        let endpoints = self.endpoints.join(", ");
        let what: String = what.chars().take(200).collect();
        Failure::setting(format!("the registry ({endpoints}) refuses: {what}"))
    }

    /// Sends a request with a valid token.
    pub(super) fn request(
        &self,
        method: &str,
        request: &Value,
        time: Duration,
    ) -> Result<Response<Body>, Failure> {
        let answer = self.request_anew(method, request, time);
        answer.map_err(|trouble| self.failure(trouble))
    }

    /// Sends a request with the present token, and with another one if that is not valid any more.
    fn request_anew(
        &self,
        method: &str,
        request: &Value,
        time: Duration,
    ) -> Result<Response<Body>, Trouble> {
        match self.try_request(method, request, time) {
            // It is valid for some minutes.
            Err(Trouble::Token) => {
                self.access().token = None;
                self.try_request(method, request, time)
            }
            other => other,
        }
    }

    fn failure(&self, trouble: Trouble) -> Failure {
        match trouble {
            Trouble::Token => self.refused("it gives a token that it does not accept"),
            Trouble::Revision(what) | Trouble::Refused(what) => self.refused(&what),
            Trouble::Away(what) => does_not_answer(&what),
        }
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
        let begun = Instant::now();
        let mut reasons = Vec::new();
        for member in (first..first + count).map(|member| member % count) {
            if begun.elapsed() > PATIENCE_WITH_ALL {
                // The next request begins here.
                self.access().member = member;
                break;
            }
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
            Ok(refusal) if refusal.code == OUT_OF_RANGE => Trouble::Revision(refusal.error),
            _ if status >= SERVER_ERROR => Trouble::Away(format!("HTTP status {status}")),
            Ok(refusal) => Trouble::Refused(refusal.error),
            Err(_) => Trouble::Refused(format!("{url} is not etcd (HTTP status {status})")),
        })
    }

    fn access(&self) -> MutexGuard<'_, Access> {
        self.access.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the error of a registry without an answer.
pub(super) fn does_not_answer(why: &str) -> Failure {
    Failure::setting(format!("the registry does not answer: {why}"))
}

/// Reads the certificates of authorities.
fn authorities(path: &Path) -> Result<RootCerts, Failure> {
    let name = path.display();
    let pem = std::fs::read(path)
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
