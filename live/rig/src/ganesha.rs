//! nfs-ganesha, an unmodified server of files, with a port mapper of its own. Needs root, and the Debian packages
//! nfs-ganesha-vfs and rpcbind.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use edges::namespace::Namespace;
use units::Bytes;

use crate::Failure;
use crate::needs;
use crate::process::{Process, memory, wait};

const NFS_PORT: u16 = 20_490;
const MOUNT_PORT: u16 = 20_480;
/// Time that a server may take to listen, and to give its memory back at its end.
const PATIENCE: Duration = Duration::from_mins(1);
/// Folder of ganesha's file systems in Debian, by its name of the architecture.
const LIBRARIES: &str = "/usr/lib";
/// The port mapper's socket is a file: both servers get a `/run` of their own.
const START: &str = "mount -t tmpfs tmpfs /run && mkdir -p /run/ganesha /run/rpcbind && { rpcbind -f & } && \
    until test -S /run/rpcbind.sock; do sleep 0.02; done && \
    exec ganesha.nfsd -F -f ganesha.conf -L ganesha.log -p ganesha.pid";

/// Caching of listed directories by a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directories {
    /// It remembers them, as is usual. Where the last entry of a directory that it remembers is removed, ganesha 4.3
    /// asks its file system to go on from there. A tmpfs (Linux 6.18) then begins again with entries that were listed
    /// before, and READDIR goes round in a circle until the cache is dropped, if ganesha ever answers.
    Remembered,
    /// It asks its file system each time. The times of directories that get a link are stale then.
    Read,
}

/// A server; it is killed when this is dropped.
#[derive(Debug)]
pub struct Ganesha {
    host: Namespace,
    address: String,
    port: u16,
    folder: PathBuf,
    /// The server's process; `None` while it is dead.
    process: Option<Process>,
}

impl Ganesha {
    /// Port at which it answers calls of NFS.
    pub const PORT: u16 = NFS_PORT;

    /// Returns what this machine lacks for a server, for a person.
    pub fn missing() -> Option<String> {
        let mut programs = ["ganesha.nfsd", "rpcbind", "unshare"].into_iter();
        let missing = programs.find_map(needs::no_program);
        missing.or_else(|| Some(plugins().err()?.to_string()))
    }

    /// Starts a server on `host`, which clients reach at `address`. It exports `export` in `folder`, where its own
    /// files are too.
    pub fn start(
        host: &Namespace,
        address: &str,
        folder: &Path,
        directories: Directories,
    ) -> Result<Self, Failure> {
        let mut server = Self {
            host: host.clone(),
            address: address.into(),
            port: NFS_PORT,
            folder: folder.into(),
            process: None,
        };
        for path in [server.export(), folder.join("recovery")] {
            fs::create_dir_all(&path).map_err(Failure::file("make", &path))?;
        }
        server.revive(directories)?;
        Ok(server)
    }

    /// Starts it again after it was killed, and waits until it listens.
    pub fn revive(&mut self, directories: Directories) -> Result<(), Failure> {
        let file = self.folder.join("ganesha.conf");
        let text = configuration(&self.folder, &plugins()?, directories);
        fs::write(&file, text).map_err(Failure::file("write", &file))?;
        let mut command = Command::new("unshare");
        // They have a PID namespace of their own, so none outlives the first.
        command.args([
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            START,
        ]);
        command.current_dir(&self.folder);
        let process = Process::start(command, "server", &self.folder, Some(&self.host))?;
        let process = self.process.insert(process);
        let mut ended = Ok(());
        wait("the server listens", PATIENCE, || {
            ended = process.check();
            ended.is_err() || ports_taken(&self.host) == 2
        })?;
        ended
    }

    /// Kills it in whatever it does (SIGKILL), and waits until it is gone.
    pub fn kill(&mut self) {
        if self.process.take().is_some() {
            // If this one stays, the next server reports that the port is in use.
            let _ = wait("the server is gone", PATIENCE, || {
                ports_taken(&self.host) == 0
            });
        }
    }

    /// Makes [`Self::url`] lead to another port, where something stands before the server.
    pub fn behind(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Returns the folder that it exports.
    pub fn export(&self) -> PathBuf {
        self.folder.join("export")
    }

    /// Returns the address of a file in its export.
    pub fn url(&self, name: &str) -> String {
        let (address, port, export) = (&self.address, self.port, self.export());
        let export = export.display();
        format!("nfs://{address}{export}/{name}?nfsport={port}&mountport={MOUNT_PORT}")
    }

    /// Returns the memory that it has resident, if it lives.
    pub fn memory(&self) -> Option<Bytes> {
        let parent = self.process.as_ref()?.id();
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
        let child = children.split_whitespace().next()?;
        memory(&Path::new("/proc").join(child), "VmRSS")
    }
}

impl Drop for Ganesha {
    /// The next server needs its ports, and to give back a gigabyte takes a while.
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the number of the server's ports that somebody has.
fn ports_taken(host: &Namespace) -> usize {
    let is_taken = |port: &u16| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, *port)).is_err();
    let count = || {
        [NFS_PORT, MOUNT_PORT]
            .iter()
            .filter(|port| is_taken(port))
            .count()
    };
    host.run(count).unwrap_or_default()
}

/// Returns the folder with ganesha's file systems.
fn plugins() -> Result<PathBuf, Failure> {
    let libraries = Path::new(LIBRARIES);
    let listed = fs::read_dir(libraries).map_err(Failure::file("read", libraries))?;
    let mut folders = listed.flatten().map(|entry| entry.path().join("ganesha"));
    let found = folders.find(|folder| folder.join("libfsalvfs.so").is_file());
    let missing = || format!("no ganesha below {LIBRARIES}; apt-get install nfs-ganesha-vfs");
    found.ok_or_else(|| Failure::Found(missing()))
}

fn configuration(folder: &Path, plugins: &Path, directories: Directories) -> String {
    let (folder, plugins) = (folder.display(), plugins.display());
    let cache = match directories {
        Directories::Remembered => "",
        Directories::Read => "MDCACHE { Dir_Chunk = 0; }",
    };
    format!(
        "NFS_CORE_PARAM {{
            Protocols = 3;
            NFS_Port = {NFS_PORT};
            MNT_Port = {MOUNT_PORT};
            Enable_NLM = false;
            Enable_RQUOTA = false;
            Enable_UDP = true;
            Plugins_Dir = {plugins};
        }}
        NFSV4 {{ Graceless = true; RecoveryRoot = {folder}/recovery; }}
        EXPORT {{
            Export_Id = 1;
            Path = {folder}/export;
            Pseudo = /export;
            Access_Type = RW;
            Squash = No_Root_Squash;
            SecType = sys;
            Protocols = 3;
            Transports = UDP, TCP;
            MaxRead = 32768;
            MaxWrite = 32768;
            PrefRead = 32768;
            PrefWrite = 32768;
            FSAL {{ Name = VFS; }}
        }}
        {cache}
        LOG {{ Default_Log_Level = EVENT; }}
        "
    )
}
