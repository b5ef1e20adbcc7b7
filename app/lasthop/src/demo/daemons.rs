//! lasthop's two daemons, told nothing about the air.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use edges::namespace::Namespace;
use session::PrivateKey;

use super::error::DemoError;
use super::network::GATEWAY_ON_AIR;
use super::plan::Machinery;
use super::process::Process;
use crate::config::split::Tcp;
use crate::{entropy, key_file};

/// Where the gateway listens on the air.
const PORT: u16 = 51_830;

/// Starts gateway and mobile host with keys of their own; TCP between them goes by `tcp`, with that congestion control
/// where the gateway is a sender itself.
pub(crate) fn start(
    machinery: &Machinery,
    [gateway, mobile]: [&Namespace; 2],
    (tcp, sender): (Tcp, &str),
) -> Result<Vec<Process>, DemoError> {
    let folder = &machinery.folder;
    let keys = Keys::make(folder)?;
    let write = |name: &str, text: String| {
        fs::write(folder.join(name), text).map_err(DemoError::failed("write a configuration"))
    };
    write("gateway.toml", keys.gateway_config(tcp, sender))?;
    write("mobile.toml", keys.mobile_config())?;
    let start = |name: &str, host: &Namespace| {
        let mut command = Command::new(&machinery.program);
        command
            .args([name, "--config"])
            .arg(folder.join(format!("{name}.toml")))
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        Process::start(command, name, folder, Some(host))
    };
    Ok(vec![start("gateway", gateway)?, start("mobile", mobile)?])
}

/// The public halves of the keys in the folder.
struct Keys {
    gateway: String,
    mobile: String,
}

impl Keys {
    fn make(folder: &Path) -> Result<Self, DemoError> {
        let make = |name: &str| {
            let key = PrivateKey::generate(&mut entropy::fill);
            key_file::write(&folder.join(name), &key.to_text(), true)
                .map_err(|failure| DemoError::Child(failure.to_string()))?;
            Ok::<_, DemoError>(key.public_key().to_string())
        };
        Ok(Self {
            gateway: make("gateway.key")?,
            mobile: make("mobile.key")?,
        })
    }

    fn gateway_config(&self, tcp: Tcp, sender: &str) -> String {
        let (mobile, tcp) = (&self.mobile, tcp.name());
        format!(
            "listen = \"{GATEWAY_ON_AIR}:{PORT}\"\nprivate_key_file = \"gateway.key\"\nnat = \
            false\nstate_dir = \"gateway\"\n\
             [tun]\naddresses = [\"10.79.0.1/24\"]\n\
             [[peers]]\nname = \"mobile\"\npublic_key = \"{mobile}\"\naddresses = [\"10.79.0.2\"]\n\
             tcp = \"{tcp}\"\n[split]\ncongestion_control = \"{sender}\"\n"
        )
    }

    fn mobile_config(&self) -> String {
        let gateway = &self.gateway;
        format!(
            "private_key_file = \"mobile.key\"\nstate_dir = \"mobile\"\n\
             [gateway]\nendpoint = \"{GATEWAY_ON_AIR}:{PORT}\"\npublic_key = \"{gateway}\"\n\
             [tun]\naddresses = [\"10.79.0.2/24\"]\n"
        )
    }
}
