//! The driver below the commands: what it promises to those who use it directly.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use files::{Operation, Reply};
use fileserver::{Config, Fault, Input};
use rpc::message::Credentials;
use runtime::files::{
    CallError, ConnectOptions, Connection, Event, Root, Server, Transport, connect,
};

use super::rig::{LONG, wait_until};
use crate::support::file_server::FileServer;

fn nobody() -> Arc<Credentials> {
    Arc::new(Credentials::None)
}

fn connected(address: SocketAddr, transport: Transport) -> (Connection, Root) {
    let server = Server {
        nfs_port: Some(address.port()),
        mount_port: Some(address.port()),
        transport,
        ..Server::new(&address.ip().to_string(), b"/export/below")
    };
    connect(&server, &ConnectOptions::default(), &|| false).unwrap()
}

/// A request that waits, and how it ends.
fn waiting(
    connection: &Connection,
    root: &Root,
) -> (files::Ticket, Receiver<Result<Reply, CallError>>) {
    let (sender, receiver) = channel();
    let ticket = connection.submit(&nobody(), Operation::Space(root.handle), move |result| {
        sender.send(result).unwrap();
    });
    (ticket, receiver)
}

#[test]
fn every_request_ends_once() {
    let server = FileServer::start(Config::default()).unwrap();
    let (connection, root) = connected(server.address(), Transport::Udp);
    assert_eq!(
        (root.export.as_slice(), root.rest.as_slice()),
        (&b"/export"[..], &b"below"[..])
    );
    server.input(Input::Fault(Fault::Silent(true)));
    let (ticket, cancelled) = waiting(&connection, &root);
    connection.cancel(ticket);
    assert_eq!(cancelled.recv_timeout(LONG), Ok(Err(CallError::Cancelled)));
    let (_, closed) = waiting(&connection, &root);
    connection.close();
    assert_eq!(closed.recv_timeout(LONG), Ok(Err(CallError::Closed)));
    let (_, late) = waiting(&connection, &root);
    assert_eq!(late.recv_timeout(LONG), Ok(Err(CallError::Closed)));
    for receiver in [cancelled, closed, late] {
        assert!(receiver.recv().is_err(), "it ended twice");
    }
}

#[test]
fn silence_is_told_and_its_end() {
    let server = FileServer::start(Config::default()).unwrap();
    let (connection, root) = connected(server.address(), Transport::Udp);
    let (sender, events) = channel();
    connection.observe(move |event| sender.send(event).unwrap());
    server.input(Input::Fault(Fault::Silent(true)));
    let (_, ended) = waiting(&connection, &root);
    assert!(matches!(
        events.recv_timeout(LONG),
        Ok(Event::Silent { .. })
    ));
    wait_until("the status tells it too", || {
        connection.status().silent_for.is_some()
    });
    server.input(Input::Fault(Fault::Silent(false)));
    assert!(matches!(ended.recv_timeout(LONG), Ok(Ok(Reply::Space(_)))));
    assert!(matches!(
        events.recv_timeout(LONG),
        Ok(Event::Answering { .. })
    ));
    wait_until("the status tells that too", || {
        connection.status().silent_for.is_none()
    });
}

#[test]
fn a_stream_that_breaks_is_opened_again() {
    let server = FileServer::start(Config::default()).unwrap();
    let address = server.address();
    let (connection, root) = connected(address, Transport::Tcp);
    assert!(
        connection
            .call(&nobody(), Operation::Space(root.handle))
            .is_ok()
    );
    drop(server);
    let (_, ended) = waiting(&connection, &root);
    // Its connections of before linger at this port, where nobody else may listen meanwhile.
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.bind(&address.into()).unwrap();
    socket.listen(8).unwrap();
    let listener = TcpListener::from(socket);
    let datagrams = UdpSocket::bind(address).unwrap();
    let _server = FileServer::on(datagrams, listener, Config::default()).unwrap();
    assert!(matches!(ended.recv_timeout(LONG), Ok(Ok(Reply::Space(_)))));
    assert_eq!(connection.status().reopened, 1);
}
