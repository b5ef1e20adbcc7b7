//! A status with one line for each peer.

use std::fmt::Write;

use hosts::{PeerSummary, Role, SiteStatus};
use runtime::Summary;

use super::short::{self, Condition};
use super::text::age;
use super::{names, trouble};

/// Widths of the columns; with two spaces between them, a line has at most 100 characters.
const WIDTHS: [usize; 7] = [13, 18, 11, 11, 16, 11, 8];
const HEADERS: [&str; 7] = [
    "peer",
    "state",
    "to it",
    "from it",
    "limited by",
    "lost on air",
    "rtt",
];
/// Columns of numbers, which stand at the right.
const NUMBERS: [bool; 7] = [false, false, true, true, false, true, true];

/// Returns the lines.
pub(super) fn render(summary: &Summary, has_colours: bool) -> String {
    let (version, up) = (&summary.version, age(summary.uptime_s as u64));
    let Some(host) = &summary.host else {
        return format!("lasthop {version}, up {up}\n");
    };
    let is_mobile = |peer: &&PeerSummary| peer.site != Some(SiteStatus::Gateway);
    let mobiles = host.peers.iter().filter(is_mobile);
    let is_at = |peer: &&PeerSummary| matches!(peer.site, Some(SiteStatus::At(_)));
    let connected = mobiles
        .clone()
        .filter(|peer| peer.is_connected || is_at(peer));
    let connected = connected.count();
    let (role, peers) = match host.role {
        Role::Mobile => ("mobile", None),
        Role::Gateway => ("gateway", Some(mobiles.count())),
    };
    let count = peers.map_or_else(String::new, |peers| {
        format!("; {connected} of {peers} mobile hosts connected")
    });
    let mut page = format!("lasthop {version} {role}, up {up}{count}\n");
    if host.peers.is_empty() {
        page.push_str("no mobile host yet; `lasthop invite --name NAME` invites one\n");
        return page;
    }
    page.push_str(&row(&HEADERS.map(str::to_owned)));
    let mut has_unknown = false;
    for peer in &host.peers {
        let (condition, cells) = cells(peer);
        has_unknown |= cells.iter().any(|cell| cell == short::UNKNOWN);
        let line = row(&cells);
        let colour = match condition {
            Condition::Connected => None,
            Condition::Fading => Some("33"),
            Condition::Absent => Some("31"),
        };
        match colour.filter(|_| has_colours) {
            Some(colour) => paint(&mut page, colour, &line),
            None => page.push_str(&line),
        }
    }
    // Writing to a string cannot fail.
    for peer in &host.peers {
        if let Some(trouble) = &peer.trouble {
            let _ = writeln!(page, "{}: {}", peer.name, trouble::words(trouble));
        }
    }
    if let Some(warning) = summary.names.as_ref().and_then(names::warning) {
        page.push_str(&warning);
        page.push('\n');
    }
    if has_unknown {
        let unknown = short::UNKNOWN;
        let _ = writeln!(page, "{unknown} = not measured yet");
    }
    page
}

fn cells(peer: &PeerSummary) -> (Condition, [String; 7]) {
    let (condition, state) = short::state(peer);
    let recent = &peer.recent;
    let cells = [
        short::cut(&peer.name, WIDTHS[0]),
        state,
        short::rate(recent.to_peer_bits_per_s),
        short::rate(recent.from_peer_bits_per_s),
        short::limit(peer.limited_by).into(),
        short::loss(peer),
        short::span(peer.round_trip_us),
    ];
    (condition, cells)
}

fn row(cells: &[String; 7]) -> String {
    let mut line = String::new();
    for ((cell, width), is_number) in cells.iter().zip(WIDTHS).zip(NUMBERS) {
        let _ = if is_number {
            write!(line, "{cell:>width$}  ")
        } else {
            write!(line, "{cell:width$}  ")
        };
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}

fn paint(page: &mut String, colour: &str, line: &str) {
    let _ = writeln!(page, "\u{1b}[{colour}m{}\u{1b}[0m", line.trim_end());
}

#[cfg(test)]
mod tests {
    use hosts::LimitedBy;
    use runtime::Status;

    use super::*;

    /// The summary of a gateway's status that a daemon has given.
    fn sample() -> Summary {
        let status: Status = serde_json::from_str(include_str!("gateway.json")).unwrap();
        let peers = status.host.peers.iter().enumerate();
        Summary {
            names: None,
            version: status.version,
            uptime_s: status.uptime_s,
            host: Some(hosts::Summary {
                role: status.host.role,
                peers: peers
                    .map(|(number, peer)| PeerSummary::of(number, peer))
                    .collect(),
                more_from: None,
            }),
        }
    }

    fn peers(summary: &mut Summary) -> &mut Vec<PeerSummary> {
        &mut summary.host.as_mut().unwrap().peers
    }

    #[test]
    fn there_is_a_line_for_each_peer() {
        let mut summary = sample();
        let peers = peers(&mut summary);
        let first = &mut peers[1];
        (first.limited_by, first.fading_ms) = (LimitedBy::Air, 3_100);
        let mut other = peers[0].clone();
        (other.name, other.is_connected) = ("tablet7".into(), false);
        other.limited_by = LimitedBy::PeerGone;
        other.registration = hosts::Registration::Unknown;
        (other.recent, other.round_trip_us) = (association::RecentTraffic::default(), None);
        other.trouble = Some(hosts::Trouble {
            code: hosts::TroubleCode::Silent,
            words: "it does not answer".into(),
        });
        peers.push(other);
        let expected = "\
lasthop 0.1.0 gateway, up 13 s; 2 of 3 mobile hosts connected
peer           state                     to it      from it  limited by        lost on air       rtt
m1             connected 13 s          0 bit/s  1.21 Mbit/s  nothing                11.0 %   45.0 ms
m2             in a fade 3 s       5.73 Mbit/s  22.4 kbit/s  the air                 4.6 %   45.8 ms
tablet7        never connected         0 bit/s      0 bit/s  not heard                   -         -
tablet7: it does not answer (silent)
- = not measured yet
";
        assert_eq!(render(&summary, false), expected);
        let coloured = render(&summary, true);
        assert!(coloured.contains("\u{1b}[33mm2 ") && coloured.contains("\u{1b}[31mtablet7 "));
        let plain = coloured.replace("\u{1b}[33m", "").replace("\u{1b}[31m", "");
        assert_eq!(plain.replace("\u{1b}[0m", ""), expected);
    }

    #[test]
    fn the_longest_values_fit_a_hundred_columns() {
        let mut summary = sample();
        let peers = peers(&mut summary);
        for peer in peers.iter_mut() {
            peer.name = "a-name-that-is-much-too-long".into();
            peer.limited_by = LimitedBy::QueueOnTheWay;
            peer.recent.to_peer_bits_per_s = 999_000_000_000;
            peer.recent.from_peer_bits_per_s = 99_900_000;
            peer.recent.frames_lost_on_air = peer.recent.frames_sent;
            peer.round_trip_us = Some(999_000_000);
        }
        let ago = units::Duration::from_secs(119);
        peers[0].is_connected = false;
        peers[0].registration = hosts::Registration::Left { ago };
        for line in render(&summary, false).lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }

    #[test]
    fn a_gateway_without_mobile_hosts_says_so() {
        let mut summary = sample();
        peers(&mut summary).clear();
        let page = render(&summary, false);
        assert!(page.contains("0 of 0 mobile hosts") && page.contains("lasthop invite"));
    }
}
