//! The server of files that other tests use, on real sockets.

use std::borrow::Cow;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};

use fileserver::{Config, Input, RecordStream};
use nfs::mount::{MountAnswer, Procedure};
use nfs::{Limits, Path, Value};
use rpc::message::{Call, Credentials, Reply};

use crate::support::LONG;
use crate::support::file_server::FileServer;

/// A call for the handle of the export.
fn call() -> Vec<u8> {
    let mut arguments = Vec::new();
    Path::new(b"/export").unwrap().encode(&mut arguments);
    let mut message = Vec::new();
    Call {
        xid: 3,
        procedure: Procedure::Mount.into(),
        credentials: Cow::Owned(Credentials::None),
        arguments: &arguments,
    }
    .write(&mut message);
    message
}

/// That a reply tells the handle of the export.
fn check(server: &FileServer, reply: &[u8]) {
    let results = Reply::parse(reply).unwrap().outcome.unwrap();
    let answer = MountAnswer::decode(results, &Limits::USUAL).unwrap();
    let root = server.with(|server| server.root());
    assert_eq!(answer.done().unwrap().root, root);
}

#[test]
fn answers_datagrams() {
    let server = FileServer::start(Config::default()).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    let mut buffer = [0; 1_000];
    socket.send_to(&call(), server.address()).unwrap();
    let length = socket.recv(&mut buffer).unwrap();
    check(&server, &buffer[..length]);

    // What the test tells the server takes place before what the test sends after it.
    server.input(Input::Restart);
    server.with(|server| server.add_file("file", b"").unwrap());
    socket.send_to(&call(), server.address()).unwrap();
    let length = socket.recv(&mut buffer).unwrap();
    check(&server, &buffer[..length]);
    assert_eq!(server.with(|server| server.counters().others), 2);
}

#[test]
fn answers_streams_and_ends_them() {
    let server = FileServer::start(Config::default()).unwrap();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(&RecordStream::write(&call())).unwrap();
    let mut mark = [0; 4];
    stream.read_exact(&mut mark).unwrap();
    let length = u32::from_be_bytes(mark) & !(1 << 31);
    let mut reply = vec![0; length as usize];
    stream.read_exact(&mut reply).unwrap();
    check(&server, &reply);
    drop(server);
    assert_eq!(stream.read(&mut mark).unwrap(), 0);
}
