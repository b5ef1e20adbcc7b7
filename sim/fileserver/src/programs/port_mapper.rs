//! The port mapper, which reports the port of a program.

use std::num::NonZeroU16;

use ::nfs::Value;
use ::nfs::portmap::{GET_PORT, GetPort, PROGRAM, Port, VERSION};
use rpc::message::Refusal;

use super::Programs;

/// NULL, which does nothing.
const NULL: u32 = 0;

impl Programs {
    pub(super) fn serve_port_mapper(
        &self,
        number: u32,
        arguments: &[u8],
        results: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        if number == NULL {
            return self.read(arguments);
        }
        if number != GET_PORT.number {
            return Err(Refusal::ProcedureUnavailable);
        }
        let asked: GetPort = self.read(arguments)?;
        let port = match (asked.program, asked.version) {
            (PROGRAM, VERSION) => ::nfs::portmap::PORT,
            (::nfs::PROGRAM, ::nfs::VERSION) | (::nfs::mount::PROGRAM, ::nfs::mount::VERSION) => {
                self.config.port
            }
            _ => 0,
        };
        Port(NonZeroU16::new(port)).encode(results);
        Ok(())
    }
}
