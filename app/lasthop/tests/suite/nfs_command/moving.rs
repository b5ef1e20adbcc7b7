//! A host whose address changes.

use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;

use edges::namespace::Namespace;
use edges::netlink::Netlink;
use files::{Operation, Reply};
use fileserver::Config;
use rig::End;
use rig::needs::{can_test, no_hosts};
use rpc::message::Credentials;
use runtime::files::{ConnectOptions, Connection, Root, Server, Transport, connect};

use crate::support::file_server::FileServer;

const PORT: u16 = 2_049;
/// Two hosts on one cable.
const SERVER: &str = "10.9.0.1/24";
const CLIENT: [&str; 2] = ["10.9.0.2/24", "10.9.0.3/24"];

/// Two joined hosts; none where this machine lets us make none, which is a failure under CI=true.
fn hosts() -> Option<[Namespace; 2]> {
    if !can_test(no_hosts()) {
        return None;
    }
    let [server, client] = rig::hosts().unwrap();
    let ends = [
        End::new(&server, "cable", SERVER),
        End::new(&client, "other", CLIENT[0]),
    ];
    rig::join(ends).unwrap();
    Some([server, client])
}

fn connected(transport: Transport) -> (Connection, Root) {
    let server = Server {
        nfs_port: Some(PORT),
        mount_port: Some(PORT),
        transport,
        ..Server::new("10.9.0.1", b"/export")
    };
    connect(&server, &ConnectOptions::default(), &|| false).unwrap()
}

#[test]
fn calls_go_on_from_the_new_address_and_the_same_port() {
    let Some([server, client]) = hosts() else {
        return;
    };
    let bound = || {
        let sockets = UdpSocket::bind(("0.0.0.0", PORT)).unwrap();
        (sockets, TcpListener::bind(("0.0.0.0", PORT)).unwrap())
    };
    let (datagrams, listener) = server.run(bound).unwrap();
    let _server = FileServer::on(datagrams, listener, Config::default()).unwrap();
    let (connection, root) = client.run(|| connected(Transport::Udp)).unwrap();
    let nobody = Arc::new(Credentials::None);
    let ask = || {
        let reply = connection.call(&nobody, Operation::Space(root.handle));
        assert!(matches!(reply, Ok(Reply::Space(_))), "{reply:?}");
    };
    ask();
    let before = connection.status().local.unwrap();
    client
        .run(|| {
            let mut netlink = Netlink::open().unwrap();
            netlink
                .remove_address("other", CLIENT[0].parse().unwrap())
                .unwrap();
            netlink
                .add_address("other", CLIENT[1].parse().unwrap())
                .unwrap();
        })
        .unwrap();
    // It may go out before the news of the change is in: then it is repeated.
    ask();
    let status = connection.status();
    assert_eq!(status.reopened, 1);
    let after = status.local.unwrap();
    assert_eq!(after.ip().to_string(), "10.9.0.3");
    assert_eq!(after.port(), before.port());
}
