//! The GETPORT call to a host's port mapper, version 2, which returns the port of a program (RFC 1833 §3).

use std::num::NonZeroU16;

use rpc::Procedure;
use rpc::xdr::{Reader, Writer};

use crate::value::{fields, numbers};
use crate::{Limits, Malformed, Value};

/// Number of the port mapper's program.
pub const PROGRAM: u32 = 100_000;
/// Version of the protocol.
pub const VERSION: u32 = 2;
/// Port of every port mapper.
pub const PORT: u16 = 111;
/// GETPORT: [`GetPort`] to [`Port`].
pub const GET_PORT: Procedure = Procedure {
    program: PROGRAM,
    version: VERSION,
    number: 3,
};

/// A transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Transport {
    /// TCP.
    Tcp = 6,
    /// UDP.
    Udp = 17,
}

numbers!(Transport { Tcp, Udp });

/// GETPORT: asks for the port of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GetPort {
    /// Number of the program.
    pub program: u32,
    /// Version of the program.
    pub version: u32,
    /// Transport of the program.
    pub transport: Transport,
    /// Unused in a request.
    pub port: u32,
}

fields!(GetPort {
    program,
    version,
    transport,
    port
});

impl GetPort {
    /// Returns the request for the port of `version` of `program`.
    pub fn new(program: u32, version: u32, transport: Transport) -> Self {
        Self {
            program,
            version,
            transport,
            port: 0,
        }
    }
}

/// Port of a program, or none if the host does not have the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Port(pub Option<NonZeroU16>);

impl Value<'_> for Port {
    fn read(
        _what: &'static str,
        reader: &mut Reader<'_>,
        _limits: &Limits,
    ) -> Result<Self, Malformed> {
        let at = reader.at();
        let port = reader.u32("port")?;
        u16::try_from(port)
            .map(|port| Self(NonZeroU16::new(port)))
            .map_err(|_| Reader::unknown("port", at, port).into())
    }

    fn write(&self, out: &mut Writer<'_>) {
        out.u32(self.0.map_or(0, |port| port.get().into()));
    }
}
