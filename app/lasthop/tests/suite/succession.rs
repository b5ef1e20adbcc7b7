//! A gateway whose process is replaced by another one, and what goes on.

use std::io::{ErrorKind, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use edges::namespace::Namespace;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use crate::support::download::Download;
use crate::support::{FIXED_HOST, Hosts, LONG, LOSSY_LINK, able, connect};

/// How TCP crosses the hop, and whether the gateway translates addresses.
const WAYS: [(&str, bool); 5] = [
    ("tcp = \"split\"\nsplit_transport = \"kernel-tcp\"", true),
    ("tcp = \"split\"\nsplit_transport = \"mtcp\"", false),
    ("tcp = \"split\"\nsplit_transport = \"mtcp-wide\"", true),
    ("tcp = \"arq\"", true),
    ("tcp = \"arq\"", false),
];

/// The hosts, with these lines for the mobile host in the gateway's configuration.
fn hosts(lines: &str, nat: bool) -> Hosts {
    let hosts = Hosts::over_air(LOSSY_LINK);
    hosts.configure_more("gateway", "public_key", lines);
    if !nat {
        hosts.without_nat();
    }
    hosts
}

/// Waits until both ends have agreed on the way of these lines.
fn wait_until_agreed(hosts: &Hosts, lines: &str) {
    hosts.wait_until("the ends agree", || {
        (lines.contains("arq") || hosts.peer("gateway")["hop"]["tcp"]["method"] == "plain")
            && (!lines.contains("mtcp") || !hosts.peer("mobile")["hop"]["streams"].is_null())
    });
}

/// Sends `question`, and its end, and expects the same as the answer.
fn exchange(mut asks: TcpStream, mut answers: TcpStream, question: &'static [u8]) {
    for end in [&asks, &answers] {
        end.set_read_timeout(Some(LONG)).unwrap();
    }
    asks.write_all(question).unwrap();
    asks.shutdown(Shutdown::Write).unwrap();
    let mut heard = Vec::new();
    answers.read_to_end(&mut heard).unwrap();
    answers.write_all(&heard).unwrap();
    drop(answers);
    let mut answer = Vec::new();
    asks.read_to_end(&mut answer).unwrap();
    assert!(answer == question);
}

/// Connections that carry nothing: an idle one, and one whose first direction has ended. Each is both its ends.
pub(crate) struct Standing {
    idle: (TcpStream, TcpStream),
    half: (TcpStream, TcpStream),
}

impl Standing {
    /// Opens them from the mobile host to the fixed one.
    pub(crate) fn open(mobile: &Namespace, fixed: &Namespace) -> Self {
        let [idle, half] = [(); 2].map(|()| connect(mobile, fixed, FIXED_HOST).unwrap());
        half.0.shutdown(Shutdown::Write).unwrap();
        Self { idle, half }
    }

    /// Uses both to their ends.
    pub(crate) fn go_on(self) {
        exchange(self.idle.0, self.idle.1, b"a question");
        let (mut asked, mut answers) = self.half;
        answers.set_read_timeout(Some(LONG)).unwrap();
        assert_eq!(answers.read(&mut [0]).unwrap(), 0);
        answers.write_all(b"late").unwrap();
        drop(answers);
        let mut late = String::new();
        asked.read_to_string(&mut late).unwrap();
        assert_eq!(late, "late");
    }
}

#[test]
fn connections_go_on_with_the_next_process() {
    if !able() {
        return;
    }
    for (lines, nat) in WAYS {
        let hosts = hosts(lines, nat);
        let [mut gateway, mobile] = hosts.start_both();
        let is_split = !lines.contains("arq");
        wait_until_agreed(&hosts, lines);
        let standing = Standing::open(&hosts.mobile, &hosts.fixed);
        Download::during(&hosts, |download| {
            for _ in 0..3 {
                download.take_pause();
                hosts.succeed(&mut gateway);
                download.goes_on();
                println!("{lines}: a pause of {:?}", download.take_pause());
            }
        });
        standing.go_on();
        hosts.wait_until("all have ended", || {
            !is_split || hosts.status("gateway")["split"]["open"] == 0
        });
        assert!(gateway.terminate().success(), "{}", hosts.logs());
        drop(mobile);
    }
}

/// A supervisor of the gateway, which keeps descriptors as systemd does.
struct Supervisor {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Supervisor {
    fn new(folder: &Path) -> Self {
        let path = folder.join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(LONG)).unwrap();
        Self { socket, path }
    }

    /// Waits for the descriptor that the gateway stores.
    fn stored(&self) -> OwnedFd {
        loop {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut bytes = [0; 256];
            let mut pieces = [IoSliceMut::new(&mut bytes)];
            let flags = RecvFlags::CMSG_CLOEXEC;
            recvmsg(&self.socket, &mut pieces, &mut control, flags).unwrap();
            let stored = control.drain().find_map(|message| match message {
                RecvAncillaryMessage::ScmRights(mut files) => files.next(),
                _ => None,
            });
            if let Some(stored) = stored {
                assert!(bytes.starts_with(b"FDSTORE=1\nFDNAME=lasthop-connections"));
                return stored;
            }
        }
    }
}

/// As `systemctl restart` does, and the upgrade of a package.
#[test]
fn split_connections_go_on_after_a_restart_by_a_supervisor() {
    if !able() {
        return;
    }
    for (lines, nat) in [WAYS[0], WAYS[2]] {
        let hosts = hosts(lines, nat);
        let supervisor = Supervisor::new(hosts.folder.path());
        let notify = supervisor.path.to_str().unwrap();
        let mut gateway = hosts.start_with("gateway", &[("NOTIFY_SOCKET", notify)]);
        let mobile = hosts.start("mobile");
        hosts.wait_until_connected();
        wait_until_agreed(&hosts, lines);
        Download::during(&hosts, |download| {
            for _ in 0..2 {
                assert!(gateway.0.end().unwrap().success(), "{}", hosts.logs());
                gateway = hosts.start_with_stored(&supervisor.path, supervisor.stored());
                download.goes_on();
            }
        });
        // It ends for good, and so do its connections, which are reset.
        let (_asks, mut answers) = connect(&hosts.mobile, &hosts.fixed, FIXED_HOST).unwrap();
        assert!(gateway.terminate().success(), "{}", hosts.logs());
        drop(supervisor.stored());
        let end = answers.read(&mut [0]).unwrap_err();
        assert_eq!(end.kind(), ErrorKind::ConnectionReset);
        drop(mobile);
    }
}

/// Where nothing runs, there is nothing to take over; and what a former process cannot give ends.
#[test]
fn who_takes_over_nothing_starts_as_ever() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let before = hosts.traces();
    let mut gateway = hosts.start_until_ready("gateway");
    hosts.succeed(&mut gateway);
    let mobile = hosts.start("mobile");
    hosts.wait_until_connected();
    mobile.terminate();
    assert!(gateway.terminate().success(), "{}", hosts.logs());
    assert_eq!(hosts.traces(), before);
}
