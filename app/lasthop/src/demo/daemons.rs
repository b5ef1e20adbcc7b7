//! The two daemons of lasthop, without any knowledge of the air.

use edges::namespace::Namespace;
use rig::Process;
use rig::daemons::Daemons;

use super::addresses::GATEWAY_ON_AIR;
use super::error::DemoError;
use super::plan::Environment;
use crate::config::split::Tcp;

/// Port of the gateway on the air.
const PORT: u16 = 51_830;

/// Starts gateway and mobile host with keys of their own; TCP between them is handled by `tcp`, with this congestion
/// control if the gateway is a sender itself.
pub(crate) fn start(
    machinery: &Environment,
    hosts: [&Namespace; 2],
    tcp: Tcp,
    sender: &str,
) -> Result<Vec<Process>, DemoError> {
    let endpoint = format!("{GATEWAY_ON_AIR}:{PORT}");
    let split = format!("[split]\ncongestion_control = \"{sender}\"\n");
    let daemons = Daemons {
        endpoint: Some(&endpoint),
        listen: Some(&endpoint),
        gateway: &split,
        peer: &format!("tcp = \"{}\"\n", tcp.name()),
        ..Daemons::new(&machinery.program, &machinery.folder)
    };
    daemons.configure()?;
    Ok(daemons.start_all(hosts)?)
}
