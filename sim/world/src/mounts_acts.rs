//! The effect of steps that concern files, and what crosses between mounts and their server.

use std::net::Ipv4Addr;

use bytes::Bytes;
use fileserver::{FalseAnswer, Fault, Faults, Peer};
use machine::Machine;
use programs::{Action, Broken, Ground, Output, Programs};
use units::{Duration, Instant, Probability};
use wire::flow::DSCP_BULK;
use wire::packet::{Packet, PacketBuffer};

use crate::Step;
use crate::flow::FIXED;
use crate::mounts::{Files, Mount};
use crate::process::Identity;
use crate::world::{Event, World};

/// UDP port of the server.
const SERVER_PORT: u16 = 2_049;
/// Bytes of IP and UDP headers.
const HEADERS: usize = 28;
/// Most written bytes that a client keeps.
const DIRTY_MOST: u64 = 3 * crate::mounts::DIRTY_LIMIT;
/// Most actions of a mobile host's programs that have not begun.
const ACTIONS: usize = 32;

impl World {
    /// Performs a step that concerns files.
    pub(crate) fn use_files(&mut self, step: Step) {
        let now = self.now;
        let seed = self.setting.seed;
        let files = self.files.get_or_insert_with(|| Box::new(Files::new(seed)));
        match step {
            Step::Act { mobile, action } => self.program(mobile, action),
            Step::Interrupt { mobile } => {
                let mobile = self.number(mobile);
                self.with_programs(mobile, Programs::interrupt);
            }
            Step::Remount { mobile } => self.remount(mobile),
            Step::ServerCrash { downtime } => {
                files.server.handle_input(now, fileserver::Input::Restart);
                self.silence(downtime);
            }
            Step::ServerPause { time } => self.silence(time),
            Step::ServerRefuses { fault, calls } => {
                files.set_faulty(true);
                files.fault(now, fault.refusal(calls.into()));
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
                files.fault(now, Fault::Chances(faults));
            }
            Step::ServerLies { kind } => {
                let lie = FalseAnswer::ALL[usize::from(kind) % FalseAnswer::ALL.len()];
                files.set_faulty(true);
                files.fault(now, Fault::FalseAnswer(Some(lie)));
            }
            Step::Replace { mobile, name } => self.replace(mobile, name),
            Step::ServerCalm => files.calm(now),
            _ => {}
        }
        self.settle();
    }

    fn program(&mut self, mobile: u8, action: Action) {
        let number = self.number(mobile);
        let Some(files) = &mut self.files else {
            return;
        };
        if !files.mounts.contains_key(&number) {
            let mount = files.make(number);
            files.mounts.insert(number, mount);
        }
        let mount = files.mounts.get_mut(&number).expect("it was made");
        if mount.programs.queued() < ACTIONS {
            mount.programs.act(action);
        }
        self.with_programs(number, Programs::go_on);
    }

    /// Kills a mount, and makes it again.
    fn remount(&mut self, mobile: u8) {
        let (now, number) = (self.now, self.number(mobile));
        let Some(files) = &mut self.files else {
            return;
        };
        if !files.mounts.contains_key(&number) {
            return;
        }
        let new = files.make(number);
        let Files {
            server,
            mounts,
            is_faulty,
            ..
        } = &mut **files;
        let mount = mounts.get_mut(&number).expect("it is there");
        let (host, reference) = (&mut mount.host, &mut mount.reference);
        let mut ground = Ground {
            now,
            host,
            reference,
            server,
        };
        mount.programs.kill(&mut ground);
        mount.replace(new, *is_faulty);
    }

    /// Replaces a file at the server: the old handle is stale, and who has it must not change the new file.
    fn replace(&mut self, mobile: u8, name: u8) {
        let (now, number) = (self.now, self.number(mobile));
        let Some(files) = &mut self.files else {
            return;
        };
        let Files { server, mounts, .. } = &mut **files;
        let Some(mount) = mounts.get_mut(&number) else {
            return;
        };
        let name = usize::from(name) % programs::NAMES;
        if mount.programs.may_reach(&mount.reference, name) {
            return;
        }
        let path = mount.reference.replace(server, name);
        if let Some(handle) = path.and_then(|path| server.handle(&path)) {
            server.handle_input(now, fileserver::Input::Fault(Fault::Stale(handle)));
        }
    }

    /// Lets the server be silent for a time.
    fn silence(&mut self, time: Duration) {
        let now = self.now;
        if let Some(files) = &mut self.files {
            files.silent_until = files.silent_until.max(now + time);
            files.fault(now, Fault::Silent(true));
            self.schedule(time, Event::ServerAnswers);
        }
    }

    /// Lets the server answer again, if its last silence is over.
    pub(crate) fn server_answers(&mut self) {
        let now = self.now;
        if let Some(files) = &mut self.files
            && files.silent_until <= now
        {
            files.fault(now, Fault::Silent(false));
        }
    }

    /// Acts on the programs of a mobile host, and hands in the packets that follow.
    pub(crate) fn with_programs(
        &mut self,
        mobile: usize,
        act: impl FnOnce(&mut Programs, &mut Ground<'_>) -> Result<(), Broken>,
    ) {
        let now = self.now;
        let Some(files) = &mut self.files else {
            return;
        };
        let Files { server, mounts, .. } = &mut **files;
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
        if let Err(Broken { promise, text }) = result {
            self.fail(promise, format!("mobile {mobile}: {text}"));
        }
        if let Some(fault) = logged {
            let text = format!("mobile {mobile}: an honest server is said to be at fault: {fault}");
            self.fail("S12", text);
        }
        if kept > DIRTY_MOST {
            let text = format!("mobile {mobile}: {kept} written bytes are kept");
            self.fail("R10", text);
        }
    }

    /// Delivers a datagram to the server or to a mount. Returns false if it is for neither.
    pub(crate) fn file_message(&mut self, side: usize, process: usize, packet: &[u8]) -> bool {
        let Some((from, to, message)) = parse(packet) else {
            return false;
        };
        let now = self.now;
        let Some(files) = &mut self.files else {
            return false;
        };
        if side == 1 && to.1 == SERVER_PORT {
            let from = peer(from);
            files
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
        if let Some(mount) = files.mounts.get_mut(&mobile)
            && mount.port == to.1
            && process < 1 + usize::from(self.setting.has_standby) + self.setting.mobiles
        {
            mount.received(&files.server, &message);
            mount
                .host
                .receive(now, files::Input::Received(message.clone()));
            self.with_programs(mobile, Programs::go_on);
            if let Some(mount) = self.mount(mobile) {
                mount.handled(&message);
            }
        }
        true
    }

    fn mount(&mut self, mobile: usize) -> Option<&mut Mount> {
        self.files.as_mut()?.mounts.get_mut(&mobile)
    }

    /// Sends the replies of the server.
    fn drain_server(&mut self) {
        while let Some(files) = &mut self.files
            && let Some(fileserver::Output::Send { to, message }) = files.server.poll_output()
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
        let Some(files) = &mut self.files else {
            return;
        };
        if !is_due(files.poll_timeout()) {
            return;
        }
        if is_due(files.server.poll_timeout()) {
            files.server.handle_timeout(now);
        }
        let hosts = files.mounts.iter_mut();
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
