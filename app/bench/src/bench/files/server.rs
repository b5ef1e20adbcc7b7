//! nfs-ganesha with a port mapper of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::hosts::{Hosts, Running};
use crate::bench::peers;
use xtask::shell::Failure;

/// Where NFS and MOUNT are served.
pub(crate) const NFS_PORT: u16 = 20_490;
const MOUNT_PORT: u16 = 20_480;

/// How long one may take to be gone.
const ENDING: Duration = Duration::from_secs(10);

/// Where Debian has ganesha's file systems, by its name of the architecture.
const LIBRARIES: &str = "/usr/lib";

/// ganesha cannot do without a port mapper, whose socket is a file: both get a `/run` of their own. They are alone in
/// a namespace of processes, so that none outlives the first.
const START: &str = "mount -t tmpfs tmpfs /run && mkdir -p /run/ganesha /run/rpcbind && { rpcbind -f & } && sleep 0.5 \
    && exec ganesha.nfsd -F -f ganesha.conf -L ganesha.log -p ganesha.pid";

/// Whether a server remembers what it has listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Directories {
    /// It does, as is usual. Where the last entry of a directory that it remembers is removed, ganesha 4.3 asks its
    /// file system to go on from there. A tmpfs (Linux 6.18) then begins again with entries that were told before, and
    /// READDIR goes round in a circle until the cache is dropped, if ganesha ever answers.
    Remembered,
    /// It asks its file system each time. The times of directories that get a link are stale then.
    Read,
}

/// A server that runs until this is dropped.
pub(crate) struct Server {
    address: String,
    /// Where it is called.
    port: u16,
    export: PathBuf,
    running: Running,
}

impl Server {
    /// Serves the folder `export` of the hosts. It may not answer yet.
    pub(crate) fn start(hosts: &Hosts, address: &str) -> Result<Self, Failure> {
        Self::start_with(hosts, address, Directories::Remembered)
    }

    /// The same, and says whether it remembers directories.
    pub(crate) fn start_with(
        hosts: &Hosts,
        address: &str,
        directories: Directories,
    ) -> Result<Self, Failure> {
        let export = hosts.path("export");
        fs::create_dir_all(&export)
            .map_err(|error| Failure::Found(format!("no folder to export: {error}")))?;
        peers::write(
            &hosts.path("ganesha.conf"),
            &configuration(&export, &plugins()?, directories),
        )?;
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--kill-child", "sh", "-c", START]);
        let running = hosts.start(&hosts.server, &command)?;
        Ok(Self {
            address: address.into(),
            port: NFS_PORT,
            export,
            running,
        })
    }

    /// The same, called at another port, where something stands before it.
    pub(crate) fn behind(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// The address of a file in its export.
    pub(crate) fn url(&self, name: &str) -> String {
        let (address, port, export) = (&self.address, self.port, self.export.display());
        format!("nfs://{address}{export}/{name}?nfsport={port}&mountport={MOUNT_PORT}")
    }

    /// Waits until it answers the client.
    pub(crate) fn wait(&self, hosts: &Hosts, program: &Path) -> Result<(), Failure> {
        let mut command = Command::new(program);
        command.args([
            "nfs",
            "--no-signals",
            "--connect-time",
            "1 s",
            "stat",
            &self.url(""),
        ]);
        hosts.wait("the server answers", || {
            hosts.run(&hosts.client, &command).is_ok()
        })
    }

    /// Ends it at once (SIGKILL), and waits until it is gone.
    pub(crate) fn stop(&mut self) {
        let process = self.process();
        self.running.stop();
        let deadline = Instant::now() + ENDING;
        while process.as_ref().is_some_and(|process| process.exists()) && Instant::now() < deadline
        {
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Resident bytes of the server, if it lives.
    pub(crate) fn memory(&self) -> Option<u64> {
        let text = fs::read_to_string(self.process()?.join("status")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kib << 10)
    }

    /// What the system tells of ganesha itself.
    fn process(&self) -> Option<PathBuf> {
        let parent = self.running.id();
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
        let child = children.split_whitespace().next()?;
        Some(Path::new("/proc").join(child))
    }
}

impl Drop for Server {
    /// The next server needs its ports, and to give back a gigabyte takes a while.
    fn drop(&mut self) {
        self.stop();
    }
}

/// The folder with ganesha's file systems.
fn plugins() -> Result<PathBuf, Failure> {
    let listed = fs::read_dir(LIBRARIES).map_err(|source| Failure::Read {
        path: LIBRARIES.into(),
        source,
    })?;
    let mut folders = listed.flatten().map(|entry| entry.path().join("ganesha"));
    folders.find(|folder| folder.is_dir()).ok_or_else(|| {
        Failure::Found(format!(
            "no ganesha below {LIBRARIES}; apt-get install nfs-ganesha-vfs"
        ))
    })
}

fn configuration(export: &Path, plugins: &Path, directories: Directories) -> String {
    let (export, plugins) = (export.display(), plugins.display());
    let cache = match directories {
        Directories::Remembered => "",
        Directories::Read => "MDCACHE {\n  Dir_Chunk = 0;\n}\n",
    };
    format!(
        "NFS_CORE_PARAM {{\n  Protocols = 3;\n  NFS_Port = {NFS_PORT};\n  MNT_Port = {MOUNT_PORT};\n  \
         Enable_NLM = false;\n  Enable_RQUOTA = false;\n  Enable_UDP = true;\n  Plugins_Dir = {plugins};\n}}\n\
         NFSV4 {{\n  Graceless = true;\n  RecoveryRoot = {export}/../recovery;\n}}\n\
         EXPORT {{\n  Export_Id = 1;\n  Path = {export};\n  Pseudo = /export;\n  Access_Type = RW;\n  \
         Squash = No_Root_Squash;\n  SecType = sys;\n  Protocols = 3;\n  Transports = UDP, TCP;\n  \
         MaxRead = 32768;\n  MaxWrite = 32768;\n  PrefRead = 32768;\n  PrefWrite = 32768;\n  \
         FSAL {{\n    Name = VFS;\n  }}\n}}\n{cache}LOG {{\n  Default_Log_Level = EVENT;\n}}\n"
    )
}
