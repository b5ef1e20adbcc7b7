//! A server of files at the fixed host, the mounts of the mobile hosts, and the programs on them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use bytes::Bytes;
use files::ServerLimits;
use fileserver::{FalseAnswer, Fault, Faults, Peer, Server};
use machine::{Machine, earlier};
use mount::Memory;
use nfs::{FileHandle, Limits, Procedure, Status, Value};
use programs::{Action, Broken, Ground, Host, Output, Programs, Reference};
use rpc::message::{Call, Reply};
use rpc::xdr::Reader;
use units::{Duration, Instant, Probability};
use wire::flow::DSCP_BULK;
use wire::packet::{Packet, PacketBuffer};

use crate::Step;
use crate::flow::FIXED;
use crate::process::Identity;
use crate::world::{Event, World};

/// UDP port of the server.
pub(crate) const SERVER_PORT: u16 = 2_049;
/// First UDP port of the mobile hosts; each new mount has another one.
const FIRST_PORT: u16 = 10_000;
/// Bytes of IP and UDP headers.
const HEADERS: usize = 28;
/// Bytes of a READ or WRITE, so that no datagram is longer than a packet.
const BLOCK: u32 = 1_024;
/// Limit of the data that a client keeps, and most of them that are kept beyond it for a write.
const DIRTY_LIMIT: u64 = 65_536;
const DIRTY_MOST: u64 = 3 * DIRTY_LIMIT;
/// Most actions of a mobile host's programs that have not begun.
const ACTIONS: usize = 32;

/// Calls that a server's disk refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum DiskFault {
    FullForData,
    FullForNames,
    FullForSizes,
    DefectiveForData,
    DefectiveForCommits,
    DefectiveForReads,
    DefectiveForNames,
}

impl DiskFault {
    /// All kinds.
    pub(crate) const ALL: [Self; 7] = [
        Self::FullForData,
        Self::FullForNames,
        Self::FullForSizes,
        Self::DefectiveForData,
        Self::DefectiveForCommits,
        Self::DefectiveForReads,
        Self::DefectiveForNames,
    ];

    fn refusal(self, calls: u32) -> Fault {
        let (procedure, status) = match self {
            Self::FullForData => (Procedure::Write, Status::NoSpace),
            Self::FullForNames => (Procedure::Create, Status::NoSpace),
            Self::FullForSizes => (Procedure::SetAttributes, Status::NoSpace),
            Self::DefectiveForData => (Procedure::Write, Status::InputOutput),
            Self::DefectiveForCommits => (Procedure::Commit, Status::InputOutput),
            Self::DefectiveForReads => (Procedure::Read, Status::InputOutput),
            Self::DefectiveForNames => (Procedure::Rename, Status::InputOutput),
        };
        Fault::Refuse {
            procedure,
            status,
            calls,
        }
    }
}

const LIES: [FalseAnswer; 9] = [
    FalseAnswer::SlashNames,
    FalseAnswer::LongNames,
    FalseAnswer::CookieLoop,
    FalseAnswer::EmptyPages,
    FalseAnswer::HugeFiles,
    FalseAnswer::HugeCounts,
    FalseAnswer::TooMuchData,
    FalseAnswer::NoData,
    FalseAnswer::LessStable,
];

/// The mount of a mobile host, and its programs.
pub(crate) struct Mount {
    pub(crate) host: Host,
    pub(crate) programs: Programs,
    pub(crate) reference: Reference,
    port: u16,
    /// File of each WRITE and COMMIT without a reply, by its transaction number.
    writing: BTreeMap<u32, FileHandle>,
    /// True if the server had a fault since the mount was made.
    was_faulty: bool,
}

impl Mount {
    fn new(server: &mut Server, mobile: usize, life: u16) -> Self {
        let directory = format!("mobile{mobile}");
        let root = server.add_directory(&directory).expect("room");
        let mount = mount::Config {
            root,
            machine: directory.clone(),
            stamp: 1,
            memory: Memory::within(&files::Validity::default()),
        };
        let files = files::Config {
            block: files::BlockSize::Fixed(BLOCK),
            dirty_limit: units::Bytes::new(DIRTY_LIMIT),
            ..files::Config::default()
        };
        let limits = ServerLimits {
            read: BLOCK,
            write: BLOCK,
            directory: BLOCK,
            ..ServerLimits::default()
        };
        let seed = u64::from(life) << 8 | mobile as u64;
        let host = Host::new(&mount, files, limits, rpc::Config::default(), seed);
        Self {
            host: host.expect("a valid configuration"),
            programs: Programs::new(mobile),
            reference: Reference::new(&format!("{directory}/")),
            port: FIRST_PORT + life,
            writing: BTreeMap::new(),
            was_faulty: false,
        }
    }

    /// Records a call that the host sends.
    fn sent(&mut self, message: &[u8]) {
        let Ok(call) = Call::parse(message) else {
            return;
        };
        let writes = [Procedure::Write, Procedure::Commit].map(rpc::message::Procedure::from);
        if writes.contains(&call.procedure)
            && let Ok(file) =
                FileHandle::read("file", &mut Reader::new(call.arguments), &Limits::USUAL)
        {
            self.writing.insert(call.xid, file);
        }
    }

    /// Records a reply that the host gets: openings must be told of a refused write.
    fn received(&mut self, server: &Server, message: &[u8]) {
        let Ok(reply) = Reply::parse(message) else {
            return;
        };
        let status = reply
            .outcome
            .map(|results| Reader::new(results).u32("status"));
        if let Some(file) = self.writing.remove(&reply.xid)
            && let Ok(Ok(status)) = status
            && ![0, Status::TryLater as u32].contains(&status)
        {
            self.reference.owe_handle(server, file);
        }
    }
}

/// The server of files and all mounts.
pub(crate) struct Mounts {
    pub(crate) server: Server,
    /// Mounts by the numbers of their mobile hosts.
    pub(crate) mounts: BTreeMap<usize, Mount>,
    lives: u16,
    is_faulty: bool,
    /// Time until which the server does not answer.
    silent_until: Instant,
}

impl Mounts {
    fn new(seed: u64) -> Self {
        let config = fileserver::Config {
            seed,
            ..fileserver::Config::default()
        };
        Self {
            server: Server::new(config).expect("a valid configuration"),
            mounts: BTreeMap::new(),
            lives: 0,
            is_faulty: false,
            silent_until: Instant::ZERO,
        }
    }

    /// Returns the time at which something must happen.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let mounts = self.mounts.values().map(|mount| mount.host.poll_timeout());
        mounts.fold(self.server.poll_timeout(), earlier)
    }

    fn fault(&mut self, now: Instant, fault: Fault) {
        self.server
            .handle_input(now, fileserver::Input::Fault(fault));
    }

    fn set_faulty(&mut self, is_faulty: bool) {
        self.is_faulty = is_faulty;
        for mount in self.mounts.values_mut() {
            mount.reference.set_faulty(is_faulty);
            mount.was_faulty |= is_faulty;
        }
    }

    /// Ends all faults of the server.
    pub(crate) fn calm(&mut self, now: Instant) {
        self.fault(now, Fault::Silent(false));
        self.fault(now, Fault::Chances(Faults::default()));
        self.fault(now, Fault::FalseAnswer(None));
        for fault in DiskFault::ALL {
            self.fault(now, fault.refusal(0));
        }
        self.silent_until = now;
        self.set_faulty(false);
    }
}

impl World {
    /// Performs a step that concerns files.
    pub(crate) fn use_files(&mut self, step: Step) {
        let now = self.now;
        let seed = self.setting.seed;
        let mounts = self
            .mounts
            .get_or_insert_with(|| Box::new(Mounts::new(seed)));
        match step {
            Step::Act { mobile, action } => self.program(mobile, action),
            Step::Interrupt { mobile } => {
                let mobile = self.number(mobile);
                self.with_programs(mobile, Programs::interrupt);
            }
            Step::Remount { mobile } => self.remount(mobile),
            Step::ServerCrash { downtime } => {
                mounts.server.handle_input(now, fileserver::Input::Restart);
                self.silence(downtime);
            }
            Step::ServerPause { time } => self.silence(time),
            Step::ServerRefuses { fault, calls } => {
                mounts.set_faulty(true);
                mounts.fault(now, fault.refusal(calls.into()));
            }
            Step::ServerStruggles { share, delay } => {
                let some = Probability::ratio(share.into(), 256);
                let faults = Faults {
                    repeated_requests: some,
                    lost_replies: some,
                    delayed_replies: some,
                    delay,
                    try_later: some,
                    short_transfers: some,
                    ..Faults::default()
                };
                mounts.fault(now, Fault::Chances(faults));
            }
            Step::ServerLies { kind } => {
                let lie = LIES[usize::from(kind) % LIES.len()];
                mounts.set_faulty(true);
                mounts.fault(now, Fault::FalseAnswer(Some(lie)));
            }
            Step::Replace { mobile, name } => self.replace(mobile, name),
            Step::ServerCalm => {
                mounts.calm(now);
            }
            _ => {}
        }
        self.settle();
    }

    fn program(&mut self, mobile: u8, action: Action) {
        let number = self.number(mobile);
        let Some(mounts) = &mut self.mounts else {
            return;
        };
        let Mounts {
            server,
            mounts,
            lives,
            is_faulty,
            ..
        } = &mut **mounts;
        let mount = mounts.entry(number).or_insert_with(|| {
            *lives += 1;
            let mut mount = Mount::new(server, number, *lives);
            mount.reference.set_faulty(*is_faulty);
            mount.was_faulty = *is_faulty;
            mount
        });
        if mount.programs.queued() < ACTIONS {
            mount.programs.act(action);
        }
        self.with_programs(number, Programs::go_on);
    }

    /// Kills a mount, and makes it again.
    fn remount(&mut self, mobile: u8) {
        let (now, number) = (self.now, self.number(mobile));
        let Some(mounts) = &mut self.mounts else {
            return;
        };
        let Mounts {
            server,
            mounts,
            lives,
            ..
        } = &mut **mounts;
        let Some(mount) = mounts.get_mut(&number) else {
            return;
        };
        *lives += 1;
        let new = Mount::new(server, number, *lives);
        let (host, reference) = (&mut mount.host, &mut mount.reference);
        let mut ground = Ground {
            now,
            host,
            reference,
            server,
        };
        mount.programs.kill(&mut ground);
        (mount.host, mount.port) = (new.host, new.port);
        mount.writing.clear();
    }

    /// Replaces a file at the server: the old handle is stale, and who has it must not change the new file.
    fn replace(&mut self, mobile: u8, name: u8) {
        let (now, number) = (self.now, self.number(mobile));
        let Some(mounts) = &mut self.mounts else {
            return;
        };
        let Mounts { server, mounts, .. } = &mut **mounts;
        let Some(mount) = mounts.get_mut(&number) else {
            return;
        };
        let path = mount
            .reference
            .replace(server, usize::from(name) % programs::NAMES);
        if let Some(handle) = path.and_then(|path| server.handle(&path)) {
            server.handle_input(now, fileserver::Input::Fault(Fault::Stale(handle)));
        }
    }

    /// Lets the server be silent for a time.
    fn silence(&mut self, time: Duration) {
        let now = self.now;
        if let Some(mounts) = &mut self.mounts {
            mounts.silent_until = mounts.silent_until.max(now + time);
            mounts.fault(now, Fault::Silent(true));
            self.schedule(time, Event::ServerAnswers);
        }
    }

    /// Lets the server answer again, if its last silence is over.
    pub(crate) fn server_answers(&mut self) {
        let now = self.now;
        if let Some(mounts) = &mut self.mounts
            && mounts.silent_until <= now
        {
            mounts.fault(now, Fault::Silent(false));
        }
    }

    /// Acts on the programs of a mobile host, and hands in the packets that follow.
    pub(crate) fn with_programs(
        &mut self,
        mobile: usize,
        act: impl FnOnce(&mut Programs, &mut Ground<'_>) -> Result<(), Broken>,
    ) {
        let now = self.now;
        let Some(mounts) = &mut self.mounts else {
            return;
        };
        let Mounts { server, mounts, .. } = &mut **mounts;
        let Some(mount) = mounts.get_mut(&mobile) else {
            return;
        };
        let (host, reference) = (&mut mount.host, &mut mount.reference);
        let mut ground = Ground {
            now,
            host,
            reference,
            server,
        };
        let result = act(&mut mount.programs, &mut ground);
        let from = (Identity::Mobile(mobile).inner(), mount.port);
        let mut packets = Vec::new();
        while let Some(output) = mount.host.poll_output() {
            if let Output::Send(message) = output {
                mount.sent(&message);
                packets.push(datagram(from, (FIXED, SERVER_PORT), &message));
            }
        }
        let logged = mount.host.logged.pop().filter(|_| !mount.was_faulty);
        let kept = mount.host.client.unsafe_bytes();
        for packet in packets {
            self.packet(0, mobile, packet);
        }
        match result {
            Err(Broken { promise, text }) => self.fail(promise, format!("mobile {mobile}: {text}")),
            Ok(()) => {
                if let Some(fault) = logged {
                    self.fail(
                        "S12",
                        format!(
                            "mobile {mobile}: an honest server is said to be at fault: {fault}"
                        ),
                    );
                }
                if kept > DIRTY_MOST {
                    self.fail(
                        "R10",
                        format!("mobile {mobile}: {kept} written bytes are kept"),
                    );
                }
            }
        }
    }

    /// Delivers a datagram to the server or to a mount. Returns false if it is for neither.
    pub(crate) fn file_message(&mut self, side: usize, process: usize, packet: &[u8]) -> bool {
        let Some((from, to, message)) = parse(packet) else {
            return false;
        };
        let now = self.now;
        let Some(mounts) = &mut self.mounts else {
            return false;
        };
        if side == 1 && to.1 == SERVER_PORT {
            let from = peer(from);
            mounts
                .server
                .handle_input(now, fileserver::Input::Received { from, message });
            self.drain_server();
            return true;
        }
        if side == 1 || from.1 != SERVER_PORT {
            return false;
        }
        let Identity::Mobile(mobile) = self.processes[process].identity else {
            return true;
        };
        if let Some(mount) = mounts.mounts.get_mut(&mobile)
            && mount.port == to.1
            && process < 1 + usize::from(self.setting.has_standby) + self.setting.mobiles
        {
            mount.received(&mounts.server, &message);
            mount.host.receive(now, files::Input::Received(message));
            self.with_programs(mobile, Programs::go_on);
        }
        true
    }

    /// Sends the replies of the server.
    fn drain_server(&mut self) {
        while let Some(mounts) = &mut self.mounts
            && let Some(fileserver::Output::Send { to, message }) = mounts.server.poll_output()
        {
            let to = address(to);
            let mobile = usize::from(to.0.octets()[3]).saturating_sub(2);
            self.packet(1, mobile, datagram((FIXED, SERVER_PORT), to, &message));
        }
    }

    /// Handles the deadlines of the server and the mounts that are due.
    pub(crate) fn act_on_mounts(&mut self) {
        let now = self.now;
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let Some(mounts) = &mut self.mounts else {
            return;
        };
        if !is_due(mounts.poll_timeout()) {
            return;
        }
        if is_due(mounts.server.poll_timeout()) {
            mounts.server.handle_timeout(now);
        }
        let hosts = mounts.mounts.iter_mut();
        let due = hosts.filter(|(_, mount)| is_due(mount.host.poll_timeout()));
        let due: Vec<_> = due
            .map(|(mobile, mount)| {
                mount.host.handle_timeout(now);
                *mobile
            })
            .collect();
        self.drain_server();
        for mobile in due {
            self.with_programs(mobile, Programs::go_on);
        }
        self.settle();
    }
}

type Place = (Ipv4Addr, u16);

fn peer((address, port): Place) -> Peer {
    Peer(u64::from(address.to_bits()) << 16 | u64::from(port))
}

fn address(Peer(number): Peer) -> Place {
    (Ipv4Addr::from_bits((number >> 16) as u32), number as u16)
}

/// Returns a UDP packet, marked as the daemon of a mount marks its calls.
fn datagram(from: Place, to: Place, message: &[u8]) -> Packet {
    let tos = if to.1 == SERVER_PORT {
        DSCP_BULK << 2
    } else {
        0
    };
    let mut bytes = vec![0x45, tos, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0];
    bytes[2..4].copy_from_slice(&((HEADERS + message.len()) as u16).to_be_bytes());
    bytes.extend(from.0.octets());
    bytes.extend(to.0.octets());
    for field in [from.1, to.1, (8 + message.len()) as u16, 0] {
        bytes.extend(field.to_be_bytes());
    }
    bytes.extend(message);
    Packet::new(PacketBuffer::copy_of(&bytes))
}

/// Returns the ends of a UDP packet and its payload.
fn parse(packet: &[u8]) -> Option<(Place, Place, Bytes)> {
    let address = |at: usize| Some(Ipv4Addr::from(*packet.get(at..)?.first_chunk::<4>()?));
    let port = |at: usize| Some(u16::from_be_bytes(*packet.get(at..)?.first_chunk::<2>()?));
    let message = Bytes::copy_from_slice(packet.get(HEADERS..)?);
    Some((
        (address(12)?, port(20)?),
        (address(16)?, port(22)?),
        message,
    ))
}
