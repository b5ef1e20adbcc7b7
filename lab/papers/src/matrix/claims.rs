//! General statements of the papers, judged on every channel.

use experiment::{Claim, Table, Unknown, Verdict};

/// Name of the axis.
const CHANNEL: &str = "channel";
/// The scheme that the comparison recommends.
const BEST_LINK: &str = "LL-SMART-TCP-AWARE";
const END_TO_END: &[&str] = &[
    "E2E",
    "E2E-NEWRENO",
    "E2E-SMART",
    "E2E-IETF-SACK",
    "E2E-ELN",
    "E2E-ELN-RXMT",
    "E2E-SACK-ELN",
    "E2E-SACK-NEW",
];

const COMPARISON: &str = "Balakrishnan et al. 1997, conclusions";
const MTCP: &str = "Haas, Warkhedi 2000, Figures 10a and 10b";

/// A claim that one scheme is faster than others on every channel.
macro_rules! faster {
    ($name:literal, $source:expr, $text:literal, $fast:expr, $slow:expr) => {
        Claim {
            name: $name,
            source: $source,
            text: $text,
            judge: |table| everywhere(table, $fast, $slow),
        }
    };
}

/// Returns all claims.
pub(super) fn all() -> Vec<Claim> {
    vec![
        faster!(
            "link-over-end-to-end",
            COMPARISON,
            "A link layer that knows TCP is faster than every end-to-end scheme, on every channel",
            BEST_LINK,
            END_TO_END
        ),
        faster!(
            "link-over-split",
            COMPARISON,
            "It is faster than split connections, too",
            BEST_LINK,
            &["SPLIT", "SPLIT-SMART", "I-TCP"]
        ),
        faster!(
            "marks-over-reno",
            COMPARISON,
            "Explicit loss notification is faster than plain TCP on every channel",
            "E2E-ELN",
            &["E2E"]
        ),
        faster!(
            "mtcp-over-i-tcp",
            MTCP,
            "MTCP is faster than connections that are split into two of TCP, on every channel",
            "MTCP",
            &["SPLIT", "I-TCP"]
        ),
        faster!(
            "i-tcp-over-tcp",
            MTCP,
            "Connections split into two of Reno are faster than one of Reno, on every channel",
            "SPLIT",
            &["E2E"]
        ),
    ]
}

/// Returns a verdict that holds if `fast` is faster than each of `slow` on every channel: the 95 % confidence interval
/// of the difference on common seeds must exclude zero.
fn everywhere(table: &Table, fast: &str, slow: &[&str]) -> Result<Verdict, Unknown> {
    let (mut channels, mut fails) = (Vec::new(), Vec::new());
    for channel in table.cases().iter().filter_map(|case| case.label(CHANNEL)) {
        if !channels.contains(&channel) {
            channels.push(channel);
        }
    }
    let mut least = f64::INFINITY;
    for channel in &channels {
        for scheme in slow {
            let at = [(CHANNEL, *channel)];
            let paired = table.paired([fast, scheme], &at, "throughput")?;
            least = least.min(paired.ratio);
            if paired.difference.mean <= 0.0 || !paired.is_significant() {
                fails.push(format!("{channel}: {:.2} times {scheme}", paired.ratio));
            }
        }
    }
    let numbers = match fails.as_slice() {
        [] => format!("at least {least:.2} times"),
        fails => format!("not on {}", fails.join("; ")),
    };
    Ok(Verdict::of(fails.is_empty(), numbers))
}
