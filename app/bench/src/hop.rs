//! A gateway and a mobile host, the link that joins them, and the daemons at both ends.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rig::daemons::Daemons;
use rig::{Air, End, Ganesha, Link, Namespace, Process};
use xtask::shell::Shell;

use crate::failure::Failure;

/// The interfaces of the hop, and their addresses.
pub(crate) const DEVICE: &str = "air0";
pub(crate) const GATEWAY: &str = "10.77.0.1";
pub(crate) const MOBILE: &str = "10.77.0.2";
/// Address of the gateway inside the tunnel.
pub(crate) const INSIDE: &str = "10.79.0.1";
/// Address at which the gateway listens.
pub(crate) const ENDPOINT: &str = "10.77.0.1:51830";
/// Addresses that no host has.
pub(crate) const NOWHERE: &str = "192.0.2.0/24";
/// Time limit for anything to appear.
const PATIENCE: Duration = Duration::from_secs(30);

/// Both hosts, and the folder of their files. The gateway is also a file server, and the mobile host its client.
pub(crate) struct Hop {
    pub(crate) gateway: Namespace,
    pub(crate) mobile: Namespace,
    /// Its working folder is that of the hosts.
    pub(crate) shell: Shell,
    /// Path of lasthop.
    pub(crate) program: PathBuf,
}

impl Hop {
    /// Creates two hosts without a link.
    pub(crate) fn new(folder: &Path, program: &Path) -> Result<Self, Failure> {
        let [gateway, mobile] = rig::hosts()?;
        Ok(Self {
            gateway,
            mobile,
            shell: Shell::quiet(folder),
            program: program.into(),
        })
    }

    /// Joins them by a virtual cable.
    pub(crate) fn wire(&self) -> Result<(), Failure> {
        let [gateway, mobile] = [GATEWAY, MOBILE].map(|address| format!("{address}/24"));
        let ends = [
            End::new(&self.gateway, DEVICE, &gateway),
            End::new(&self.mobile, DEVICE, &mobile),
        ];
        Ok(rig::join(ends)?)
    }

    /// Joins them by an emulated link, which has a name or a file.
    pub(crate) fn air(&self, link: &str, seed: u64) -> Result<Air, Failure> {
        self.air_to(&self.mobile, link, seed)
    }

    /// Joins the gateway and another host by an emulated link.
    pub(crate) fn air_to(&self, far: &Namespace, link: &str, seed: u64) -> Result<Air, Failure> {
        let [left, right] = [GATEWAY, MOBILE].map(|address| format!("{address}/24"));
        let ends = [
            End::new(&self.gateway, DEVICE, &left),
            End::new(far, DEVICE, &right),
        ];
        Ok(Air::between(self.link(link, seed), ends)?)
    }

    /// Returns the link in the form that the rig takes.
    pub(crate) fn link<'a>(&'a self, link: &'a str, seed: u64) -> Link<'a> {
        Link {
            program: &self.program,
            folder: &self.shell.root,
            link,
            seed,
        }
    }

    /// Returns daemons without knowledge of the air; the networks that the mobile host reaches through them do not
    /// exist.
    pub(crate) fn daemons(&self) -> Daemons<'_> {
        Daemons {
            endpoint: Some(ENDPOINT),
            listen: Some(ENDPOINT),
            route: Some(NOWHERE),
            ..Daemons::new(&self.program, &self.shell.root)
        }
    }

    /// Configures the daemons and starts both, the gateway's first.
    pub(crate) fn start_daemons(&self, daemons: &Daemons<'_>) -> Result<Vec<Process>, Failure> {
        daemons.configure()?;
        Ok(daemons.start_all([&self.gateway, &self.mobile])?)
    }

    /// Returns the path of the socket on which the mobile host's daemon reports fades.
    pub(crate) fn signals(&self) -> PathBuf {
        self.path("mobile/mobile.signals")
    }

    /// Returns the path of a file of these hosts.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.shell.root.join(name)
    }

    /// Runs a program on a host to its end; returns its output.
    pub(crate) fn run(&self, host: &Namespace, command: Command) -> Result<String, Failure> {
        run(&self.shell, host, command)
    }

    /// Starts a program on a host; its standard error goes to `NAME.log`.
    pub(crate) fn start(
        &self,
        host: &Namespace,
        name: &str,
        mut command: Command,
    ) -> Result<Process, Failure> {
        command.current_dir(&self.shell.root);
        Ok(Process::start(command, name, &self.shell.root, Some(host))?)
    }

    /// Waits until `done` returns true.
    pub(crate) fn wait(&self, what: &str, done: impl FnMut() -> bool) -> Result<(), Failure> {
        let folder = self.shell.root.display();
        Ok(rig::wait(&format!("{what} ({folder})"), PATIENCE, done)?)
    }

    /// Waits until a server answers the mobile host.
    pub(crate) fn reach(&self, server: &Ganesha) -> Result<(), Failure> {
        self.wait("the server answers", || {
            let mut command = Command::new(&self.program);
            command.args(["nfs", "--no-signals", "--connect-time", "1 s", "stat"]);
            command.arg(server.url(""));
            self.run(&self.mobile, command).is_ok()
        })
    }

    /// Returns true if the mobile host's connections are diverted to its daemon.
    pub(crate) fn diverts(&self) -> bool {
        let mut command = Command::new("nft");
        command.args(["list", "tables"]);
        let tables = self.run(&self.mobile, command);
        tables.is_ok_and(|tables| tables.contains("lasthop_mobile_split"))
    }
}

/// Runs a program on a host, in the shell's folder, to its end; returns its output.
pub(crate) fn run(
    shell: &Shell,
    host: &Namespace,
    mut command: Command,
) -> Result<String, Failure> {
    command.current_dir(&shell.root);
    let there = host.run(|| shell.run(command));
    Ok(there.map_err(rig::Failure::from)??)
}
