//! The interface of a host that the loop drives.

use std::net::IpAddr;

use edges::bearer::Bearer;
use edges::tun::TunDevice;
use hosts::{Host, Input, Output, SplitStatus, Summary, TapConfig, Tapped, Told};
use machine::Machine;
use serde::Serialize;
use session::PublicKey;
use units::{Bytes, Instant};

use crate::event_loop::{EventLoop, RuntimeError, Stopped};

/// A machine between a packet device and a bearer, with a status. Daemons run [`Host`].
pub trait DrivenHost: Machine<Input = Input, Output = Output> {
    /// Its status, as shown in JSON.
    type Status: Serialize;

    /// Returns a page of its state with the peers from number `from` on, for `lasthop status`.
    fn status(&self, now: Instant, from: usize) -> Self::Status;

    /// Returns a page of summaries of the peers from number `from` on, if it has peers.
    fn summary(&self, _now: Instant, _from: usize) -> Option<Summary> {
        None
    }

    /// Returns the largest memory that it may hold, as it was counted lately.
    fn memory_most(&self, now: Instant) -> Bytes;

    /// Returns the status of split connections, if it has any.
    fn split_status(&self) -> Option<SplitStatus> {
        None
    }

    /// Opens its tap, in the place of one that is open, or closes it; see [`Host::set_tap`].
    fn set_tap(&mut self, _config: Option<TapConfig>) -> bool {
        true
    }

    /// Returns the next copy of its tap.
    fn poll_tapped(&mut self) -> Option<Tapped> {
        None
    }

    /// Returns true if this is a mobile host.
    fn is_mobile(&self) -> bool {
        false
    }

    /// Returns the key of the gateway with this name, if this is a mobile host.
    fn gateway_named(&self, _name: &str) -> Option<PublicKey> {
        None
    }

    /// Returns true if this is a mobile host with several gateways, which it compares.
    fn compares_gateways(&self) -> bool {
        false
    }

    /// Returns true if this is a gateway whose mobile hosts may have others serve them.
    fn is_drainable(&self) -> bool {
        false
    }

    /// Returns what gateways have told it of others.
    fn told(&self) -> Vec<Told> {
        Vec::new()
    }

    /// Returns the name of the peer that has this inner address.
    fn peer_at(&self, _address: IpAddr) -> Option<&str> {
        None
    }
}

/// Runs the loop of a daemon, as [`EventLoop::run`] does.
///
/// It makes the loop machine code of this crate, which is compiled for speed; the program that calls it is compiled for
/// size.
pub fn run_daemon(
    event_loop: &mut EventLoop<Host, TunDevice, Bearer>,
) -> Result<Stopped, RuntimeError> {
    event_loop.run()
}

impl DrivenHost for Host {
    type Status = hosts::Status;

    fn status(&self, now: Instant, from: usize) -> hosts::Status {
        self.status_page(now, from)
    }

    fn summary(&self, now: Instant, from: usize) -> Option<Summary> {
        Some(self.summary_page(now, from))
    }

    fn memory_most(&self, now: Instant) -> Bytes {
        self.recent_memory(now).1
    }

    fn split_status(&self) -> Option<SplitStatus> {
        self.split_status()
    }

    fn set_tap(&mut self, config: Option<TapConfig>) -> bool {
        self.set_tap(config)
    }

    fn poll_tapped(&mut self) -> Option<Tapped> {
        self.poll_tapped()
    }

    fn gateway_named(&self, name: &str) -> Option<PublicKey> {
        self.gateway_named(name)
    }

    fn is_mobile(&self) -> bool {
        self.is_mobile()
    }

    fn compares_gateways(&self) -> bool {
        self.compares_gateways()
    }

    fn is_drainable(&self) -> bool {
        self.is_drainable()
    }

    fn told(&self) -> Vec<Told> {
        self.told()
    }

    fn peer_at(&self, address: IpAddr) -> Option<&str> {
        self.peer_at(address)
    }
}
