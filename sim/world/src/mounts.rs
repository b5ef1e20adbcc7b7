//! A server of files at the fixed host, the mounts of the mobile hosts, and the programs on them.

use std::collections::{BTreeMap, BTreeSet};

use files::ServerLimits;
use fileserver::{Fault, Faults, Server};
use machine::{Machine, earlier};
use mount::Memory;
use nfs::{FileHandle, Limits, Procedure, Status, Value};
use programs::{Host, Programs, Reference};
use rpc::message::{Call, Reply};
use rpc::xdr::Reader;
use units::Instant;

/// First UDP port of the mobile hosts; each new mount has another one.
const FIRST_PORT: u16 = 10_000;
/// Bytes of a READ or WRITE, so that no datagram is longer than a packet.
const BLOCK: u32 = 1_024;
/// Limit of the written data that a client keeps.
pub(crate) const DIRTY_LIMIT: u64 = 65_536;

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

    pub(crate) fn refusal(self, calls: u32) -> Fault {
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

/// The mount of a mobile host, and its programs.
pub(crate) struct Mount {
    pub(crate) host: Host,
    pub(crate) programs: Programs,
    pub(crate) reference: Reference,
    pub(crate) port: u16,
    /// Calls without a reply, by their transaction numbers: each WRITE and COMMIT with its file.
    unanswered: BTreeMap<u32, Option<FileHandle>>,
    /// Those of them that were sent before the server's last fault ended. Their answers may still show it, also to a
    /// request that began later and waits for the same block.
    from_fault: BTreeSet<u32>,
    /// True if the server had a fault since the mount was made.
    pub(crate) was_faulty: bool,
}

impl Mount {
    pub(crate) fn new(server: &mut Server, mobile: usize, life: u16) -> Self {
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
            unanswered: BTreeMap::new(),
            from_fault: BTreeSet::new(),
            was_faulty: false,
        }
    }

    /// Records a call that the host sends.
    pub(crate) fn sent(&mut self, message: &[u8]) {
        let Ok(call) = Call::parse(message) else {
            return;
        };
        let writes = [Procedure::Write, Procedure::Commit].map(rpc::message::Procedure::from);
        let file = writes.contains(&call.procedure).then(|| {
            FileHandle::read("file", &mut Reader::new(call.arguments), &Limits::USUAL).ok()
        });
        self.unanswered.insert(call.xid, file.flatten());
    }

    /// Records a reply that the host gets: openings must be told of a refused write.
    pub(crate) fn received(&mut self, server: &Server, message: &[u8]) {
        let Ok(reply) = Reply::parse(message) else {
            return;
        };
        let status = reply
            .outcome
            .map(|results| Reader::new(results).u32("status"));
        if let Some(Some(file)) = self.unanswered.remove(&reply.xid)
            && let Ok(Ok(status)) = status
            && ![0, Status::TryLater as u32].contains(&status)
        {
            self.reference.owe_handle(server, file);
        }
    }

    /// Records that the host has handled a reply. The server's fault is over for it with the last one that was called
    /// for before its end.
    pub(crate) fn handled(&mut self, message: &[u8]) {
        if let Ok(reply) = Reply::parse(message)
            && self.from_fault.remove(&reply.xid)
            && self.from_fault.is_empty()
        {
            self.reference.set_faulty(false);
        }
    }

    /// Records that the server has a fault from now on, or none.
    fn set_faulty(&mut self, is_faulty: bool) {
        self.was_faulty |= is_faulty;
        self.from_fault.clear();
        if !is_faulty && self.reference.is_faulty() {
            self.from_fault.extend(self.unanswered.keys());
        }
        if is_faulty || self.from_fault.is_empty() {
            self.reference.set_faulty(is_faulty);
        }
    }

    /// Records that no request waits for a call from before the end of the server's last fault.
    pub(crate) fn has_answers(&mut self) {
        if !std::mem::take(&mut self.from_fault).is_empty() {
            self.reference.set_faulty(false);
        }
    }

    /// Replaces the host by a new one with its own port; the calls of the old one get no replies.
    pub(crate) fn replace(&mut self, new: Self, is_faulty: bool) {
        (self.host, self.port) = (new.host, new.port);
        self.unanswered.clear();
        self.set_faulty(is_faulty);
    }
}

/// The server of files and all mounts.
pub(crate) struct Files {
    pub(crate) server: Server,
    /// Mounts by the numbers of their mobile hosts.
    pub(crate) mounts: BTreeMap<usize, Mount>,
    lives: u16,
    pub(crate) is_faulty: bool,
    /// Time until which the server does not answer.
    pub(crate) silent_until: Instant,
}

impl Files {
    pub(crate) fn new(seed: u64) -> Self {
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

    /// Returns the next life of a mobile host's mount.
    pub(crate) fn make(&mut self, mobile: usize) -> Mount {
        self.lives += 1;
        let mut mount = Mount::new(&mut self.server, mobile, self.lives);
        mount.set_faulty(self.is_faulty);
        mount
    }

    /// Returns the time at which something must happen.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let mounts = self.mounts.values().map(|mount| mount.host.poll_timeout());
        mounts.fold(self.server.poll_timeout(), earlier)
    }

    pub(crate) fn fault(&mut self, now: Instant, fault: Fault) {
        self.server
            .handle_input(now, fileserver::Input::Fault(fault));
    }

    pub(crate) fn set_faulty(&mut self, is_faulty: bool) {
        self.is_faulty = is_faulty;
        for mount in self.mounts.values_mut() {
            mount.set_faulty(is_faulty);
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
