//! Time series as CSV: windows, sequence numbers, queues, states of channels.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;

use channel::{Amount, Direction};
use units::Instant;

use crate::line::LinkId;
use crate::node::{Node, NodeId};
use crate::observer::{Observer, Sighting};
use crate::simulation::Simulation;
use crate::trace::{FirstError, TraceError, buffered};

/// Values to record, by name; the user knows its nodes and packets.
pub trait Probe<N: Node> {
    /// Records values of a node that has just acted; unchanged values give no row.
    fn node(&mut self, _node: &N, _record: &mut dyn FnMut(&'static str, u64)) {}

    /// Records values of a packet; each gives a row.
    fn packet(
        &mut self,
        _sighting: Sighting,
        _packet: &N::Packet,
        _record: &mut dyn FnMut(&'static str, u64),
    ) {
    }
}

impl<N: Node> Probe<N> for () {}

/// An observer that writes rows of `seconds,who,what,value` during the run: the values of a [`Probe`], the queue of
/// every link in packets (`queue`), and the states of channels that report them (`good`: 1 or 0). A row stands for a
/// change, so the value holds until the next row of its kind.
#[derive(Debug)]
pub struct Series<W: Write, P> {
    writer: BufWriter<W>,
    first_error: FirstError,
    probe: P,
    nodes: Vec<String>,
    /// Names of each link's two directions: `gateway>mobile`, `mobile>gateway`.
    links: Vec<[String; 2]>,
    node_values: BTreeMap<(NodeId, &'static str), u64>,
    queues: BTreeMap<(LinkId, Direction), u64>,
}

impl<W: Write, P> Series<W, P> {
    /// Begins the series of `simulation`, whose nodes and links must all exist already.
    pub fn new<N: Node>(writer: W, simulation: &Simulation<N>, probe: P) -> Self {
        let name = |node| simulation.name(node);
        let link = |number| {
            Direction::BOTH.map(|direction| {
                let from = simulation.sender(LinkId(number), direction).node;
                let to = simulation.sender(LinkId(number), direction.reverse()).node;
                field(&format!("{}>{}", name(from), name(to)))
            })
        };
        let mut series = Self {
            writer: buffered(writer),
            first_error: FirstError::new("the time series"),
            probe,
            nodes: simulation
                .nodes()
                .map(|(node, _)| field(name(node)))
                .collect(),
            links: (0..simulation.links.len() as u32).map(link).collect(),
            node_values: BTreeMap::new(),
            queues: BTreeMap::new(),
        };
        let Self {
            writer,
            first_error,
            ..
        } = &mut series;
        // An error is kept; the first row then ends the run.
        let _ = first_error.guard(|| writeln!(writer, "seconds,who,what,value"));
        series
    }

    /// Ends the series; the error is the first one from writing.
    pub fn finish(self) -> Result<W, TraceError> {
        self.first_error.finish(self.writer)
    }
}

impl<N: Node, W: Write, P: Probe<N>> Observer<N> for Series<W, P> {
    fn packet(&mut self, sighting: Sighting, packet: &N::Packet) -> ControlFlow<()> {
        let who = link_name(&self.links, sighting.link, sighting.direction);
        let mut rows = Rows {
            at: sighting.at,
            who,
            writer: &mut self.writer,
            first_error: &mut self.first_error,
            flow: ControlFlow::Continue(()),
        };
        let record = &mut |what, value| rows.write(what, value);
        self.probe.packet(sighting, packet, record);
        rows.flow
    }

    fn acted(&mut self, now: Instant, id: NodeId, node: &N) -> ControlFlow<()> {
        let mut rows = Rows {
            at: now,
            who: self.nodes.get(id.index()).map_or("", String::as_str),
            writer: &mut self.writer,
            first_error: &mut self.first_error,
            flow: ControlFlow::Continue(()),
        };
        let values = &mut self.node_values;
        self.probe.node(node, &mut |what, value| {
            if values.insert((id, what), value) != Some(value) {
                rows.write(what, value);
            }
        });
        rows.flow
    }

    fn waiting(&mut self, now: Instant, at: (LinkId, Direction), queue: Amount) -> ControlFlow<()> {
        if self.queues.insert(at, queue.packets) == Some(queue.packets) {
            return ControlFlow::Continue(());
        }
        self.link_row(now, at, ("queue", queue.packets))
    }

    fn state(&mut self, now: Instant, at: (LinkId, Direction), good: bool) -> ControlFlow<()> {
        self.link_row(now, at, ("good", u64::from(good)))
    }
}

impl<W: Write, P> Series<W, P> {
    fn link_row(
        &mut self,
        at: Instant,
        link: (LinkId, Direction),
        (what, value): (&'static str, u64),
    ) -> ControlFlow<()> {
        let mut rows = Rows {
            at,
            who: link_name(&self.links, link.0, link.1),
            writer: &mut self.writer,
            first_error: &mut self.first_error,
            flow: ControlFlow::Continue(()),
        };
        rows.write(what, value);
        rows.flow
    }
}

/// Writer of rows for one time and one subject.
struct Rows<'a, W: Write> {
    at: Instant,
    who: &'a str,
    writer: &'a mut BufWriter<W>,
    first_error: &'a mut FirstError,
    flow: ControlFlow<()>,
}

impl<W: Write> Rows<'_, W> {
    fn write(&mut self, what: &str, value: u64) {
        let (seconds, nanos) = (self.at.as_nanos() / NANOS, self.at.as_nanos() % NANOS);
        let (writer, who) = (&mut *self.writer, self.who);
        self.flow = self
            .first_error
            .guard(|| writeln!(writer, "{seconds}.{nanos:09},{who},{what},{value}"));
    }
}

const NANOS: u64 = 1_000_000_000;

fn link_name(names: &[[String; 2]], link: LinkId, direction: Direction) -> &str {
    let [down, up] = match names.get(link.index()) {
        Some([down, up]) => [down.as_str(), up.as_str()],
        None => [""; 2],
    };
    match direction {
        Direction::Down => down,
        Direction::Up => up,
    }
}

/// Returns a field of CSV (RFC 4180).
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}
