//! The question to a host's port mapper, version 2, where a program listens (RFC 1833 §3).

use std::num::NonZeroU16;

use rpc::Procedure;
use rpc::xdr::{Reader, Writer};

use crate::value::{fields, numbers};
use crate::{Limits, Malformed, Value};

/// The number of the port mapper's program.
pub const PROGRAM: u32 = 100_000;
/// The version that is spoken.
pub const VERSION: u32 = 2;
/// Where every port mapper listens.
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

/// GETPORT: asks where a program listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GetPort {
    /// The program's number.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// The transport.
    pub transport: Transport,
    /// Nothing in a question.
    pub port: u32,
}

fields!(GetPort {
    program,
    version,
    transport,
    port
});

impl GetPort {
    /// Asks where `version` of `program` listens.
    pub fn new(program: u32, version: u32, transport: Transport) -> Self {
        Self {
            program,
            version,
            transport,
            port: 0,
        }
    }
}

/// Where a program listens; nothing if the host does not have it.
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
