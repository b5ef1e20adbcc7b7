//! lasthop's two daemons, told nothing about the air.

use edges::namespace::Namespace;
use rig::Process;
use rig::daemons::{Daemons, Lines};

use super::error::DemoError;
use super::network::GATEWAY_ON_AIR;
use super::plan::Machinery;
use crate::config::split::Tcp;

/// Where the gateway listens on the air.
const PORT: u16 = 51_830;

/// Starts gateway and mobile host with keys of their own; TCP between them goes by `tcp`, with that congestion control
/// where the gateway is a sender itself.
pub(crate) fn start(
    machinery: &Machinery,
    hosts: [&Namespace; 2],
    (tcp, sender): (Tcp, &str),
) -> Result<Vec<Process>, DemoError> {
    let endpoint = format!("{GATEWAY_ON_AIR}:{PORT}");
    let split = format!("[split]\ncongestion_control = \"{sender}\"\n");
    let daemons = Daemons {
        program: &machinery.program,
        folder: &machinery.folder,
        mobiles: 1,
        endpoint: Some(&endpoint),
        inside: "10.79.0",
        gateway: Lines {
            top: &format!("listen = \"{endpoint}\"\n"),
            sections: &split,
        },
        peer: &format!("tcp = \"{}\"\n", tcp.name()),
        mobile: Lines::default(),
    };
    daemons.configure()?;
    Ok(daemons.start_all(hosts)?)
}
