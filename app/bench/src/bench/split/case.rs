//! The compared transports, and the airs.

use std::fmt::Write;

use clap::ValueEnum;
use serde::Serialize;

/// Bits of the longest frame: 1,500 bytes of IP and 14 of Ethernet.
const LONGEST: i32 = 1_514 * 8;
/// Probability, per bit, that a bad state ends. It is the paper's: a bad state lasts for 10,000 bits on average.
const P_GOOD: f64 = 1e-4;

/// Transport of TCP across the hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Scheme {
    /// The kernel's TCP from end to end, without a daemon
    Tcp,
    /// Split at the gateway, with the kernel's TCP on the hop
    ITcp,
    /// Split, with MTCP as in its paper
    Mtcp,
    /// Split, with the wide profile of MTCP
    MtcpWide,
    /// As `mtcp-wide`, and the mobile host keeps no timers
    MtcpWideLean,
    /// The kernel's TCP from end to end, with link repair on the hop
    Arq,
}

impl Scheme {
    /// Returns the name in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::ITcp => "I-TCP",
            Self::Mtcp => "MTCP",
            Self::MtcpWide => "MTCP, wide",
            Self::MtcpWideLean => "MTCP, wide, lean",
            Self::Arq => "arq",
        }
    }

    /// Returns the gateway's configuration for its mobile host; `None` if no daemon runs.
    pub(super) fn of_gateway(self) -> Option<&'static str> {
        Some(match self {
            Self::Tcp => return None,
            Self::ITcp => "tcp = \"split\"\nsplit_transport = \"kernel-tcp\"\n",
            Self::Mtcp => "tcp = \"split\"\nsplit_transport = \"mtcp\"\n",
            Self::MtcpWide | Self::MtcpWideLean => {
                "tcp = \"split\"\nsplit_transport = \"mtcp-wide\"\n"
            }
            Self::Arq => "tcp = \"arq\"\n",
        })
    }

    /// Returns the configuration of the mobile host.
    pub(super) fn of_mobile(self) -> &'static str {
        match self {
            Self::MtcpWideLean => "[split]\nlean = true\n",
            Self::Tcp | Self::ITcp | Self::Mtcp | Self::MtcpWide | Self::Arq => "",
        }
    }

    /// Returns true if connections end at the gateway.
    pub(super) fn is_split(self) -> bool {
        !matches!(self, Self::Tcp | Self::Arq)
    }

    /// Returns true if the mobile host's daemon accepts connections.
    pub(super) fn is_diverted(self) -> bool {
        self.is_split() && self != Self::ITcp
    }
}

/// One case of the bench.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Case {
    pub(super) scheme: Scheme,
    /// Rate of the air in Mbit/s, for both directions together.
    pub(super) hop: f64,
    /// Lost packets of full length, in per cent.
    pub(super) lost: f64,
    pub(super) seed: u64,
    /// True if the mobile host sends as well, on the same connection.
    pub(super) both_ways: bool,
}

impl Case {
    /// Returns the air, as `lasthop emulate` reads it.
    pub(super) fn link(&self) -> String {
        let mut text = format!(
            "medium = \"half-duplex\"\n\
             [each]\nrate = \"{} Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"50 packets\"\n",
            self.hop
        );
        if self.lost > 0.0 {
            // Writing to a string cannot fail. Both directions drive one chain, as in the lab's `mtcp00`.
            let _ = write!(
                text,
                "[errors]\nmodel = \"markov\"\np_b = {:e}\np_g = {P_GOOD:e}\nstate = \"shared\"\n",
                going_bad(self.lost / 100.0)
            );
        }
        text
    }

    /// Returns a description for progress and failures.
    pub(super) fn describe(&self) -> String {
        let ways = if self.both_ways { "both ways, " } else { "" };
        let (name, hop, lost, seed) = (self.scheme.name(), self.hop, self.lost, self.seed);
        format!("{name}, {ways}{hop} Mbit/s, {lost} % lost, seed {seed}")
    }
}

/// Returns the probability, per bit, that a bad state begins, for which this share of the longest packets meets one.
fn going_bad(share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 0.01);
    // Halves the interval down to the resolution of a number.
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if damaged(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Returns the share of the longest packets with a bad bit (Haas and Warkhedi 2000, before the simplification of eq.
/// 4).
fn damaged(p_bad: f64) -> f64 {
    let good = P_GOOD / (P_GOOD + p_bad);
    1.0 - good * (1.0 - p_bad).powi(LONGEST - 1)
}

#[cfg(test)]
mod tests {
    use super::{Case, Scheme, going_bad};

    #[test]
    fn the_papers_chances_give_its_packet_error_rates() {
        for (lost, p_bad) in [(0.0022, 1e-7), (0.0216, 1e-6), (0.195, 1e-5)] {
            let found = going_bad(lost);
            assert!((found / p_bad - 1.0).abs() < 0.02, "{lost}: {found}");
        }
    }

    #[test]
    fn an_air_without_losses_has_no_error_model() {
        let case = |lost| Case {
            scheme: Scheme::Tcp,
            hop: 1.6,
            lost,
            seed: 1,
            both_ways: false,
        };
        assert!(!case(0.0).link().contains("errors"));
        assert!(case(1.0).link().contains("p_b = 4."));
    }
}
