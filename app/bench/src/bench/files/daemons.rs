//! lasthop's two daemons on the hosts, told nothing of the air.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::copy::Way;
use super::hosts::{Hosts, Running};
use super::link;
use crate::bench::peers;
use xtask::shell::{Failure, Shell};

/// The server's host inside the tunnel.
pub(crate) const SERVER: &str = "10.79.0.1";
const PORT: u16 = 51_830;

/// What the daemons are told beside what they need.
#[derive(Debug, Clone)]
pub(crate) struct Wishes<'a> {
    /// Ends the gateway's file, in the part on its mobile host.
    pub(crate) gateway: &'a str,
    /// Ends the mobile host's file.
    pub(crate) mobile: &'a str,
    /// What the mobile host reaches through its gateway.
    pub(crate) route: &'a str,
}

/// What the benches of files need.
const USUAL: Wishes<'static> = Wishes {
    gateway: "",
    mobile: "",
    route: "10.99.0.0/24",
};

/// The daemons, until this is dropped.
pub(crate) struct Daemons<'a> {
    hosts: &'a Hosts,
    program: &'a Path,
    /// The gateway and the mobile host.
    running: [Running; 2],
}

impl<'a> Daemons<'a> {
    /// Starts them, with keys of their own.
    pub(crate) fn start(hosts: &'a Hosts, program: &'a Path) -> Result<Self, Failure> {
        Self::start_with(hosts, program, &USUAL)
    }

    /// The same, told more.
    pub(crate) fn start_with(
        hosts: &'a Hosts,
        program: &'a Path,
        wishes: &Wishes<'_>,
    ) -> Result<Self, Failure> {
        let Wishes {
            gateway: more_gateway,
            mobile: more_mobile,
            route,
        } = wishes;
        let key = |name: &str| new_key(&hosts.shell, program, name);
        let (gateway, mobile) = (key("gateway.key")?, key("mobile.key")?);
        let address = link::SERVER;
        let write = |name: &str, text: String| peers::write(&hosts.path(name), &text);
        write(
            "gateway.toml",
            format!(
                "private_key_file = \"gateway.key\"\nlisten = \"{address}:{PORT}\"\nnat = false\n\
                 state_dir = \"gateway\"\n[tun]\naddresses = [\"{SERVER}/24\"]\n\
                 [[peers]]\nname = \"mobile\"\npublic_key = \"{mobile}\"\naddresses = [\"10.79.0.2\"]\n{more_gateway}"
            ),
        )?;
        write(
            "mobile.toml",
            format!(
                "private_key_file = \"mobile.key\"\nstate_dir = \"mobile\"\nroutes = [\"{route}\"]\n\
                 [gateway]\nendpoint = \"{address}:{PORT}\"\npublic_key = \"{gateway}\"\n\
                 [tun]\naddresses = [\"10.79.0.2/24\"]\n{more_mobile}"
            ),
        )?;
        let start = |role: &str, host| {
            let mut command = Command::new(program);
            command.args([role, "--config", &format!("{role}.toml")]);
            hosts.start(host, &command)
        };
        let running = [
            start("gateway", &hosts.server)?,
            start("mobile", &hosts.client)?,
        ];
        Ok(Self {
            hosts,
            program,
            running,
        })
    }

    /// Where the mobile host's daemon tells of fades.
    pub(crate) fn signals(&self) -> PathBuf {
        self.hosts.path("mobile/mobile.signals")
    }

    /// The process on the mobile host.
    pub(crate) fn mobile_id(&self) -> u32 {
        self.running[1].id()
    }

    /// What the daemon of a role, `gateway` or `mobile`, tells of itself; nothing as long as it does not answer.
    pub(crate) fn status(&self, role: &str) -> Option<Value> {
        status(&self.hosts.shell, self.program, (role, role))
    }

    /// What the end that sends a file took for bulk, of all that it has carried.
    pub(crate) fn held_share(&self, way: Way) -> Option<f64> {
        let role = match way {
            Way::Read => "gateway",
            Way::Write => "mobile",
        };
        let status = self.status(role)?;
        let sent = &status["host"]["peers"][0]["hop"]["stats"]["sent"];
        let (held, brief) = (sent["bytes_held"].as_f64()?, sent["bytes_brief"].as_f64()?);
        Some(held / (held + brief))
    }
}

/// Makes a private key in that file of the shell's folder, in place of one that is there; gives the public key.
pub(crate) fn new_key(shell: &Shell, program: &Path, file: &str) -> Result<String, Failure> {
    // There is one where daemons came and went before.
    let _ = fs::remove_file(shell.root.join(file));
    let mut command = Command::new(program);
    command.current_dir(&shell.root).args(["keygen", file]);
    let text = shell.run(command)?;
    let public = text.split_whitespace().last().unwrap_or_default();
    Ok(public.to_owned())
}

/// What a daemon tells of itself that has this name and this folder of its state in the shell's; nothing as long as it
/// does not answer.
pub(crate) fn status(shell: &Shell, program: &Path, (name, state): (&str, &str)) -> Option<Value> {
    let mut command = Command::new(program);
    command.args(["status", "--json", "--name", name, "--state-dir"]);
    command.arg(shell.root.join(state));
    let text = shell.run(command).ok()?;
    serde_json::from_str(&text).ok()
}
