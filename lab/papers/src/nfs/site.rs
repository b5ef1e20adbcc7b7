//! The server and its clients, independent of the network between them.

use std::net::{Ipv4Addr, SocketAddrV4};

use experiment::RunError;
use files::{Client, ServerLimits};
use fileserver::Server;
use machine::RandomStream;
use nfs::FileHandle;
use units::{Duration, Instant};

use super::addresses::{MOBILES, SERVER, WIRED};
use super::client::{ClientHost, Parts};
use super::copy::{Copy, Plan, Way, content};
use super::fades::Fades;
use super::internet::Internet;
use super::parameters::{CopyPlan, Hosts, Policy, ServerPlan, Timeouts};
use super::processor::{Processor, ProcessorConfig};
use super::server::ServerHost;
use crate::failed;
use crate::link_repair::LinkRepair;

/// Ports of the server and of a client.
const NFS: u16 = 2_049;
const CLIENT: u16 = 1_023;

/// Returns the name of a client's host and of its file.
pub(crate) fn name(number: u64) -> String {
    format!("client-{number}")
}

/// The hosts and their tasks.
#[derive(Debug)]
pub(crate) struct Site<'a> {
    pub(crate) copy: &'a CopyPlan,
    pub(crate) client: &'a files::Config,
    pub(crate) timeouts: &'a Timeouts,
    pub(crate) server: &'a ServerPlan,
    pub(crate) hosts: &'a Hosts,
    /// Seed of all randomness.
    pub(crate) seed: u64,
}

/// The layers below a client's IP, and its retransmission policy.
#[derive(Debug)]
pub(crate) struct Equipment {
    pub(super) policy: Policy,
    pub(super) repair: Option<arq::Config>,
    pub(super) fades: Fades,
    pub(super) processor: ProcessorConfig,
    /// True if the client gets the events of the link repair.
    pub(super) tells: bool,
}

impl Equipment {
    /// Creates a host for which packets cost nothing, without fades or repair.
    pub(crate) fn plain(policy: Policy) -> Self {
        Self {
            policy,
            repair: None,
            fades: Fades::new(None, false, false),
            processor: ProcessorConfig::fast(),
            tells: false,
        }
    }
}

impl Site<'_> {
    /// Returns the address of a client: mobile hosts first, then those on the wire.
    pub(crate) fn address(&self, number: u64) -> Ipv4Addr {
        let ([a, b, c], host) = match number.checked_sub(self.hosts.mobile) {
            None => (MOBILES, number),
            // The server has the first address of these.
            Some(wired) => (WIRED, 1 + wired),
        };
        Ipv4Addr::new(a, b, c, host as u8 + 1)
    }

    /// Returns UDP and IP of a host.
    fn internet(&self, host: SocketAddrV4) -> Internet {
        Internet::new(host, self.hosts.mtu.get() as usize, self.hosts.reassembly)
    }

    /// Returns the server's host, and the directory that it exports.
    pub(crate) fn server(&self) -> Result<(ServerHost, FileHandle), RunError> {
        let mut server = Server::new(self.server.config(self.seed)).map_err(failed)?;
        if self.copy.way == Way::Read {
            let content = content(0, self.copy.file.get());
            for number in 0..self.hosts.mobile + self.hosts.wired {
                server.add_file(&name(number), &content).map_err(failed)?;
            }
        }
        let root = server.root();
        let silence = self.server.silence.map(|silence| {
            let from = Instant::ZERO + silence.from;
            [from, from + silence.lasts]
        });
        let internet = self.internet(SocketAddrV4::new(SERVER, NFS));
        Ok((ServerHost::new(server, internet, silence), root))
    }

    /// Returns the host of a client with the server's directory as its root.
    pub(crate) fn client(
        &self,
        number: u64,
        root: FileHandle,
        equipment: Equipment,
    ) -> Result<ClientHost, RunError> {
        let local = SocketAddrV4::new(self.address(number), CLIENT);
        let plan = Plan {
            way: self.copy.way,
            length: self.copy.file.get(),
            piece: self.copy.piece.get() as u32,
            directory: root,
            name: name(number),
        };
        let chance = |what: &str| RandomStream::named(self.seed, &format!("nfs/{number}/{what}"));
        let config = self.timeouts.rpc(equipment.policy);
        let rpc = rpc::Client::new(config, chance("calls").next_u64());
        let client = Client::new(
            self.client.clone(),
            ServerLimits::default(),
            rpc.map_err(failed)?,
            chance("files").next_u64(),
        );
        let parts = Parts {
            copy: Copy::new(plan, &name(number)),
            client: client.map_err(failed)?,
            internet: self.internet(local),
            repair: equipment.repair.map(LinkRepair::new),
            fades: equipment.fades,
            processor: Processor::new(equipment.processor, chance("processor")),
        };
        let server = SocketAddrV4::new(SERVER, NFS);
        let start = match number {
            0 => Duration::ZERO,
            _ => chance("start").uniform(Duration::ZERO, self.hosts.within),
        };
        let host = ClientHost::new(parts, [local, server], equipment.tells);
        Ok(host.starting_at(Instant::ZERO + start))
    }

    /// Checks that the server has all of every client's file.
    pub(crate) fn check(&self, server: &ServerHost) -> Result<(), RunError> {
        let content = content(0, self.copy.file.get());
        for number in 0..self.hosts.mobile + self.hosts.wired {
            if !server.holds(&name(number), &content) {
                let what = format!("the server's file {} is not its source", name(number));
                return Err(RunError::Failed(what));
            }
        }
        Ok(())
    }
}
