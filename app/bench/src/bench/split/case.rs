//! What is compared, and over which air.

use std::fmt::Write;

use clap::ValueEnum;
use serde::Serialize;

/// Bits of the longest frame: 1,500 bytes of IP and 14 of Ethernet.
const LONGEST: i32 = 1_514 * 8;
/// From bit to bit, the chance that a bad state ends; the paper's, so that one lasts for 10,000 bits in the mean.
const P_GOOD: f64 = 1e-4;

/// What carries TCP across the hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Scheme {
    /// The kernel's TCP from end to end, without any daemon
    Tcp,
    /// Split at the gateway, with the kernel's TCP on the hop
    ITcp,
    /// Split, with MTCP as in its paper
    Mtcp,
    /// Split, with the wide profile of MTCP
    MtcpWide,
    /// The same, and the mobile host keeps no timers
    MtcpWideLean,
    /// The kernel's TCP from end to end, repaired on the hop
    Arq,
}

impl Scheme {
    /// As tables name it.
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

    /// What the gateway is told of its mobile host; nothing where no daemon runs.
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

    /// What the mobile host is told.
    pub(super) fn of_mobile(self) -> &'static str {
        match self {
            Self::MtcpWideLean => "[split]\nlean = true\n",
            Self::Tcp | Self::ITcp | Self::Mtcp | Self::MtcpWide | Self::Arq => "",
        }
    }

    /// Whether connections end at the gateway.
    pub(super) fn is_split(self) -> bool {
        !matches!(self, Self::Tcp | Self::Arq)
    }

    /// Whether the mobile host's daemon takes connections in.
    pub(super) fn is_diverted(self) -> bool {
        self.is_split() && self != Self::ITcp
    }
}

/// One thing to measure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Case {
    pub(super) scheme: Scheme,
    /// The rate of the air in Mbit/s, for both directions together.
    pub(super) hop: f64,
    /// Of packets of full length, how many are lost, in per cent.
    pub(super) lost: f64,
    pub(super) seed: u64,
    /// Whether the mobile host sends as well, on the same connection.
    pub(super) both_ways: bool,
}

impl Case {
    /// The air, as `lasthop emulate` reads it.
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

    /// For progress and failures.
    pub(super) fn describe(&self) -> String {
        let ways = if self.both_ways { "both ways, " } else { "" };
        let (name, hop, lost, seed) = (self.scheme.name(), self.hop, self.lost, self.seed);
        format!("{name}, {ways}{hop} Mbit/s, {lost} % lost, seed {seed}")
    }
}

/// The chance from bit to bit of a bad state to begin at which this share of the longest packets meets one.
fn going_bad(share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 0.01);
    // It halves its way down to what a number can tell.
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

/// The share of the longest packets with a bad bit (Haas and Warkhedi 2000, before it is simplified to their eq. 4).
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
