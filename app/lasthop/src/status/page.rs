//! A status as a page for people.

use std::fmt::Write;

use serde_json::Value;
use units::{Bytes, Duration, Probability};

use super::{registration, transport};

/// Returns the page.
pub(super) fn render(status: &Value) -> String {
    let host = &status["host"];
    let mut page = format!(
        "lasthop {} {}, up {}\n{}\n",
        text(&status["version"]),
        text(&host["role"]),
        age(status["uptime_s"].as_f64().unwrap_or_default() as u64),
        text(&host["public_key"]),
    );
    let (held, most) = (text(&host["memory"]), text(&status["memory_most"]));
    line(
        &mut page,
        "memory",
        &format!("{held} held for others, at most {most} in all"),
    );
    for peer in host["peers"].as_array().into_iter().flatten() {
        page.push('\n');
        render_peer(&mut page, peer);
    }
    if let Some(split) = status.get("split") {
        page.push('\n');
        transport::render(&mut page, split);
    }
    let dropped: Vec<_> = host["datagrams_dropped"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|entry| format!("{} {}", number(&entry[1]), text(&entry[0])))
        .collect();
    let troubles = [
        (!dropped.is_empty()).then(|| format!("datagrams dropped: {}", dropped.join(", "))),
        some(
            &host["packets_unroutable"],
            "packets that belong to no peer",
        ),
        some(&host["frames_unsent"], "frames without keys or address"),
        some(
            &status["device"]["without_room"],
            "packets the TUN device had no room for",
        ),
        some(
            &status["bearer"]["without_room"],
            "datagrams the socket had no room for",
        ),
        some(
            &status["bearer"]["too_large"],
            "datagrams too large for the path",
        ),
        some(&status["bearer"]["refused"], "datagrams without a route"),
    ];
    let troubles: Vec<_> = troubles.into_iter().flatten().collect();
    if !troubles.is_empty() {
        line(&mut page, "\nthis host", &troubles.join("; "));
    }
    page
}

fn render_peer(page: &mut String, peer: &Value) {
    let hop = &peer["hop"];
    let (sent, received) = (&hop["stats"]["sent"], &hop["stats"]["received"]);
    let place = peer["endpoint"]
        .as_str()
        .map_or_else(String::new, |place| format!(" at {place}"));
    line(
        page,
        &format!("{}{place}", text(&peer["name"])),
        &state(peer),
    );
    if let Some(registration) = registration::describe(&peer["registration"]) {
        line(page, "  registered", &registration);
    }
    line(page, "  limited by", text(&peer["limit"]["words"]));
    let least = hop["round_trip_min"].as_str();
    let least = least.map_or_else(String::new, |least| format!(", least {least}"));
    line(page, "  rate from here", measured(&hop["rate"]));
    line(
        page,
        "  round trip",
        &format!("{}{least}", measured(&hop["round_trip"])),
    );
    line(page, "  path MTU", &path_mtu(hop));
    let out = share(&sent["frames_lost"], number(&sent["frames"]));
    let (causes, bursts) = (causes(&sent["causes"]), bursts(&sent["bursts"]));
    line(page, "  lost, outwards", &format!("{out}{causes}{bursts}"));
    let missed = number(&received["frames_missed"]);
    line(
        page,
        "  lost, inwards",
        &share(&missed.into(), number(&received["frames"]) + missed),
    );
    let fades = number(&sent["fades"]);
    line(
        page,
        "  fades",
        &format!("{fades}, {} in all", text(&sent["faded"])),
    );
    let (given_up, full) = (
        number(&sent["packets_abandoned"]),
        number(&sent["packets_dropped"]),
    );
    line(
        page,
        "  after repair",
        &format!("{given_up} packets lost; {full} dropped at a full queue"),
    );
    let queues = format!(
        "{} here ({}), {} on the hop, {} held for order",
        measured(&hop["queue_delay"]),
        text(&hop["queued"]),
        measured(&hop["hop_queueing"]),
        text(&hop["held"]),
    );
    line(page, "  queue", &queues);
    line(page, "  memory", &memory(hop));
    render_traffic(page, peer);
}

/// Describes the path MTU to the peer, and the largest packet that came from it.
fn path_mtu(hop: &Value) -> String {
    let bytes = |name: &str| match hop[name].as_u64() {
        Some(bytes) => format!("{bytes} B"),
        None => "not measured yet".into(),
    };
    let (out, back) = (bytes("path_mtu_bytes"), bytes("path_mtu_inwards_bytes"));
    format!("{out} outwards; longest from there {back}")
}

/// Adds the traffic of the hop.
fn render_traffic(page: &mut String, peer: &Value) {
    let hop = &peer["hop"];
    let (sent, received) = (&hop["stats"]["sent"], &hop["stats"]["received"]);
    let outwards = format!(
        "{} bulk, {} brief, {} on the air, {} of it repairs; {} flows",
        bytes(&sent["bytes_held"]),
        bytes(&sent["bytes_brief"]),
        bytes(&sent["wire_bytes"]),
        bytes(&sent["bytes_repeated"]),
        number(&hop["flows"]),
    );
    line(page, "  sent", &outwards);
    let inwards = format!(
        "{}, {} on the air",
        bytes(&received["bytes"]),
        bytes(&received["wire_bytes"])
    );
    line(page, "  received", &inwards);
    transport::render_hop(page, peer);
    if let Some(air) = peer.get("air") {
        line(page, "  turns", &turns(air));
    }
}

/// Describes the memory that is held for a peer, and the packets that were dropped by its limits.
fn memory(hop: &Value) -> String {
    let sent = &hop["stats"]["sent"];
    let common = number(&sent["packets_in_common"]);
    format!(
        "{} of {}; {} packets dropped for want of room, {} of flows that were too many{}",
        text(&hop["memory"]),
        text(&hop["memory_most"]),
        number(&sent["packets_capped"]),
        number(&hop["packets_of_refused_flows"]),
        if common > 0 {
            format!(" ({common} from here, which shared one flow)")
        } else {
            String::new()
        }
    )
}

/// Describes its share of an air that it shares with others.
fn turns(air: &Value) -> String {
    let marked = if air["is_marked"] == true {
        "comes last, since it hears nothing; "
    } else {
        ""
    };
    let length = air["burst_length"].as_str();
    let bursts = length.map_or_else(String::new, |length| format!(", of about {length} each"));
    format!(
        "{marked}{} so far, {} on the air, {:.1} % of it of late; {} waited; {} fades{bursts}",
        number(&air["served"]),
        text(&air["airtime"]),
        text(&air["airtime_share"])
            .parse()
            .map_or(0.0, Probability::as_f64)
            * 100.0,
        text(&air["queue_delay"]),
        number(&air["bursts"]),
    )
}

/// Returns the sum of two counters.
pub(super) fn sum(counters: &Value, names: [&str; 2]) -> u64 {
    names
        .iter()
        .filter_map(|name| counters[*name].as_u64())
        .sum()
}

/// Describes whether the peer is reachable.
fn state(peer: &Value) -> String {
    let fading = peer["hop"]["fading_for"].as_str().unwrap_or_default();
    match peer["keys_age"].as_str() {
        None => registration::absence(&peer["registration"]).into(),
        Some(_) if fading.parse().is_ok_and(|span: Duration| !span.is_zero()) => {
            format!("in a fade for {fading}")
        }
        Some(keys_age) => format!("connected, keys {} old", seconds(keys_age)),
    }
}

/// Describes the causes of losses, as far as they are known; empty without losses.
fn causes(causes: &Value) -> String {
    let named = [
        ("fade", "in fades"),
        ("air", "on the air outside fades"),
        ("congestion", "at a full queue on the way"),
        ("unknown", "for causes not known yet"),
    ];
    let named = named
        .iter()
        .filter_map(|(cause, name)| some(&causes[*cause], name));
    let named: Vec<_> = named.collect();
    if named.is_empty() {
        String::new()
    } else {
        format!(": {}", named.join(", "))
    }
}

/// Describes the numbers of bursts of losses by their length; class n has bursts of 2ⁿ to 2ⁿ⁺¹ − 1 transmissions.
fn bursts(classes: &Value) -> String {
    let classes: Vec<_> = classes
        .as_array()
        .into_iter()
        .flatten()
        .map(number)
        .collect();
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

pub(super) fn share(part: &Value, whole: u64) -> String {
    let part = number(part);
    let percent = if whole == 0 {
        0.0
    } else {
        part as f64 * 100.0 / whole as f64
    };
    format!("{percent:.2} % ({part} of {whole})")
}

pub(super) fn some(count: &Value, what: &str) -> Option<String> {
    (number(count) > 0).then(|| format!("{} {what}", number(count)))
}

pub(super) fn line(page: &mut String, name: &str, content: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(page, "{name:<17} {content}");
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

/// Returns a measured value, or that there is none yet.
fn measured(value: &Value) -> &str {
    value.as_str().unwrap_or("not measured yet")
}

pub(super) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

pub(super) fn bytes(value: &Value) -> Bytes {
    Bytes::from(number(value) as usize)
}

/// Returns a span in the form in which the page shows ages.
pub(super) fn seconds(span: &str) -> String {
    span.parse().map_or_else(
        |_| span.into(),
        |span: Duration| age(span.as_millis() / 1000),
    )
}

fn age(seconds: u64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes} min {} s", seconds % 60),
        _ => format!("{hours} h {} min", minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stats() -> Value {
        json!({
            "sent": {
                "frames": 1000, "frames_lost": 60, "bursts": [4, 0, 14, 0],
                "causes": { "congestion": 50, "air": 10, "fade": 0, "unknown": 0 },
                "packets_abandoned": 1, "packets_dropped": 2, "fades": 4,
                "packets_capped": 5, "packets_in_common": 7,
                "faded": "1.2 s", "wire_bytes": 2048, "bytes_repeated": 1024,
                "bytes_held": 1024, "bytes_brief": 0
            },
            "received": { "frames": 99, "frames_missed": 1, "bytes": 1, "wire_bytes": 2 }
        })
    }

    fn sample() -> Value {
        json!({
            "version": "0.1.0", "uptime_s": 200.4, "memory_most": "160 MiB",
            "device": { "without_room": 0 },
            "bearer": { "without_room": 0, "too_large": 0, "refused": 2 },
            "host": {
                "role": "mobile", "public_key": "lasthop-pk1-x", "memory": "44 KiB",
                "datagrams_dropped": [["Replayed", 3]], "packets_unroutable": 0, "frames_unsent": 0,
                "peers": [{
                    "name": "gateway", "endpoint": "192.0.2.1:51830", "keys_age": "61.5 s",
                    "limit": { "by": "own-queue", "words": "the hop's rate" },
                    "hop": {
                        "rate": "2 Mbit/s", "round_trip": "12 ms", "round_trip_min": "10 ms",
                        "hop_queueing": "1 ms", "queue_delay": "12 ms", "queued": "4 KiB", "held": "0 B",
                        "memory": "40 KiB", "memory_most": "96 MiB", "packets_of_refused_flows": 9,
                        "flows": 3, "fading_for": "0 ns", "path_mtu_bytes": 1492,
                        "stats": stats()
                    }
                }]
            }
        })
    }

    #[test]
    fn says_what_people_ask() {
        let page = render(&sample());
        for part in [
            "lasthop 0.1.0 mobile, up 3 min 20 s",
            "gateway at 192.0.2.1:51830 connected, keys 1 min 1 s old",
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
            "memory            44 KiB held for others, at most 160 MiB in all",
            "12 ms here (4 KiB), 1 ms on the hop, 0 B held for order",
            "3 Replayed; 2 datagrams without a route",
        ] {
            assert!(page.contains(part), "no '{part}' in:\n{page}");
        }
    }

    #[test]
    fn says_who_repairs_tcp() {
        let mut status = sample();
        assert!(render(&status).contains("repaired by the link layer"));
        let tcp = |status: &mut Value, value| status["host"]["peers"][0]["hop"]["tcp"] = value;
        tcp(&mut status, json!({ "method": "plain", "cached": "0 B" }));
        assert!(render(&status).contains("not repaired here"));
        let agent =
            json!({ "repairs": 7, "timeouts": 2, "held": 30, "upload": { "gaps": 4, "asked": 5 } });
        let value = json!({ "method": "snoop", "cached": "9 KiB", "agent": agent, "mobile": null });
        tcp(&mut status, value);
        let page = render(&status);
        let agent = "snoop: 7 segments sent again (2 by timer), 30 acknowledgements held back; 4 gaps \
                     from there, asked for 5 times; 9 KiB cached";
        assert!(page.contains(agent), "{page}");
        let mobile = json!({ "asked": 3, "repairs": 6, "held": 1 });
        let value =
            json!({ "method": "snoop", "cached": "1 KiB", "agent": null, "mobile": mobile });
        tcp(&mut status, value);
        let page = render(&status);
        let mobile =
            "asked 3 times, 6 segments sent again, 1 acknowledgements held back; 1 KiB cached";
        assert!(page.contains(mobile), "{page}");
    }

    #[test]
    fn says_how_streams_fare() {
        let mut status = sample();
        assert!(!render(&status).contains("streams"));
        status["host"]["peers"][0]["hop"]["streams"] = json!({
            "profile": "wide",
            "connections": 3,
            "counters": {
                "connections": { "opened": 4, "arrived": 5 },
                "traffic": { "sent": { "bytes": 3000, "repaired_bytes": 2000, "requests": 7 } },
            },
        });
        let page = render(&status);
        let told = "3 connections by wide MTCP of 9 that were made; 2.93 KiB sent, of which \
                    1.953 KiB again; asked 7 times";
        assert!(page.contains(told), "{page}");
    }

    #[test]
    fn says_what_of_the_air_a_mobile_gets() {
        let mut status = sample();
        status["host"]["peers"][0]["air"] = json!({
            "is_marked": true, "served": 70, "airtime": "3 s", "airtime_share": "12.345678 %",
            "queue_delay": "80 ms", "bursts": 3, "burst_length": "40 ms"
        });
        let page = render(&status);
        let turns = "comes last, since it hears nothing; 70 so far, 3 s on the air, 12.3 % of it of late; \
                     80 ms waited; 3 fades, of about 40 ms each";
        assert!(page.contains(turns), "{page}");
    }

    #[test]
    fn what_is_not_measured_is_not_shown_as_measured() {
        let mut status = sample();
        let hop = &mut status["host"]["peers"][0]["hop"];
        for name in [
            "rate",
            "round_trip",
            "round_trip_min",
            "hop_queueing",
            "queue_delay",
        ] {
            hop[name] = Value::Null;
        }
        let page = render(&status);
        for part in [
            "rate from here  not measured yet",
            "round trip      not measured yet\n",
            "not measured yet here (4 KiB), not measured yet on the hop",
        ] {
            assert!(page.contains(part), "no '{part}' in:\n{page}");
        }
    }

    #[test]
    fn tells_a_fade_and_a_missing_peer_apart() {
        let mut status = sample();
        status["host"]["peers"][0]["hop"]["fading_for"] = json!("300 ms");
        assert!(render(&status).contains("in a fade for 300 ms"));
        status["host"]["peers"][0]["keys_age"] = Value::Null;
        assert!(render(&status).contains("not connected"));
    }

    #[test]
    fn an_answer_of_another_version_makes_a_page_too() {
        assert!(render(&json!({ "host": { "peers": [{}] } })).contains("not connected"));
    }
}
