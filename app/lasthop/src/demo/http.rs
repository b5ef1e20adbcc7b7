//! File transfer by HTTP/1.1 (RFC 9112): a server for GET and PUT of one resource, and a client.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use super::content::Content;
use super::meter::{Meter, Received, Window, is_pause, receive};

/// Limit of the head of a request or response, in bytes.
const LONGEST_HEAD: u64 = 8192;
const HEADERS: usize = 32;
const RESOURCE: &str = "/file";
/// Time without data after which a peer counts as gone.
const PATIENCE: std::time::Duration = std::time::Duration::from_mins(5);

/// The file that the server offers, and the destination of uploads.
pub(crate) struct Site {
    pub(crate) seed: u64,
    pub(crate) size: u64,
    /// Counts the bytes of an upload.
    pub(crate) meter: Arc<Meter>,
    /// Receives the result of an upload.
    pub(crate) uploads: Sender<Received>,
    pub(crate) window: Window,
}

/// Serves `site` at `listener` until the process ends.
pub(crate) fn serve(listener: TcpListener, site: Site) {
    let site = Arc::new(site);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let site = Arc::clone(&site);
            // A client that closes early, for example at the end of its time, is not an error.
            thread::spawn(move || answer(&stream, &site));
        }
    });
}

fn answer(stream: &TcpStream, site: &Site) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream);
    let head = read_head(&mut reader)?;
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request
        .parse(&head)
        .is_ok_and(|status| status.is_complete());
    let length = content_length(request.headers);
    match (parsed, request.method, request.path, length) {
        (false, ..) => respond(stream, "400 Bad Request", 0),
        (_, Some("GET"), Some(RESOURCE), _) => {
            respond(stream, "200 OK", site.size)?;
            let mut content = Content::new(site.seed, site.size);
            io::copy(&mut content, &mut &*stream)?;
            Ok(())
        }
        (_, Some("PUT"), Some(RESOURCE), Some(size)) => {
            let received = receive(&mut reader, stream, size, site.window, &site.meter);
            let whole = received.whole;
            // Nobody receives it if the run was interrupted.
            let _ = site.uploads.send(received);
            respond(
                stream,
                if whole {
                    "201 Created"
                } else {
                    "408 Request Timeout"
                },
                0,
            )
        }
        (_, Some("PUT"), Some(RESOURCE), None) => respond(stream, "411 Length Required", 0),
        (_, Some("GET" | "PUT"), ..) => respond(stream, "404 Not Found", 0),
        _ => respond(stream, "405 Method Not Allowed", 0),
    }
}

fn respond(mut stream: &TcpStream, status: &str, length: u64) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/octet-stream\r\nContent-Length: \
        {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())
}

/// Downloads the file through `stream`.
pub(crate) fn get(
    mut stream: &TcpStream,
    server: SocketAddr,
    window: Window,
    meter: &Meter,
) -> io::Result<Received> {
    write!(
        stream,
        "GET {RESOURCE} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n"
    )?;
    stream.set_read_timeout(Some(
        window
            .end
            .since(edges::clock::monotonic())
            .max(GIVE_UP)
            .into(),
    ))?;
    let mut reader = BufReader::new(stream);
    let head = read_head(&mut reader)?;
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let status = response
        .parse(&head)
        .map_err(|error| invalid(&error.to_string()))?;
    let size = content_length(response.headers);
    match (status.is_complete(), response.code, size) {
        (true, Some(200), Some(size)) => Ok(receive(&mut reader, stream, size, window, meter)),
        _ => Err(invalid("the server's answer holds no file")),
    }
}

/// Read timeout, which must not be zero.
const GIVE_UP: units::Duration = units::Duration::from_millis(100);

/// Sends the file through `stream` until it is complete, the time is over, or `meter` stops it.
pub(crate) fn put(
    mut stream: &TcpStream,
    server: SocketAddr,
    mut content: (Content, u64),
    (window, meter): (Window, &Meter),
) -> io::Result<()> {
    let size = content.1;
    write!(
        stream,
        "PUT {RESOURCE} HTTP/1.1\r\nHost: {server}\r\nContent-Length: {size}\r\n\r\n"
    )?;
    stream.set_write_timeout(Some(std::time::Duration::from_millis(50)))?;
    let mut block = vec![0; 1 << 16];
    let mut waiting = 0..0;
    while !meter.is_stopped() && edges::clock::monotonic() < window.end {
        if waiting.is_empty() {
            waiting = 0..content.0.read(&mut block)?;
        }
        if waiting.is_empty() {
            return Ok(());
        }
        match stream.write(&block[waiting.clone()]) {
            Ok(count) => waiting.start += count,
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads everything up to the empty line.
fn read_head(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut limited = reader.take(LONGEST_HEAD);
    while !head.ends_with(b"\r\n\r\n") {
        if limited.read_until(b'\n', &mut head)? == 0 {
            return Err(invalid("the head of the message is cut off or too long"));
        }
    }
    Ok(head)
}

fn content_length(headers: &[httparse::Header<'_>]) -> Option<u64> {
    let header = headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("content-length"))?;
    str::from_utf8(header.value).ok()?.trim().parse().ok()
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
