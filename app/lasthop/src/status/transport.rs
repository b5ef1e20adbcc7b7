//! The handling of TCP, for people.

use association::{Profile, StreamStatus, TcpMethod, TcpStatus};
use hosts::PeerStatus;
use split::{Cause, Choice, Chosen, Count, HopCondition, SplitStatus};
use units::Bytes;

use super::text::{line, some};

/// Adds the way of TCP across the hop to a peer.
pub(super) fn render_hop(page: &mut String, peer: &PeerStatus) {
    let hop = &peer.hop;
    match &peer.choice {
        Some(choice) => line(page, "  tcp", &chosen(choice)),
        None => line(page, "  tcp", &tcp(&hop.tcp)),
    }
    if let Some(found) = &hop.streams {
        line(page, "  streams", &streams(found));
    }
}

/// Adds the results of connections that were split here, or were not.
pub(super) fn render(page: &mut String, split: &SplitStatus) {
    line(page, "split", &split_tcp(split));
    if let Some(choices) = &split.choices {
        line(page, "  chosen", &counts(&choices.counts));
        for choice in &choices.latest {
            line(page, "", &latest(choice));
        }
    }
}

/// Returns the reason why new connections cross in this way.
fn reason(because: Cause) -> &'static str {
    match because {
        Cause::Unmeasured => "as the hop is not measured yet",
        Cause::Short => "as the hop is short",
        Cause::Clean => "as the hop loses next to nothing",
        Cause::Long => "as the hop is long",
        Cause::Lossy => "as the hop loses much",
    }
}

fn way(split: bool) -> &'static str {
    if split {
        "split"
    } else {
        "repaired by the link layer"
    }
}

/// Describes the way in which new connections cross.
fn chosen(choice: &Choice) -> String {
    format!(
        "chosen for each connection; now {}, {} ({})",
        way(choice.split),
        reason(choice.because),
        hop(&choice.hop),
    )
}

/// Describes the hop at the time of the choice.
fn hop(hop: &HopCondition) -> String {
    let round_trip = hop.round_trip.map(|round_trip| round_trip.to_string());
    let loss = hop
        .loss
        .map(|loss| format!("{:.1} % lost", loss.as_f64() * 100.0));
    format!(
        "round trip {}, {}",
        round_trip.as_deref().unwrap_or("unknown"),
        loss.as_deref().unwrap_or("loss unknown"),
    )
}

/// Describes the numbers of connections by way and reason.
fn counts(counts: &[Count]) -> String {
    let counts = counts.iter().filter(|count| count.connections > 0);
    let describe = |count: &Count| {
        let (way, reason) = (way(count.split), reason(count.because));
        format!("{} {way}, {reason}", count.connections)
    };
    let counts: Vec<_> = counts.map(describe).collect();
    counts.join("; ")
}

/// Describes the latest connection for which a way was chosen.
fn latest(chosen: &Chosen) -> String {
    let choice = &chosen.choice;
    format!(
        "{} to {}: {}, {} ({})",
        chosen.source,
        chosen.destination,
        way(choice.split),
        reason(choice.because),
        hop(&choice.hop),
    )
}

/// Describes the results of connections that are split here.
fn split_tcp(split: &SplitStatus) -> String {
    let counters = &split.counters;
    let ends = [
        some(counters.refused, "refused by fixed hosts"),
        some(counters.without_room, "without room"),
        some(counters.reset, "reset"),
        some(counters.idle, "idle for too long"),
    ];
    let ends: Vec<_> = ends.into_iter().flatten().collect();
    let more = if ends.is_empty() { "" } else { "; " };
    format!(
        "{} connections of {} open; {} to mobiles, {} to fixed hosts{more}{}",
        counters.open,
        counters.asked,
        Bytes::new(counters.carried.bytes_to_mobiles),
        Bytes::new(counters.carried.bytes_to_fixed),
        ends.join(", "),
    )
}

/// Describes the connections that cross as MTCP.
fn streams(streams: &StreamStatus) -> String {
    let counters = &streams.counters;
    let sent = &counters.traffic.sent;
    let profile = match streams.profile {
        Profile::Paper => "paper",
        Profile::Wide => "wide",
    };
    format!(
        "{} connections by {profile} MTCP of {} that were made; {} sent, of which {} again; asked {} times for what \
         was lost",
        streams.connections,
        counters.connections.opened + counters.connections.arrived,
        Bytes::new(sent.bytes),
        Bytes::new(sent.repaired_bytes),
        sent.requests,
    )
}

/// Describes the repair of TCP, and the counters of snoop.
fn tcp(tcp: &TcpStatus) -> String {
    match tcp.method {
        TcpMethod::Arq => "repaired by the link layer".into(),
        TcpMethod::Plain => "not repaired here".into(),
        TcpMethod::Snoop => {
            let agent = tcp.agent.as_ref().map(agent_did);
            let did = agent.or_else(|| tcp.mobile.as_ref().map(mobile_did));
            let did = did.unwrap_or_default();
            format!("repaired by snoop: {did}{} cached", tcp.cached)
        }
    }
}

fn agent_did(agent: &snoop::Counters) -> String {
    format!(
        "{} segments sent again ({} by timer), {} acknowledgements held back; {} gaps from there, \
         asked for {} times; ",
        agent.repairs, agent.timeouts, agent.held, agent.upload.gaps, agent.upload.asked,
    )
}

fn mobile_did(mobile: &snoop::MobileCounters) -> String {
    format!(
        "asked {} times, {} segments sent again, {} acknowledgements held back; ",
        mobile.asked, mobile.repairs, mobile.held,
    )
}
