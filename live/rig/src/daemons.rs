//! lasthop's daemons: their keys, their configurations, and their status.
//!
//! Files of a daemon have its host's name: the gateway is `gateway`; the mobile host is `mobile`, or `mobile1`,
//! `mobile2` and so on if there are several.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use edges::namespace::Namespace;
use serde_json::Value;

use crate::Failure;
use crate::process::{Process, run, wait};

/// Time that daemons may take to connect.
const PATIENCE: Duration = Duration::from_mins(1);

/// A gateway and its mobile hosts.
#[derive(Debug, Clone, Copy)]
pub struct Daemons<'a> {
    /// Path of the program `lasthop`.
    pub program: &'a Path,
    /// Folder of all files.
    pub folder: &'a Path,
    /// Number of mobile hosts.
    pub mobiles: usize,
    /// Address at which mobile hosts reach the gateway, if they do not search for it.
    pub endpoint: Option<&'a str>,
    /// Address at which the gateway listens, if not at all of its addresses.
    pub listen: Option<&'a str>,
    /// The first three bytes of the addresses inside the tunnel; those of the hosts end with 1, 2 and so on.
    pub inside: &'a str,
    /// Networks that mobile hosts reach through the gateway, such as `10.0.0.0/8`, if not all.
    pub route: Option<&'a str>,
    /// Whole sections of the gateway's configuration.
    pub gateway: &'a str,
    /// More lines of the gateway's sections on its mobile hosts.
    pub peer: &'a str,
    /// Whole sections of the mobile hosts' configurations.
    pub mobile: &'a str,
}

impl<'a> Daemons<'a> {
    /// Returns a gateway and one mobile host that looks for it, configured with what they need.
    pub const fn new(program: &'a Path, folder: &'a Path) -> Self {
        Self {
            program,
            folder,
            mobiles: 1,
            endpoint: None,
            listen: None,
            inside: "10.79.0",
            route: None,
            gateway: "",
            peer: "",
            mobile: "",
        }
    }

    /// Returns the name of a host; 0 is the gateway.
    pub fn name(&self, host: usize) -> String {
        match host {
            0 => "gateway".into(),
            _ if self.mobiles == 1 => "mobile".into(),
            _ => format!("mobile{host}"),
        }
    }

    /// Creates the keys and writes the configurations.
    pub fn configure(&self) -> Result<(), Failure> {
        let key = |host| make_key(self.program, self.folder, &self.name(host));
        let keys: Vec<_> = (0..=self.mobiles).map(key).collect::<Result<_, _>>()?;
        let listen = line("listen = \"{}\"", self.listen);
        let endpoint = line("endpoint = \"{}\"", self.endpoint);
        let route = line("routes = [\"{}\"]", self.route);
        // Without these, nothing needs `nft`, which a demo may not have.
        let open = "nat = false\nisolate = false\n";
        let mut gateway = format!("{}{open}{listen}{}", self.common(0), self.tun(0));
        for (host, key) in keys.iter().enumerate().skip(1) {
            let (name, address) = (self.name(host), self.address(host));
            // Writing to a string cannot fail.
            let _ = write!(
                gateway,
                "[[peers]]\nname = \"{name}\"\npublic_key = \"{key}\"\naddresses = [\"{address}\"]\n{}",
                self.peer
            );
            let text = format!(
                "{}{route}[gateway]\n{endpoint}public_key = \"{}\"\n{}{}",
                self.common(host),
                keys[0],
                self.tun(host),
                self.mobile
            );
            write_file(&self.folder.join(format!("{name}.toml")), &text)?;
        }
        gateway += self.gateway;
        write_file(&self.folder.join("gateway.toml"), &gateway)
    }

    fn common(&self, host: usize) -> String {
        let name = self.name(host);
        format!("private_key_file = \"{name}.key\"\nstate_dir = \"{name}\"\ndns = \"none\"\n")
    }

    fn tun(&self, host: usize) -> String {
        format!("[tun]\naddresses = [\"{}/24\"]\n", self.address(host))
    }

    /// Returns the address of a host inside the tunnel.
    pub fn address(&self, host: usize) -> String {
        format!("{}.{}", self.inside, host + 1)
    }

    /// Starts the daemon of a host.
    pub fn start(&self, host: usize, namespace: &Namespace) -> Result<Process, Failure> {
        let (name, role) = (self.name(host), role(host));
        let mut command = Command::new(self.program);
        command.args([role, "--config", &format!("{name}.toml")]);
        command.current_dir(self.folder);
        Process::start(command, &name, self.folder, Some(namespace))
    }

    /// Starts all daemons; the gateway's host comes first.
    pub fn start_all<'h>(
        &self,
        hosts: impl IntoIterator<Item = &'h Namespace>,
    ) -> Result<Vec<Process>, Failure> {
        let hosts = hosts.into_iter().enumerate();
        hosts.map(|(host, at)| self.start(host, at)).collect()
    }

    /// Returns the status of a host's daemon; null if it does not answer.
    pub fn status(&self, host: usize) -> Value {
        let state = self.folder.join(self.name(host));
        status(self.program, role(host), &state).unwrap_or_default()
    }

    /// Waits until the gateway has keys with all mobile hosts.
    pub fn wait_until_connected(&self) -> Result<(), Failure> {
        wait("all hosts are connected", PATIENCE, || {
            let status = self.status(0);
            let peers = status["host"]["peers"].as_array();
            peers.is_some_and(|peers| {
                peers.len() == self.mobiles && peers.iter().all(|peer| !peer["keys_age"].is_null())
            })
        })
    }
}

/// Returns a line with the value in the place of `{}`, if there is one.
fn line(pattern: &str, value: Option<&str>) -> String {
    value.map_or_else(String::new, |value| pattern.replace("{}", value) + "\n")
}

fn role(host: usize) -> &'static str {
    if host == 0 { "gateway" } else { "mobile" }
}

/// Returns the output of `lasthop status --json` for the daemon with this name and state folder, if the daemon answers.
pub fn status(program: &Path, name: &str, state: &Path) -> Option<Value> {
    let mut command = Command::new(program);
    command.args(["status", "--json", "--name", name, "--state-dir"]);
    // The exit code says if it is connected, too.
    let output = command.arg(state).output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

/// Creates the private key `NAME.key`, in place of an existing one; returns the public key.
pub fn make_key(program: &Path, folder: &Path, name: &str) -> Result<String, Failure> {
    let file = format!("{name}.key");
    let mut command = Command::new(program);
    let text = run(
        command
            .args(["keygen", "--force", &file])
            .current_dir(folder),
        None,
    )?;
    let public = text.split_whitespace().last().unwrap_or_default();
    Ok(public.to_owned())
}

/// Writes a file.
fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(Failure::file("write", path))
}
