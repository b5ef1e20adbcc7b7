//! The rivals of the fixed host: E2E connections that never end.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::ControlFlow;

use channel::{DirectionConfig, QueueBound};
use experiment::RunError;
use simulator::{Ending, Limits, Line, NodeId, Observer, OnEvent, Simulation};
use tcp::{Endpoint, Policy};
use units::{Bytes, Duration, Instant};

use super::interface::Event;
use super::mobile::Mobile;
use super::network::{SetUp, connection};
use super::node::TonNode;
use super::source::Source;
use crate::failed;

/// More than a rival sends during a transfer.
const ENDLESS: Bytes = Bytes::new(1 << 40);

/// A rival and its destination.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rival {
    /// Its number, from zero.
    pub(super) index: u8,
}

impl Rival {
    /// Returns its source address and port.
    pub(super) fn local(self) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::new(10, 0, 2, self.index), 6_001)
    }

    /// Returns its destination address and port.
    pub(super) fn remote(self) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::new(10, 0, 3, self.index), 6_002)
    }

    /// Returns its host.
    pub(super) fn source(self, set_up: &SetUp) -> Result<TonNode, RunError> {
        let config = set_up.host(&format!("rival {}", self.index), Policy::Reno);
        let ends = connection(self.local(), self.remote(), 5_000);
        let endpoint = Endpoint::new(ends, config).map_err(failed)?;
        Ok(TonNode::Source(Box::new(Source::new(endpoint, ENDLESS))))
    }

    /// Returns the host that it sends to.
    pub(super) fn sink(self, set_up: &SetUp) -> Result<TonNode, RunError> {
        let config = set_up.host(&format!("sink {}", self.index), Policy::Reno);
        let ends = connection(self.remote(), self.local(), 6_000);
        let endpoint = Endpoint::listening(ends, config).map_err(failed)?;
        Ok(TonNode::Mobile(Box::new(Mobile::new(
            endpoint, None, ENDLESS,
        ))))
    }
}

/// Returns the link between hosts and routers.
pub(super) fn ethernet() -> Result<Line, RunError> {
    let rate = "10 Mbit/s".parse().map_err(failed)?;
    let queue = QueueBound::Packets(50);
    let each = DirectionConfig::steady(rate, Duration::from_micros(100), queue);
    Line::wire(each).map_err(failed)
}

/// Returns the TCP of a host that sends.
pub(super) fn endpoint(
    simulation: &Simulation<TonNode>,
    id: NodeId,
) -> Result<&Endpoint, RunError> {
    match simulation.node(id) {
        TonNode::Source(source) => Ok(source.endpoint()),
        _ => Err(RunError::Failed("this node is no source".into())),
    }
}

/// Runs until all data of the fixed host have arrived; returns the bytes transferred. A connection that gives up counts
/// as zero, because half a file is of no use. The results of rivals do not count.
pub(super) fn finish(
    simulation: &mut Simulation<TonNode>,
    set_up: &SetUp,
    rivals: &[NodeId],
    observer: &mut impl Observer<TonNode>,
) -> Result<u64, RunError> {
    let mut broken = false;
    let watch = OnEvent(|_: Instant, node, event: &Event| {
        if rivals.contains(&node) {
            return ControlFlow::Continue(());
        }
        broken |= *event == Event::Broken;
        ControlFlow::Break(())
    });
    let give_up = Instant::ZERO + set_up.parameters.give_up;
    let ending = simulation.run(Limits::until(give_up), &mut (watch, observer));
    if ending.map_err(failed)? != Ending::Stopped {
        let now = simulation.now();
        let what = format!("the transfer did not end by {now} s; see `give_up`");
        return Err(RunError::Failed(what));
    }
    let whole = set_up.parameters.transfer.get();
    Ok(if broken { 0 } else { whole })
}
