//! Words and numbers that fit a column.

use std::fmt::Write;

use hosts::{LimitedBy, PeerSummary, Registration, SiteStatus};
use units::Duration;

/// Text for what is not measured yet.
pub(crate) const UNKNOWN: &str = "-";

/// Kind of a peer's state, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    Connected,
    Fading,
    Absent,
}

/// Returns the state of a peer, and since when: at most 18 characters.
pub(crate) fn state(peer: &PeerSummary) -> (Condition, String) {
    let since = |span: Duration| age(span.as_millis() / 1_000);
    if let Some(place) = peer.site.as_ref().and_then(place) {
        return (Condition::Connected, cut(&place, 18));
    }
    match peer.registration {
        Registration::Registered { lasted, .. } if peer.is_connected => match peer.fading_ms {
            0 => (Condition::Connected, format!("connected {}", since(lasted))),
            faded => (
                Condition::Fading,
                format!("in a fade {}", age(faded / 1_000)),
            ),
        },
        Registration::Left { ago } => (Condition::Absent, format!("left {} ago", since(ago))),
        Registration::Expired { ago } => (Condition::Absent, format!("silent {}", since(ago))),
        Registration::Unknown => (Condition::Absent, "never connected".into()),
        Registration::Registered { .. } => (Condition::Absent, "not connected".into()),
    }
}

/// Returns where a peer is if it is not connected here, in a site with several gateways.
pub(crate) fn place(site: &SiteStatus) -> Option<String> {
    match site {
        SiteStatus::At(gateway) => Some(format!("at {gateway}")),
        SiteStatus::Reserve => Some("in reserve".into()),
        SiteStatus::Relays => Some("relays".into()),
        SiteStatus::StandsIn => Some("stands in".into()),
        SiteStatus::Elsewhere => Some("elsewhere".into()),
        SiteStatus::Serves | SiteStatus::Here | SiteStatus::Gateway => None,
    }
}

/// Returns a span in one unit: at most 7 characters.
pub(crate) fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Returns what limits the hop: at most 16 characters.
pub(crate) fn limit(by: LimitedBy) -> &'static str {
    match by {
        LimitedBy::Application => "nothing",
        LimitedBy::Air => "the air",
        LimitedBy::QueueOnTheWay => "queue on the way",
        LimitedBy::OwnQueue => "the hop's rate",
        LimitedBy::ProcessorHere => "this processor",
        LimitedBy::ProcessorThere => "its processor",
        LimitedBy::PathMtu => "the path MTU",
        LimitedBy::KeyShared => "a shared key",
        LimitedBy::PeerGone => "not heard",
        LimitedBy::PortRefused => "port refused",
        LimitedBy::NotAuthorised => "keys differ",
    }
}

/// Returns a rate with three digits: at most 11 characters.
pub(crate) fn rate(bits_per_second: u64) -> String {
    scaled(bits_per_second, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"])
}

/// Returns a span with three digits: at most 7 characters, if it is shorter than 1,000 s.
pub(crate) fn span(microseconds: Option<u64>) -> String {
    let scaled = |span| scaled(span, &["us", "ms", "s"]);
    microseconds.map_or_else(|| UNKNOWN.into(), scaled)
}

/// Returns the share of frames that the air lost in the last minute: at most 7 characters.
pub(crate) fn loss(peer: &PeerSummary) -> String {
    let (lost, sent) = (peer.recent.frames_lost_on_air, peer.recent.frames_sent);
    match sent {
        0 => UNKNOWN.into(),
        _ => format!("{:.1} %", lost as f64 * 100.0 / sent as f64),
    }
}

/// Cuts a text to `width` characters.
pub(crate) fn cut(text: &str, width: usize) -> String {
    // What others have chosen must not control the terminal.
    let is_safe = |c: char| if c.is_control() { '?' } else { c };
    if text.chars().count() <= width {
        return text.chars().map(is_safe).collect();
    }
    let kept = text.chars().map(is_safe).take(width.saturating_sub(1));
    kept.chain(['…']).collect()
}

/// Writes three digits of a number in the largest of these units, each a thousand times the one before.
fn scaled(value: u64, units: &[&str]) -> String {
    let (mut unit, mut factor) = (0, 1.0);
    // 999.5 would become 1000 by rounding.
    while value as f64 >= 999.5 * factor && unit + 1 < units.len() {
        unit += 1;
        factor *= 1_000.0;
    }
    let value = value as f64 / factor;
    let decimals = match value {
        _ if unit == 0 => 0,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    let mut text = format!("{value:.decimals$}");
    // Writing to a string cannot fail.
    let _ = write!(text, " {}", units[unit]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let rates = [
            (0, "0 bit/s"),
            (999, "999 bit/s"),
            (1_000, "1.00 kbit/s"),
            (9_994, "9.99 kbit/s"),
            (9_996, "10.0 kbit/s"),
            (999_499, "999 kbit/s"),
            (999_500, "1.00 Mbit/s"),
            (12_345_678, "12.3 Mbit/s"),
            (123_456_789_012, "123 Gbit/s"),
        ];
        for (bits, text) in rates {
            assert_eq!(rate(bits), text);
        }
        let spans = [None, Some(800), Some(45_006), Some(2_500_000)].map(span);
        assert_eq!(spans, ["-", "800 us", "45.0 ms", "2.50 s"]);
    }

    #[test]
    fn ages_have_one_unit() {
        let ages = [0, 119, 120, 7_199, 7_200, 172_799, 172_800].map(age);
        assert_eq!(
            ages,
            ["0 s", "119 s", "2 min", "119 min", "2 h", "47 h", "2 d"]
        );
    }

    #[test]
    fn a_text_is_cut_to_its_column_and_cannot_control_the_terminal() {
        assert_eq!(cut("tablet7", 7), "tablet7");
        assert_eq!(cut("tablet17", 7), "tablet…");
        assert_eq!(cut("\u{1b}[2Jx", 9), "?[2Jx");
    }
}
