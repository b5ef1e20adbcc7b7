//! A real server, a host with a mount of it, and what lies between them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::files::daemons::{self, Daemons};
use crate::bench::files::hosts::Hosts;
use crate::bench::files::lan as wire;
use crate::bench::files::link::{self, Link};
use crate::bench::files::server::{Directories, Server};
use xtask::shell::Failure;

/// What lies between, and how the mount is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'a> {
    /// The program under test.
    pub(super) program: &'a Path,
    /// An emulated link; a wire without loss if there is none.
    pub(super) link: Option<&'a str>,
    /// Whether the link's two ends run lasthop's daemons.
    pub(super) daemons: bool,
    /// What stands behind `-o`.
    pub(super) mount_options: &'a str,
    pub(super) seed: u64,
}

/// The parts that stay while servers come and go.
pub(super) struct Way<'a> {
    address: &'static str,
    signals: Option<PathBuf>,
    _link: Option<Link>,
    _daemons: Option<Daemons<'a>>,
}

impl<'a> Way<'a> {
    /// Joins the hosts.
    pub(super) fn new(hosts: &'a Hosts, setting: Setting<'a>) -> Result<Self, Failure> {
        let Some(link) = setting.link else {
            hosts.wire(wire::SERVER, wire::CLIENT)?;
            return Ok(Self {
                address: wire::SERVER,
                signals: None,
                _link: None,
                _daemons: None,
            });
        };
        let link = Link::over(hosts, setting.program, (link, setting.seed))?;
        let daemons = setting
            .daemons
            .then(|| Daemons::start(hosts, setting.program))
            .transpose()?;
        Ok(Self {
            address: if daemons.is_some() {
                daemons::SERVER
            } else {
                link::SERVER
            },
            signals: daemons.as_ref().map(Daemons::signals),
            _link: Some(link),
            _daemons: daemons,
        })
    }
}

/// A server that runs, unless it was killed, and its mount.
pub(super) struct Rig<'a> {
    hosts: &'a Hosts,
    setting: Setting<'a>,
    way: &'a Way<'a>,
    server: Server,
}

impl<'a> Rig<'a> {
    /// Starts a server, and mounts it.
    pub(super) fn new(
        hosts: &'a Hosts,
        way: &'a Way<'a>,
        setting: Setting<'a>,
    ) -> Result<Self, Failure> {
        let server = start(hosts, way, (setting, Directories::Read))?;
        let rig = Self {
            hosts,
            setting,
            way,
            server,
        };
        rig.mount()?;
        Ok(rig)
    }

    /// A file of the mount.
    pub(super) fn mounted(&self, name: &str) -> PathBuf {
        self.hosts.path("mnt").join(name)
    }

    /// The same file, as the server has it.
    pub(super) fn exported(&self, name: &str) -> PathBuf {
        self.hosts.path("export").join(name)
    }

    /// A file of neither.
    pub(super) fn local(&self, name: &str) -> PathBuf {
        self.hosts.path(name)
    }

    fn mount(&self) -> Result<(), Failure> {
        let point = self.mounted("");
        fs::create_dir_all(&point).map_err(|error| Failure::Found(error.to_string()))?;
        let signals = match &self.way.signals {
            Some(signals) => format!("signals={}", signals.display()),
            None => "nosignals".into(),
        };
        let log = self.local("mount.log").display().to_string();
        let options = format!("log={log},{signals},{}", self.setting.mount_options);
        let mut command = self.on_client("mount");
        command
            .args(["-o", &options, &self.server.url("")])
            .arg(point);
        self.hosts.shell.run(command).map(drop)
    }

    /// Unmounts, which waits until all is safe.
    pub(super) fn unmount(&self) -> Result<(), Failure> {
        let mut command = self.on_client("unmount");
        command.arg(self.mounted(""));
        self.hosts.shell.run(command).map(drop)
    }

    /// A command of lasthop in the client's network, with mounts that we see.
    fn on_client(&self, what: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.hosts.client));
        command.arg(self.setting.program).arg(what);
        command
    }

    /// A copy of a local file to the server.
    pub(super) fn copy(&self, local: &Path, name: &str) -> Command {
        let mut command = self.on_client("nfs");
        match &self.way.signals {
            Some(signals) => command.arg("--signals").arg(signals),
            None => command.arg("--no-signals"),
        };
        command.arg("cp").arg(local).arg(self.server.url(name));
        command
    }

    /// Ends the server at once (SIGKILL).
    pub(super) fn kill(&mut self) {
        self.server.stop();
    }

    /// Starts it again.
    pub(super) fn start(&mut self) -> Result<(), Failure> {
        self.start_with(Directories::Read)
    }

    /// Has another one in the place of the server, which remembers directories or not.
    pub(super) fn replace(&mut self, directories: Directories) -> Result<(), Failure> {
        self.kill();
        self.start_with(directories)
    }

    fn start_with(&mut self, directories: Directories) -> Result<(), Failure> {
        self.server = start(self.hosts, self.way, (self.setting, directories))?;
        Ok(())
    }

    /// Gives the mount up by force, so that whoever waits for it fails, and tells what is known.
    pub(super) fn give_up(&self) -> String {
        let mut command = Command::new("umount");
        command.args(["--force", "--lazy"]).arg(self.mounted(""));
        match self.hosts.shell.run(command) {
            Ok(_) => self.logs(),
            Err(failure) => format!("{}\n  the mount stays: {failure}", self.logs()),
        }
    }

    /// What the mount and the server have said, for whoever looks for a fault.
    pub(super) fn logs(&self) -> String {
        let end = |name: &str| {
            let text = fs::read_to_string(self.local(name)).unwrap_or_default();
            let lines: Vec<_> = text.lines().rev().take(12).collect();
            let lines: Vec<_> = lines.into_iter().rev().collect();
            format!("  {name}:\n    {}", lines.join("\n    "))
        };
        format!("{}\n{}", end("mount.log"), end("ganesha.log"))
    }
}

fn start(
    hosts: &Hosts,
    way: &Way<'_>,
    (setting, directories): (Setting<'_>, Directories),
) -> Result<Server, Failure> {
    let server = Server::start_with(hosts, way.address, directories)?;
    server.wait(hosts, setting.program)?;
    Ok(server)
}
