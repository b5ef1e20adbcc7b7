//! The two daemons of lasthop, without any knowledge of the air.

use edges::namespace::Namespace;
use rig::Process;
use rig::daemons::{Daemons, Lines};

use super::addresses::GATEWAY_ON_AIR;
use super::error::DemoError;
use super::plan::Machinery;
use crate::config::split::Tcp;

/// Port of the gateway on the air.
const PORT: u16 = 51_830;

/// Starts gateway and mobile host with keys of their own; TCP between them is handled by `tcp`, with this congestion
/// control if the gateway is a sender itself.
pub(crate) fn start(
    machinery: &Machinery,
    hosts: [&Namespace; 2],
    (tcp, sender): (Tcp, &str),
) -> Result<Vec<Process>, DemoError> {
    let split = format!("[split]\ncongestion_control = \"{sender}\"\n");
    let daemons = Daemons {
        program: &machinery.program,
        folder: &machinery.folder,
        mobiles: 1,
        endpoint: Some(&format!("{GATEWAY_ON_AIR}:{PORT}")),
        inside: "10.79.0",
        gateway: Lines {
            sections: &split,
            ..Lines::default()
        },
        peer: &format!("tcp = \"{}\"\n", tcp.name()),
        mobile: Lines::default(),
    };
    daemons.configure()?;
    let start = |(host, namespace)| Ok(daemons.start(host, namespace)?);
    hosts.into_iter().enumerate().map(start).collect()
}
