//! The program, and requests to it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

use edges::namespace::Namespace;
use rig::Process;

use crate::support::{LONG, PROGRAM, wait_until};

/// A running `lasthop web`.
pub(crate) struct Web {
    pub(crate) process: Process,
    address: SocketAddr,
}

impl Web {
    /// Starts it for the gateway of this state folder, on a host with a folder for its log, or here, and waits until it
    /// listens.
    pub(crate) fn start(state: &Path, listen: &str, place: Option<(&Namespace, &Path)>) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args([
            "web",
            "--name",
            "gateway",
            "--listen",
            listen,
            "--state-dir",
        ]);
        command.arg(state);
        let folder = place.map_or(state, |(_, folder)| folder);
        let host = place.map(|(host, _)| host);
        let process = Process::start(command, "web", folder, host).unwrap();
        let address = || {
            let (words, begin) = (process.words(), "page of 'gateway' is at http://");
            let rest = words.split_once(begin)?.1;
            rest.split_once('/')?.0.parse().ok()
        };
        let words = || process.words();
        wait_until("the page is served", words, || address().is_some());
        let address = address().unwrap();
        Self { process, address }
    }

    /// Returns what it has said.
    pub(crate) fn log(&self) -> String {
        self.process.words()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect_timeout(&self.address, LONG).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_write_timeout(Some(LONG)).unwrap();
        stream
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Fetches a URL.
pub(crate) fn get(web: &Web, path: &str) -> Answer {
    let host = web.address;
    exchange(web, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
}

/// Sends a request as it stands, and reads until the server closes.
pub(crate) fn exchange(web: &Web, request: &str) -> Answer {
    let request = request.replacen("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1);
    let mut stream = web.connect();
    // The server may have refused it before its end.
    let _ = stream.write_all(request.as_bytes());
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    Answer {
        status: status.unwrap_or(0),
        head: head.to_ascii_lowercase(),
        body: body.into(),
    }
}
