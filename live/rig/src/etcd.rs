//! etcd of several members, with TLS and authentication. Needs the Debian packages etcd-server and etcd-client.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use edges::namespace::Namespace;

use crate::Failure;
use crate::needs;
use crate::process::{Process, run, wait};

/// Ports of the first member for clients and for members; those of the others follow.
const CLIENTS: u16 = 23_790;
const MEMBERS: u16 = 23_800;
/// Time that a member may take until it answers.
const PATIENCE: Duration = Duration::from_mins(1);
/// Names of files.
const CERTIFICATE: &str = "etcd.pem";
const KEY: &str = "etcd.key";
const PASSWORD: &str = "etcd.password";

/// A cluster, whose members run on one host; they are killed when this is dropped.
#[derive(Debug)]
pub struct Etcd {
    host: Namespace,
    address: String,
    folder: PathBuf,
    /// The members; `None` for one that is dead.
    members: Vec<Option<Process>>,
    /// Password of the user `root`, once there are users.
    root: Option<&'static str>,
}

/// A user who may read and write what begins with a prefix.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    /// Name of the user.
    pub user: &'static str,
    /// Password of the user.
    pub password: &'static str,
    /// Begin of the keys.
    pub prefix: &'static str,
}

impl Etcd {
    /// Returns what this machine lacks for it, for a person.
    pub fn missing() -> Option<String> {
        ["etcd", "etcdctl"].into_iter().find_map(needs::no_program)
    }

    /// Starts `count` members on a host at `address`, with their files in `folder`. Its users are `root`, and the one
    /// of this account.
    pub fn start(
        host: &Namespace,
        address: &str,
        folder: &Path,
        count: usize,
        account: &Account,
    ) -> Result<Self, Failure> {
        let Account {
            user,
            password,
            prefix,
        } = account;
        certify(folder, address)?;
        let mut cluster = Self {
            host: host.clone(),
            address: address.into(),
            folder: folder.into(),
            members: (0..count).map(|_| None).collect(),
            root: None,
        };
        for member in 0..count {
            cluster.revive(member)?;
        }
        let mut answer = cluster.control(&["endpoint", "health"]);
        wait("etcd answers", PATIENCE, || {
            answer = cluster.control(&["endpoint", "health"]);
            answer.is_ok()
        })?;
        for command in [
            &["user", "add", "root:secret"][..],
            &["user", "grant-role", "root", "root"],
            &["role", "add", user],
            &[
                "role",
                "grant-permission",
                user,
                "--prefix=true",
                "readwrite",
                prefix,
            ],
            &["user", "add", &format!("{user}:{password}")],
            &["user", "grant-role", user, user],
            &["auth", "enable"],
        ] {
            cluster.control(command)?;
        }
        cluster.root = Some("root:secret");
        Ok(cluster)
    }

    /// Starts a member, which may have run before.
    pub fn revive(&mut self, member: usize) -> Result<(), Failure> {
        let count = self.members.len();
        let name = |member: usize| format!("member{member}");
        let peer = |member: usize| format!("http://127.0.0.1:{}", MEMBERS + member as u16);
        let all: Vec<_> = (0..count)
            .map(|member| format!("{}={}", name(member), peer(member)))
            .collect();
        let mut command = Command::new("etcd");
        command
            .args(["--name", &name(member), "--data-dir", &name(member)])
            .args(["--listen-client-urls", &self.endpoint(member)])
            .args(["--advertise-client-urls", &self.endpoint(member)])
            .args(["--listen-peer-urls", &peer(member)])
            .args(["--initial-advertise-peer-urls", &peer(member)])
            .args(["--initial-cluster", &all.join(",")])
            .args(["--cert-file", CERTIFICATE, "--key-file", KEY])
            .current_dir(&self.folder);
        let process = Process::start(command, &name(member), &self.folder, Some(&self.host))?;
        self.members[member] = Some(process);
        Ok(())
    }

    /// Kills a member (SIGKILL).
    pub fn kill(&mut self, member: usize) {
        self.members[member] = None;
    }

    /// Returns the address of a member for clients.
    pub fn endpoint(&self, member: usize) -> String {
        format!("https://{}:{}", self.address, CLIENTS + member as u16)
    }

    /// Returns the addresses of all members.
    pub fn endpoints(&self) -> Vec<String> {
        (0..self.members.len())
            .map(|member| self.endpoint(member))
            .collect()
    }

    /// Has the gateway with this configuration keep its list here, by this account, from its next start on; the files
    /// that this needs come beside it.
    pub fn register(&self, configuration: &Path, account: &Account) -> Result<(), Failure> {
        let folder = configuration.parent().unwrap_or(Path::new("."));
        let (certificate, secret) = (folder.join(CERTIFICATE), folder.join(PASSWORD));
        let Account {
            user,
            password,
            prefix,
        } = account;
        let text = fs::read_to_string(configuration);
        let text = text.map_err(Failure::file("read", configuration))?;
        let former = text.split("[registry]").next().unwrap_or_default();
        let endpoints = self.endpoints();
        let section = format!(
            "[registry]\nendpoints = {endpoints:?}\nprefix = {prefix:?}\nuser = {user:?}\n\
             password_file = {PASSWORD:?}\nca_file = {CERTIFICATE:?}\n"
        );
        fs::write(configuration, format!("{former}{section}"))
            .map_err(Failure::file("write", configuration))?;
        fs::copy(self.folder.join(CERTIFICATE), &certificate)
            .map_err(Failure::file("write", &certificate))?;
        fs::write(&secret, format!("{password}\n")).map_err(Failure::file("write", &secret))?;
        fs::set_permissions(&secret, PermissionsExt::from_mode(0o600))
            .map_err(Failure::file("change", &secret))
    }

    /// Runs `etcdctl` as the user `root`; returns what it prints.
    pub fn control(&self, arguments: &[&str]) -> Result<String, Failure> {
        let mut command = Command::new("etcdctl");
        command
            .env("ETCDCTL_API", "3")
            .args(["--endpoints", &self.endpoints().join(",")])
            .args(["--cacert", CERTIFICATE])
            .args(["--dial-timeout", "20s", "--command-timeout", "20s"])
            .args(self.root.iter().flat_map(|root| ["--user", root]))
            .args(arguments)
            .current_dir(&self.folder);
        run(&mut command, Some(&self.host))
    }
}

/// Makes a key and a certificate for a host at `address`.
fn certify(folder: &Path, address: &str) -> Result<(), Failure> {
    let made = rcgen::generate_simple_self_signed([address.to_owned()]);
    let made = made.map_err(|error| Failure::Found(format!("no certificate: {error}")))?;
    for (name, text) in [
        (CERTIFICATE, made.cert.pem()),
        (KEY, made.signing_key.serialize_pem()),
    ] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(Failure::file("write", &path))?;
    }
    Ok(())
}
