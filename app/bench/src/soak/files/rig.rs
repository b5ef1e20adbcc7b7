//! A real server, a host with a mount of it, and the link between them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ::rig::{Air, Directories, Ganesha, Namespace, Process};

use crate::failure::Failure;
use crate::hop::{GATEWAY, Hop, INSIDE};
use crate::soak::tail;

/// The link, and the options of the mount.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'a> {
    /// An emulated link; a wire without loss if there is none.
    pub(super) link: Option<&'a str>,
    /// True if lasthop's daemons run at both ends of the link.
    pub(super) daemons: bool,
    /// Mount options, behind `-o`.
    pub(super) mount_options: &'a str,
    pub(super) seed: u64,
}

/// A server that runs, unless it was killed, its mount, and the link.
pub(super) struct Rig<'a> {
    hop: Hop,
    setting: Setting<'a>,
    server: Ganesha,
    _air: Option<Air>,
    _daemons: Vec<Process>,
}

impl<'a> Rig<'a> {
    /// Joins the hosts, starts a server, and mounts it.
    pub(super) fn new(
        folder: &Path,
        program: &Path,
        setting: Setting<'a>,
    ) -> Result<Self, Failure> {
        let hop = Hop::new(folder, program)?;
        let air = setting.link.map(|link| hop.air(link, setting.seed));
        let air = air.transpose()?;
        if air.is_none() {
            hop.wire()?;
        }
        let mut daemons = Vec::new();
        if setting.daemons {
            daemons = hop.start_daemons(&hop.daemons())?;
        }
        let address = if setting.daemons { INSIDE } else { GATEWAY };
        let server = Ganesha::start(&hop.gateway, address, folder, Directories::Read)?;
        hop.reach(&server)?;
        let rig = Self {
            hop,
            setting,
            server,
            _air: air,
            _daemons: daemons,
        };
        rig.mount()?;
        Ok(rig)
    }

    /// Returns the path of a file in the mount.
    pub(super) fn mounted(&self, name: &str) -> PathBuf {
        self.hop.path("mnt").join(name)
    }

    /// Returns the path of the same file at the server.
    pub(super) fn exported(&self, name: &str) -> PathBuf {
        self.hop.path("export").join(name)
    }

    /// Returns the path of a local file.
    pub(super) fn local(&self, name: &str) -> PathBuf {
        self.hop.path(name)
    }

    fn mount(&self) -> Result<(), Failure> {
        let point = self.mounted("");
        fs::create_dir_all(&point).map_err(::rig::Failure::file("make", &point))?;
        let signals = if self.setting.daemons {
            format!("signals={}", self.hop.signals().display())
        } else {
            "nosignals".into()
        };
        let log = self.local("mount.log").display().to_string();
        let options = format!("log={log},{signals},{}", self.setting.mount_options);
        let mut command = self.lasthop("mount");
        command
            .args(["-o", &options, &self.server.url("")])
            .arg(point);
        self.hop.run(&self.hop.mobile, command).map(drop)
    }

    /// Unmounts, which waits until all is safe.
    pub(super) fn unmount(&self) -> Result<(), Failure> {
        let mut command = self.lasthop("unmount");
        command.arg(self.mounted(""));
        self.hop.run(&self.hop.mobile, command).map(drop)
    }

    fn lasthop(&self, what: &str) -> Command {
        let mut command = Command::new(&self.hop.program);
        command.arg(what);
        command
    }

    /// Returns the client's host.
    pub(super) fn client(&self) -> Namespace {
        self.hop.mobile.clone()
    }

    /// Returns a copy of a local file to the server, for the client's host.
    pub(super) fn copy(&self, local: &Path, name: &str) -> Command {
        let mut command = self.lasthop("nfs");
        if self.setting.daemons {
            command.arg("--signals").arg(self.hop.signals());
        } else {
            command.arg("--no-signals");
        }
        command.arg("cp").arg(local).arg(self.server.url(name));
        command
    }

    /// Ends the server at once (SIGKILL).
    pub(super) fn kill(&mut self) {
        self.server.kill();
    }

    /// Starts it again.
    pub(super) fn start(&mut self) -> Result<(), Failure> {
        self.start_with(Directories::Read)
    }

    /// Replaces the server by another one, which remembers directories or not.
    pub(super) fn replace(&mut self, directories: Directories) -> Result<(), Failure> {
        self.kill();
        self.start_with(directories)
    }

    fn start_with(&mut self, directories: Directories) -> Result<(), Failure> {
        self.server.revive(directories)?;
        self.hop.reach(&self.server)
    }

    /// Ends the mount by force, so that all operations that wait for it fail; returns the logs.
    pub(super) fn give_up(&self) -> String {
        let mut command = Command::new("umount");
        command.args(["--force", "--lazy"]).arg(self.mounted(""));
        match self.hop.shell.run(command) {
            Ok(_) => self.logs(),
            Err(failure) => format!("{}\n  the mount stays: {failure}", self.logs()),
        }
    }

    /// Returns the logs of the mount and the server, for the analysis of a fault.
    pub(super) fn logs(&self) -> String {
        let [mount, server] = ["mount.log", "ganesha.log"].map(|name| tail(&self.local(name)));
        format!("{mount}\n{server}")
    }
}
