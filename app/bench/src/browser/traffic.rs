//! Traffic for the page to show: a download that never ends, and small answers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use super::found;
use crate::failure::Failure;
use crate::hop::{Hop, INSIDE};

/// A download of the mobile host; it ends when this is dropped.
pub(super) struct Traffic(TcpStream);

impl Traffic {
    /// Starts it. Its threads end with the connection.
    pub(super) fn start(hop: &Hop) -> Result<Self, Failure> {
        let what = "connect through the tunnel";
        let listener = hop.gateway.run(|| TcpListener::bind((INSIDE, 0)));
        let listener = listener.map_err(found(what))?.map_err(found(what))?;
        let address = listener.local_addr().map_err(found(what))?;
        let mobile = hop.mobile.run(|| TcpStream::connect(address));
        let mut mobile = mobile.map_err(found(what))?.map_err(found(what))?;
        let (mut gateway, _) = listener.accept().map_err(found(what))?;
        let end = mobile.try_clone().map_err(found(what))?;
        thread::spawn(move || while gateway.write_all(&[0x55; 1 << 14]).is_ok() {});
        thread::spawn(move || {
            let mut part = vec![0; 1 << 16];
            while mobile.read(&mut part).is_ok_and(|length| length > 0) {}
        });
        Ok(Self(end))
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        // If it is gone already, nothing is left to do.
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}
