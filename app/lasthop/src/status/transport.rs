//! The handling of TCP, for people.

use serde_json::Value;
use units::Probability;

use super::page::{bytes, line, number, some, sum, text};

/// Adds the handling of a peer's TCP on the hop.
pub(super) fn render_hop(page: &mut String, peer: &Value) {
    let hop = &peer["hop"];
    match peer.get("choice") {
        Some(choice) => line(page, "  tcp", &chosen(choice)),
        None => line(page, "  tcp", &tcp(&hop["tcp"])),
    }
    if let Some(found) = hop.get("streams") {
        line(page, "  streams", &streams(found));
    }
}

/// Adds the results of connections that are split here, or were not.
pub(super) fn render(page: &mut String, split: &Value) {
    line(page, "split", &split_tcp(split));
    if let Some(choices) = split.get("choices") {
        line(page, "  chosen", &counts(&choices["counts"]));
        for choice in choices["latest"].as_array().into_iter().flatten() {
            line(page, "", &latest(choice));
        }
    }
}

/// Texts for the reasons why new connections cross in one way or the other.
const REASONS: [(&str, &str); 5] = [
    ("unmeasured", "as the hop is not measured yet"),
    ("short", "as the hop is short"),
    ("clean", "as the hop loses next to nothing"),
    ("long", "as the hop is long"),
    ("lossy", "as the hop loses much"),
];

fn reason(because: &Value) -> &'static str {
    let because = text(because);
    let known = REASONS.into_iter().find(|(name, _)| *name == because);
    known.map_or(
        "for a reason that this version does not know",
        |(_, reason)| reason,
    )
}

fn way(choice: &Value) -> &'static str {
    if choice["split"] == true {
        "split"
    } else {
        "repaired by the link layer"
    }
}

/// Describes the handling of connections that begin now.
fn chosen(choice: &Value) -> String {
    format!(
        "chosen for each connection; now {}, {} ({})",
        way(choice),
        reason(&choice["because"]),
        hop(choice),
    )
}

/// Describes the state of the hop at the choice.
fn hop(choice: &Value) -> String {
    let round_trip = choice["round_trip"].as_str();
    let loss: Option<Probability> = choice["loss"].as_str().and_then(|loss| loss.parse().ok());
    format!(
        "round trip {}, {}",
        round_trip.unwrap_or("unknown"),
        loss.map_or("loss unknown".into(), |loss| format!(
            "{:.1} % lost",
            loss.as_f64() * 100.0
        )),
    )
}

/// Describes the number of connections by choice and reason.
fn counts(counts: &Value) -> String {
    let counts = counts.as_array().into_iter().flatten();
    let counts = counts.filter(|count| number(&count["connections"]) > 0);
    let describe = |count: &Value| {
        let connections = number(&count["connections"]);
        format!(
            "{connections} {}, {}",
            way(count),
            reason(&count["because"])
        )
    };
    let counts: Vec<_> = counts.map(describe).collect();
    counts.join("; ")
}

/// Describes the latest connection with a choice.
fn latest(choice: &Value) -> String {
    format!(
        "{} to {}: {}, {} ({})",
        text(&choice["source"]),
        text(&choice["destination"]),
        way(choice),
        reason(&choice["because"]),
        hop(choice),
    )
}

/// Describes the results of connections that are split here.
fn split_tcp(split: &Value) -> String {
    let ends = [
        ("refused", "refused by fixed hosts"),
        ("without_room", "without room"),
        ("reset", "reset"),
        ("idle", "idle for too long"),
    ];
    let ends = ends.map(|(key, what)| some(&split[key], what));
    let ends: Vec<_> = ends.into_iter().flatten().collect();
    let more = if ends.is_empty() { "" } else { "; " };
    format!(
        "{} connections of {} open; {} to mobiles, {} to fixed hosts{more}{}",
        number(&split["open"]),
        number(&split["asked"]),
        bytes(&split["bytes_to_mobiles"]),
        bytes(&split["bytes_to_fixed"]),
        ends.join(", "),
    )
}

/// Describes the state of connections that cross as MTCP.
fn streams(streams: &Value) -> String {
    let counters = &streams["counters"];
    let sent = &counters["traffic"]["sent"];
    format!(
        "{} connections by {} MTCP of {} that were made; {} sent, of which {} again; asked {} times for what was lost",
        number(&streams["connections"]),
        text(&streams["profile"]),
        sum(&counters["connections"], ["opened", "arrived"]),
        bytes(&sent["bytes"]),
        bytes(&sent["repaired_bytes"]),
        number(&sent["requests"]),
    )
}

/// Describes the handling of TCP, and the work of the snoop agent.
fn tcp(tcp: &Value) -> String {
    let method = match text(&tcp["method"]) {
        "snoop" => "repaired by snoop",
        "plain" => return "not repaired here".into(),
        _ => return "repaired by the link layer".into(),
    };
    let cached = text(&tcp["cached"]);
    let agent = tcp.get("agent").filter(|agent| agent.is_object());
    let mobile = tcp.get("mobile").filter(|mobile| mobile.is_object());
    let did = agent.map(agent_did).or_else(|| mobile.map(mobile_did));
    format!("{method}: {}{cached} cached", did.unwrap_or_default())
}

fn agent_did(agent: &Value) -> String {
    format!(
        "{} segments sent again ({} by timer), {} acknowledgements held back; {} gaps from there, \
         asked for {} times; ",
        number(&agent["repairs"]),
        number(&agent["timeouts"]),
        number(&agent["held"]),
        number(&agent["upload"]["gaps"]),
        number(&agent["upload"]["asked"]),
    )
}

fn mobile_did(mobile: &Value) -> String {
    format!(
        "asked {} times, {} segments sent again, {} acknowledgements held back; ",
        number(&mobile["asked"]),
        number(&mobile["repairs"]),
        number(&mobile["held"]),
    )
}
