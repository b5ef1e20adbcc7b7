//! The HTTP server: connections with limits, on one thread.

mod content;
mod events;
mod patient;
mod request;
#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener as Listening};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::metrics;
use super::poll::Shared;
use crate::failure::Failure;
use content::Content;
use events::Events;
use patient::Patient;
use request::{Asked, Names, Refusal};

/// Largest number of connections, and of those that fetch metrics at a time: the text for thousands of peers has
/// megabytes.
const CONNECTIONS: usize = 64;
const SCRAPES: usize = 4;
/// Limits of a request.
const HEADERS: usize = 64;
const HEADER_BYTES: usize = 16 << 10;
/// Time for which a connection may be idle, or send a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
/// Time after which it is tried again if no connection can be accepted, as no descriptors are left.
const PAUSE: Duration = Duration::from_millis(200);
/// Answer to a connection beyond the limit.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 59\r\n\
    Retry-After: 5\r\n\
    Connection: close\r\n\r\n\
    Too many connections are open; close a page and try again.\n";

/// Headers of each response: the page runs nothing and loads nothing from elsewhere, and no other page may embed it.
const SAFETY: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=()",
    ),
];

/// What all connections use.
#[derive(Debug)]
struct Service {
    shared: Shared,
    names: Names,
    scrapes: Arc<Semaphore>,
}

/// Serves until no more answers of the daemon come.
pub(super) fn run(listening: Listening, shared: Shared) -> Result<(), Failure> {
    let failed = |error| Failure::broken(format!("cannot serve: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(failed)?;
    let address = listening.local_addr().map_err(failed)?;
    runtime.block_on(async {
        listening.set_nonblocking(true).map_err(failed)?;
        let listener = TcpListener::from_std(listening).map_err(failed)?;
        let mut news = shared.news.clone();
        tokio::spawn(accept(listener, address, shared));
        while news.changed().await.is_ok() {}
        Err(Failure::broken(
            "the process that asks the daemon has ended; start `lasthop web` again",
        ))
    })
}

async fn accept(listener: TcpListener, address: SocketAddr, shared: Shared) {
    let service = Arc::new(Service {
        shared,
        names: Names::of(address.ip()),
        scrapes: Arc::new(Semaphore::new(SCRAPES)),
    });
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        match Arc::clone(&connections).try_acquire_owned() {
            Ok(permit) => drop(tokio::spawn(serve(stream, Arc::clone(&service), permit))),
            // A new connection has room for this, and if not, it is closed without a word.
            Err(_) => drop(stream.try_write(FULL)),
        }
    }
}

async fn serve(stream: TcpStream, service: Arc<Service>, _permit: OwnedSemaphorePermit) {
    let answer = service_fn(|request: Request<Incoming>| {
        let response = service.answer(&request);
        async { Ok::<_, Infallible>(response) }
    });
    // An error is the client's: it is gone, or it spoke no HTTP and has its answer.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(HEADERS)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(Patient::new(stream)), answer)
        .await;
}

impl Service {
    fn answer<B>(&self, request: &Request<B>) -> Response<Content> {
        let asked = request::read(
            request.method(),
            request.uri(),
            request.headers(),
            &self.names,
        );
        let mut response = match asked {
            Ok(Asked::File(file)) => {
                let content = Content::from_static(file.text);
                response(StatusCode::OK, file.media_type, content)
            }
            Ok(Asked::Events(window)) => {
                let events = Events::new(self.shared.clone(), window);
                response(StatusCode::OK, events::MEDIA_TYPE, events.into())
            }
            Ok(Asked::Metrics) => self.metrics(),
            Err(refusal) => refused(&refusal),
        };
        let headers = response.headers_mut();
        for (name, value) in SAFETY {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }

    fn metrics(&self) -> Response<Content> {
        let Ok(permit) = Arc::clone(&self.scrapes).try_acquire_owned() else {
            let text = format!("{SCRAPES} other programs fetch metrics now; try again.");
            return refused(&Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text));
        };
        let text = metrics::text(&self.shared.answer());
        let content = Content::text(text).with_permit(permit);
        response(StatusCode::OK, metrics::MEDIA_TYPE, content)
    }
}

fn refused(refusal: &Refusal) -> Response<Content> {
    let content = Content::text(format!("{}\n", refusal.sentence));
    let mut response = response(refusal.status, "text/plain; charset=utf-8", content);
    if refusal.status == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

fn response(status: StatusCode, media_type: &'static str, content: Content) -> Response<Content> {
    let mut response = Response::new(content);
    *response.status_mut() = status;
    let headers: &mut HeaderMap = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
