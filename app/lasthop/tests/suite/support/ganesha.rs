//! A real server: nfs-ganesha with a port mapper of its own, in a network namespace. Needs root, and the Debian
//! packages nfs-ganesha-vfs and rpcbind.

use std::fs;
use std::net::UdpSocket;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use edges::namespace::Namespace;
use edges::process::end_with_parent;
use tempfile::TempDir;

use super::turn::Turn;

/// Where NFS and MOUNT are served.
const NFS_PORT: u16 = 20_490;
const MOUNT_PORT: u16 = 20_480;
/// Where Debian has ganesha's file systems, by its name of the architecture.
const LIBRARIES: &str = "/usr/lib";
const PROGRAMS: [&str; 3] = ["ganesha.nfsd", "rpcbind", "unshare"];
const FOLDERS: [&str; 4] = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"];
/// So long a test waits for what must come; it decides nothing but how long a failure takes.
const LONG: Duration = Duration::from_mins(1);

/// The port mapper's socket is a file, so both get a `/run` of their own.
const START: &str = "mount -t tmpfs tmpfs /run && mkdir -p /run/ganesha /run/rpcbind && { rpcbind -f & } && \
    sleep 0.3 && exec ganesha.nfsd -F -f ganesha.conf -L ganesha.log -p ganesha.pid";

/// What this machine lacks for a server.
pub(crate) fn missing() -> Option<String> {
    let is_there = |program: &&&str| {
        let mut folders = FOLDERS.iter();
        !folders.any(|folder| Path::new(folder).join(program).is_file())
    };
    if let Some(program) = PROGRAMS.iter().find(is_there) {
        return Some(format!("the program '{program}' is missing"));
    }
    if plugins().is_none() {
        return Some("the package nfs-ganesha-vfs is missing".into());
    }
    Namespace::create().err().map(|error| error.to_string())
}

/// The folder with ganesha's file systems.
fn plugins() -> Option<PathBuf> {
    let listed = fs::read_dir(LIBRARIES).ok()?;
    let mut folders = listed.flatten().map(|entry| entry.path().join("ganesha"));
    folders.find(|folder| folder.join("libfsalvfs.so").is_file())
}

/// A server that runs until it is dropped.
pub(crate) struct Ganesha {
    folder: TempDir,
    namespace: Namespace,
    address: &'static str,
    running: Option<Child>,
    _turn: Turn,
}

impl Ganesha {
    /// A server in `namespace`, with an address of it to be called at.
    pub(crate) fn start(namespace: &Namespace, address: &'static str) -> Self {
        let turn = Turn::take();
        let folder = tempfile::tempdir().unwrap();
        for name in ["export", "recovery"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let text = configuration(folder.path(), &plugins().unwrap());
        fs::write(folder.path().join("ganesha.conf"), text).unwrap();
        let mut server = Self {
            folder,
            namespace: namespace.clone(),
            address,
            running: None,
            _turn: turn,
        };
        server.run();
        server
    }

    /// Starts the server, and waits until it listens.
    pub(crate) fn run(&mut self) {
        let mut command = Command::new("unshare");
        // Alone among their processes, none outlives the first.
        command
            .args([
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "sh",
                "-c",
                START,
            ])
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        end_with_parent(&mut command);
        self.running = Some(self.namespace.spawn(command).unwrap());
        let begun = Instant::now();
        while !self.is_listening() {
            let log = fs::read_to_string(self.folder.path().join("ganesha.log"));
            assert!(begun.elapsed() < LONG, "ganesha does not begin: {log:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Whether somebody has the port already.
    fn is_listening(&self) -> bool {
        let bind = || {
            let free = UdpSocket::bind((self.address, NFS_PORT)).is_ok();
            free && UdpSocket::bind((self.address, MOUNT_PORT)).is_ok()
        };
        !self.namespace.run(bind).unwrap()
    }

    /// Ends it at once, in whatever it does (SIGKILL).
    pub(crate) fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.kill().unwrap();
            running.wait().unwrap();
        }
    }

    /// The folder that it exports.
    pub(crate) fn export(&self) -> PathBuf {
        self.folder.path().join("export")
    }

    /// The address of a file in its export.
    pub(crate) fn url(&self, name: &str) -> String {
        let (address, export) = (self.address, self.export());
        format!(
            "nfs://{address}:{NFS_PORT}{}/{name}?mountport={MOUNT_PORT}",
            export.display()
        )
    }
}

impl Drop for Ganesha {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Without a cache of directories, since with it a folder in a tmpfs may be listed in a circle: ganesha 4.3 goes on
/// behind an entry that was removed, where Linux 6.18 begins again.
fn configuration(folder: &Path, plugins: &Path) -> String {
    let (folder, plugins) = (folder.display(), plugins.display());
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
        MDCACHE {{ Dir_Chunk = 0; }}
        LOG {{ Default_Log_Level = EVENT; }}
        "
    )
}
