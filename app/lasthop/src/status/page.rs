//! A status as a page for people.

use std::fmt::Display;

use air::AirStatus;
use arq::{LossCounts, SentStats};
use association::RecentTraffic;
use hosts::{PeerStatus, Role};
use runtime::Status;
use units::{BitRate, Bytes};

use super::text::{age, line, some};
use super::{names, registration, transport, trouble};

/// Returns the page.
pub(super) fn render(status: &Status) -> String {
    let host = &status.host;
    let busy = |busy: f64| format!(", busy {:.0} % of the time", busy * 100.0);
    let mut page = format!(
        "lasthop {} {}, up {}{}\n{}\n",
        status.version,
        role(host.role),
        age(status.uptime_s as u64),
        status.busy.map(busy).unwrap_or_default(),
        host.public_key,
    );
    let (held, most) = (host.memory, status.memory_most);
    line(
        &mut page,
        "memory",
        &format!("{held} held for others, at most {most} in all"),
    );
    if let Some(names) = &status.names {
        line(&mut page, "names", &names::describe(names));
    }
    for peer in &host.peers {
        page.push('\n');
        render_peer(&mut page, peer);
    }
    if let Some(split) = &status.split {
        page.push('\n');
        transport::render(&mut page, split);
    }
    let dropped = host.datagrams_dropped.iter();
    let dropped: Vec<_> = dropped
        .map(|(cause, count)| format!("{count} {cause}"))
        .collect();
    let (device, bearer) = (&status.device, &status.bearer);
    let troubles = [
        (!dropped.is_empty()).then(|| format!("datagrams dropped: {}", dropped.join(", "))),
        some(host.packets_unroutable, "packets that belong to no peer"),
        some(host.frames_unsent, "frames without keys or address"),
        some(
            device.without_room,
            "packets the TUN device had no room for",
        ),
        some(bearer.without_room, "datagrams the socket had no room for"),
        some(
            bearer.counters.too_large,
            "datagrams too large for the path",
        ),
        some(bearer.counters.refused, "datagrams without a route"),
    ];
    let troubles: Vec<_> = troubles.into_iter().flatten().collect();
    if !troubles.is_empty() {
        line(&mut page, "\nthis host", &troubles.join("; "));
    }
    page
}

/// Returns the word for a role.
pub(crate) fn role(role: Role) -> &'static str {
    match role {
        Role::Mobile => "mobile",
        Role::Gateway => "gateway",
    }
}

fn render_peer(page: &mut String, peer: &PeerStatus) {
    let hop = &peer.hop;
    let (sent, received) = (&hop.stats.sent, &hop.stats.received);
    let place = peer.endpoint;
    let place = place.map_or_else(String::new, |place| format!(" at {place}"));
    line(
        page,
        &format!("{}{place}", peer.name),
        &registration::state(peer),
    );
    if !peer.others.is_empty() {
        let others: Vec<_> = peer.others.iter().map(ToString::to_string).collect();
        line(page, "  elsewhere", &others.join("; "));
    }
    if let Some(trouble) = &peer.trouble {
        line(page, "  trouble", &trouble::words(trouble));
    }
    if let Some(compared) = &peer.compared {
        line(page, "  compared", &registration::measured(compared));
    }
    if let Some(registration) = registration::describe(&peer.registration) {
        line(page, "  registered", &registration);
    }
    line(page, "  limited by", &peer.limit.words);
    let least = hop.round_trip_min;
    let least = least.map_or_else(String::new, |least| format!(", least {least}"));
    line(page, "  traffic now", &traffic(&peer.recent));
    line(page, "  rate from here", &measured(hop.rate));
    line(
        page,
        "  round trip",
        &format!("{}{least}", measured(hop.round_trip)),
    );
    line(page, "  path MTU", &path_mtu(hop));
    let out = share(sent.frames_lost, sent.frames);
    let (causes, bursts) = (causes(&sent.causes), bursts(&sent.bursts));
    line(page, "  lost, outwards", &format!("{out}{causes}{bursts}"));
    let missed = received.frames_missed;
    line(
        page,
        "  lost, inwards",
        &share(missed, received.frames + missed),
    );
    line(
        page,
        "  fades",
        &format!("{}, {} in all", sent.fades, sent.faded),
    );
    line(
        page,
        "  after repair",
        &format!(
            "{} packets lost; {} dropped at a full queue",
            sent.packets_abandoned, sent.packets_dropped
        ),
    );
    let queues = format!(
        "{} here ({}), {} on the hop, {} held for order",
        measured(hop.queue_delay),
        hop.queued,
        measured(hop.hop_queueing),
        hop.held,
    );
    line(page, "  queue", &queues);
    line(page, "  memory", &memory(hop));
    render_traffic(page, peer);
}

/// Describes the traffic of the last seconds.
fn traffic(recent: &RecentTraffic) -> String {
    let rate = BitRate::from_bits_per_second;
    let (to, from) = (
        rate(recent.to_peer_bits_per_s),
        rate(recent.from_peer_bits_per_s),
    );
    format!("{to} to there, {from} from there")
}

/// Describes the path MTU in both directions.
fn path_mtu(hop: &association::Status) -> String {
    let bytes = |length: Option<usize>| match length {
        Some(bytes) => format!("{bytes} B"),
        None => measured(None::<usize>),
    };
    let (out, back) = (bytes(hop.path_mtu_bytes), bytes(hop.path_mtu_inwards_bytes));
    format!("{out} outwards; longest from there {back}")
}

/// Adds the traffic across the hop, by kind.
fn render_traffic(page: &mut String, peer: &PeerStatus) {
    let hop = &peer.hop;
    let (sent, received) = (&hop.stats.sent, &hop.stats.received);
    let outwards = format!(
        "{} bulk, {} brief, {} on the air, {} of it repairs; {} flows",
        Bytes::new(sent.bytes_held),
        Bytes::new(sent.bytes_brief),
        Bytes::new(sent.wire_bytes),
        Bytes::new(sent.bytes_repeated),
        hop.flows,
    );
    line(page, "  sent", &outwards);
    let inwards = format!(
        "{}, {} on the air{}",
        Bytes::new(received.bytes),
        Bytes::new(received.wire_bytes),
        match received.turns_exhausted {
            0 => String::new(),
            times => format!("; too many packets at a time, which waited: {times} times"),
        }
    );
    line(page, "  received", &inwards);
    transport::render_hop(page, peer);
    if let Some(air) = &peer.air {
        line(page, "  turns", &turns(air));
    }
}

/// Describes the memory held for the peer, and the packets dropped for lack of room.
fn memory(hop: &association::Status) -> String {
    let SentStats {
        packets_capped: capped,
        packets_in_common: common,
        ..
    } = hop.stats.sent;
    format!(
        "{} of {}; {capped} packets dropped for want of room, {} of flows that were too many{}",
        hop.memory,
        hop.memory_most,
        hop.packets_of_refused_flows,
        if common > 0 {
            format!(" ({common} from here, which shared one flow)")
        } else {
            String::new()
        }
    )
}

/// Describes the peer's share of a shared air.
fn turns(air: &AirStatus) -> String {
    let scheduling = &air.scheduling;
    let marked = if scheduling.is_marked {
        "comes last, since it hears nothing; "
    } else {
        ""
    };
    let length = scheduling.burst_length;
    let bursts = length.map_or_else(String::new, |length| format!(", of about {length} each"));
    format!(
        "{marked}{} so far, {} on the air, {:.1} % of it of late; {} waited; {} fades{bursts}",
        scheduling.served,
        scheduling.airtime,
        air.airtime_share.as_f64() * 100.0,
        air.queue_delay,
        scheduling.bursts,
    )
}

/// Describes the causes of lost frames, as far as they are known; empty if none was lost.
fn causes(causes: &LossCounts) -> String {
    let named = [
        some(causes.fade, "in fades"),
        some(causes.air, "on the air outside fades"),
        some(causes.congestion, "at a full queue on the way"),
        some(causes.unknown, "for causes not known yet"),
    ];
    let named: Vec<_> = named.into_iter().flatten().collect();
    if named.is_empty() {
        String::new()
    } else {
        format!(": {}", named.join(", "))
    }
}

/// Describes the lengths of bursts of losses, with the number of each; class n holds 2ⁿ to 2ⁿ⁺¹ − 1 transmissions.
fn bursts(classes: &[u64]) -> String {
    let named = classes
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(class, count)| {
            let (least, most) = (1_u64 << class, (2_u64 << class) - 1);
            match class {
                0 => format!("1 × {count}"),
                _ if class + 1 == classes.len() => format!("{least} or more × {count}"),
                _ => format!("{least} to {most} × {count}"),
            }
        });
    let named: Vec<_> = named.collect();
    if named.is_empty() {
        String::new()
    } else {
        format!("; bursts of {}", named.join(", "))
    }
}

pub(super) fn share(part: u64, whole: u64) -> String {
    let percent = if whole == 0 {
        0.0
    } else {
        part as f64 * 100.0 / whole as f64
    };
    format!("{percent:.2} % ({part} of {whole})")
}

/// Returns the measured value as text, or that there is none yet.
fn measured(value: Option<impl Display>) -> String {
    value.map_or_else(|| "not measured yet".into(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use arq::BURST_CLASSES;
    use association::TcpMethod;
    use serde_json::Value;
    use units::{Duration, Probability};

    use super::*;

    /// Replies of daemons with two mobile hosts on one air, and the pages for them.
    const SEEN: [(&str, &str); 2] = [
        (include_str!("gateway.json"), include_str!("gateway.txt")),
        (include_str!("mobile.json"), include_str!("mobile.txt")),
    ];

    fn sample() -> Status {
        serde_json::from_str(SEEN[0].0).unwrap()
    }

    fn first(status: &mut Status) -> &mut PeerStatus {
        &mut status.host.peers[0]
    }

    fn contains(status: &Status, parts: &[&str]) {
        let page = render(status);
        for part in parts {
            assert!(page.contains(part), "no '{part}' in:\n{page}");
        }
    }

    #[test]
    fn what_daemons_answer_is_the_same_there_and_back() {
        for (json, page) in SEEN {
            let status: Status = serde_json::from_str(json).unwrap();
            let seen: Value = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_value(&status).unwrap(), seen);
            assert_eq!(render(&status), page);
        }
    }

    #[test]
    fn says_what_people_ask() {
        let mut status = sample();
        (status.uptime_s, status.busy) = (200.4, Some(0.123));
        status.host.datagrams_dropped = vec![("Replayed".into(), 3)];
        status.bearer.counters.refused = 2;
        let peer = first(&mut status);
        peer.keys_age = Some(Duration::from_millis(61_500));
        peer.limit.words = "the hop's rate".into();
        let hop = &mut peer.hop;
        (hop.memory, hop.memory_most) = (Bytes::kibi(40), Bytes::mebi(96));
        hop.packets_of_refused_flows = 9;
        (hop.path_mtu_bytes, hop.path_mtu_inwards_bytes) = (Some(1_492), None);
        let millis = |count| Some(Duration::from_millis(count));
        hop.rate = Some(BitRate::from_bits_per_second(2_000_000));
        (hop.round_trip, hop.round_trip_min) = (millis(12), millis(10));
        (hop.queue_delay, hop.hop_queueing) = (millis(12), millis(1));
        hop.queued = Bytes::kibi(4);
        let mut bursts = [0; BURST_CLASSES];
        (bursts[0], bursts[2]) = (4, 14);
        hop.stats.sent = SentStats {
            frames: 1_000,
            frames_lost: 60,
            causes: LossCounts {
                congestion: 50,
                air: 10,
                ..LossCounts::default()
            },
            bursts,
            packets_abandoned: 1,
            packets_dropped: 2,
            packets_capped: 5,
            packets_in_common: 7,
            fades: 4,
            faded: Duration::from_millis(1_200),
            ..SentStats::default()
        };
        let received = &mut hop.stats.received;
        (received.frames, received.frames_missed) = (99, 1);
        contains(
            &status,
            &[
                "lasthop 0.1.0 gateway, up 3 min 20 s, busy 12 % of the time",
                "m1 at 10.1.0.2:43492 connected, keys 1 min 1 s old",
                "2 Mbit/s",
                "12 ms, least 10 ms",
                "limited by      the hop's rate",
                "path MTU        1492 B outwards; longest from there not measured yet",
                "6.00 % (60 of 1000): 10 on the air outside fades, 50 at a full queue on the way; \
                 bursts of 1 × 4, 4 to 7 × 14",
                "1.00 % (1 of 100)",
                "4, 1.2 s in all",
                "1 packets lost; 2 dropped at a full queue",
                "40 KiB of 96 MiB; 5 packets dropped for want of room, 9 of flows that were too many (7 from here",
                "memory            412.711 KiB held for others, at most 1.043 GiB in all",
                "12 ms here (4 KiB), 1 ms on the hop, 0 B held for order",
                "3 Replayed; 3 packets that belong to no peer; 2 datagrams without a route",
            ],
        );
    }

    #[test]
    fn says_who_repairs_tcp() {
        let mut status = sample();
        let peer = first(&mut status);
        peer.choice = None;
        contains(&status, &["repaired by the link layer"]);
        let tcp = &mut first(&mut status).hop.tcp;
        tcp.method = TcpMethod::Plain;
        contains(&status, &["not repaired here"]);
        let tcp = &mut first(&mut status).hop.tcp;
        (tcp.method, tcp.cached) = (TcpMethod::Snoop, Bytes::kibi(9));
        tcp.agent = Some(snoop::Counters {
            repairs: 7,
            timeouts: 2,
            held: 30,
            upload: snoop::UploadCounters { gaps: 4, asked: 5 },
            ..snoop::Counters::default()
        });
        let agent = "snoop: 7 segments sent again (2 by timer), 30 acknowledgements held back; 4 gaps \
                     from there, asked for 5 times; 9 KiB cached";
        contains(&status, &[agent]);
        let tcp = &mut first(&mut status).hop.tcp;
        (tcp.agent, tcp.cached) = (None, Bytes::kibi(1));
        tcp.mobile = Some(snoop::MobileCounters {
            asked: 3,
            repairs: 6,
            held: 1,
        });
        let mobile =
            "asked 3 times, 6 segments sent again, 1 acknowledgements held back; 1 KiB cached";
        contains(&status, &[mobile]);
    }

    #[test]
    fn says_how_streams_fare() {
        let mut status = sample();
        let streams = first(&mut status).hop.streams.as_mut().unwrap();
        streams.connections = 3;
        let counters = &mut streams.counters;
        (counters.connections.opened, counters.connections.arrived) = (4, 5);
        let sent = &mut counters.traffic.sent;
        (sent.bytes, sent.repaired_bytes, sent.requests) = (3_000, 2_000, 7);
        let told = "3 connections by wide MTCP of 9 that were made; 2.93 KiB sent, of which \
                    1.953 KiB again; asked 7 times";
        contains(&status, &[told]);
        first(&mut status).hop.streams = None;
        assert!(!render(&status).contains("streams"));
    }

    #[test]
    fn says_what_of_the_air_a_mobile_gets() {
        let mut status = sample();
        let air = first(&mut status).air.as_mut().unwrap();
        air.airtime_share = Probability::ratio(12_345, 100_000);
        air.queue_delay = Duration::from_millis(80);
        let scheduling = &mut air.scheduling;
        scheduling.is_marked = true;
        (scheduling.served, scheduling.bursts) = (70, 3);
        scheduling.airtime = Duration::from_secs(3);
        scheduling.burst_length = Some(Duration::from_millis(40));
        let turns = "comes last, since it hears nothing; 70 so far, 3 s on the air, 12.3 % of it of late; \
                     80 ms waited; 3 fades, of about 40 ms each";
        contains(&status, &[turns]);
    }

    #[test]
    fn what_is_not_measured_is_not_shown_as_measured() {
        let mut status = sample();
        let hop = &mut first(&mut status).hop;
        hop.rate = None;
        (hop.round_trip, hop.round_trip_min) = (None, None);
        (hop.hop_queueing, hop.queue_delay) = (None, None);
        contains(
            &status,
            &[
                "rate from here  not measured yet",
                "round trip      not measured yet\n",
                "not measured yet here (0 B), not measured yet on the hop",
            ],
        );
    }

    #[test]
    fn tells_a_fade_and_a_missing_peer_apart() {
        let mut status = sample();
        first(&mut status).hop.fading_for = Duration::from_millis(300);
        contains(&status, &["in a fade for 300 ms"]);
        let peer = first(&mut status);
        (peer.keys_age, peer.registration) = (None, hosts::Registration::Unknown);
        contains(&status, &["not connected"]);
    }

    /// Unknown fields are ignored, optional ones that are missing are unknown values, and any other one that is missing
    /// is an error with its name.
    #[test]
    fn an_answer_of_another_version_makes_a_page_or_a_clear_error() {
        let mut answer: Value = serde_json::from_str(SEEN[0].0).unwrap();
        let read = |answer: &Value| serde_json::from_value::<Status>(answer.clone());
        answer["later"] = "unknown".into();
        answer["host"]["peers"][0]["hop"]["later"] = 1.into();
        assert_eq!(read(&answer).unwrap(), sample());
        let hop = answer["host"]["peers"][0]["hop"].as_object_mut().unwrap();
        hop.remove("rate").unwrap();
        let without_rate = read(&answer).unwrap();
        assert_eq!(without_rate.host.peers[0].hop.rate, None);
        let hop = answer["host"]["peers"][0]["hop"].as_object_mut().unwrap();
        hop.remove("flows").unwrap();
        let error = read(&answer).unwrap_err();
        assert_eq!(error.to_string(), "missing field `flows`");
    }
}
