//! Another tunnel to compare with: a few commands on each end of the hop, from a TOML file.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use edges::namespace::Namespace;
use rig::Process;
use serde::Deserialize;

use super::addresses::{ECHO_SERVER, FILE_SERVER};
use super::error::DemoError;
use crate::config::Source;
use crate::failure::Failure;

/// A tunnel of another project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Peer {
    /// Name in tables and plots.
    pub(crate) name: String,
    /// Programs with their arguments that run on the gateway until the end.
    gateway: Vec<Vec<String>>,
    /// Programs with their arguments that run on the mobile host until the end.
    mobile: Vec<Vec<String>>,
    /// Address at which the mobile host reaches the file server, if not its own.
    #[serde(default = "file_server")]
    pub(crate) file_server: SocketAddr,
    /// Address at which it reaches the echo server.
    #[serde(default = "echo_server")]
    pub(crate) echo_server: SocketAddr,
}

fn file_server() -> SocketAddr {
    FILE_SERVER
}

fn echo_server() -> SocketAddr {
    ECHO_SERVER
}

impl Peer {
    /// Reads the file of a peer.
    pub(crate) fn read(path: &Path) -> Result<Arc<Self>, Failure> {
        let source = Source::read(path)?;
        let peer: Self = source.parse()?;
        let commands = peer.gateway.iter().chain(&peer.mobile);
        if peer.gateway.is_empty() || commands.into_iter().any(Vec::is_empty) {
            let what = "a peer needs a program on the gateway, and no command may be empty, as in \
                gateway = [[\"program\", \"--option\"]]";
            return Err(source.wrong(None, what));
        }
        Ok(Arc::new(peer))
    }

    /// Starts its programs on both hosts, the gateway's first.
    pub(crate) fn start(
        &self,
        folder: &Path,
        [gateway, mobile]: [&Namespace; 2],
    ) -> Result<Vec<Process>, DemoError> {
        let hosts = [
            ("gateway", gateway, &self.gateway),
            ("mobile", mobile, &self.mobile),
        ];
        let mut started = Vec::new();
        for (host, namespace, commands) in hosts {
            for (number, words) in commands.iter().enumerate() {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]);
                let name = format!("{}-{host}-{number}", self.name);
                started.push(Process::start(command, &name, folder, Some(namespace))?);
            }
        }
        Ok(started)
    }
}
