//! The setting of a run.

use std::fmt;

use association::{Profile, TcpMethod};
use hosts::{SplitTerms, TcpTerms};
use units::{BitRate, Duration};

use crate::tape::PIECE;

/// The setting of a run: who takes part, and over which hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Number of mobile hosts, 1 to 3.
    pub mobiles: usize,
    /// True if a second gateway has the key of the first and can take its address.
    pub has_standby: bool,
    /// Method for TCP that is not split.
    pub tcp: TcpMethod,
    /// Profile of the streams, if TCP is split.
    pub split: Option<Profile>,
    /// True if the mobile hosts share one air.
    pub is_shared: bool,
    /// True if the mobile hosts stand behind address translators.
    pub has_nat: bool,
    /// True if the gateways are hostile: they offer connections to the loopback interface of the first mobile host.
    pub has_hostile_gateway: bool,
    /// Rate of each mobile host's path, in both directions.
    pub rate: BitRate,
    /// One-way delay of these paths.
    pub delay: Duration,
    /// Seed of everything that is drawn in the run.
    pub seed: u64,
}

impl Setting {
    pub(crate) fn decode(bytes: [u8; PIECE]) -> Self {
        let [mobiles, method, flags, rate, delay, ..] = bytes;
        let (tcp, split) = match method % 5 {
            0 => (TcpMethod::Arq, None),
            1 => (TcpMethod::Snoop, None),
            2 => (TcpMethod::Plain, None),
            3 => (TcpMethod::Plain, Some(Profile::Wide)),
            _ => (TcpMethod::Plain, Some(Profile::Paper)),
        };
        let rates = [64_000, 1_000_000, 10_000_000, 100_000_000];
        Self {
            mobiles: usize::from(mobiles % 3) + 1,
            has_standby: flags & 1 != 0,
            tcp,
            split,
            is_shared: flags & 2 != 0,
            has_nat: flags & 4 != 0,
            has_hostile_gateway: flags & 8 != 0,
            rate: BitRate::from_bits_per_second(rates[usize::from(rate % 4)]),
            delay: Duration::from_millis([1, 10, 50, 300][usize::from(delay % 4)]),
            seed: u64::from_le_bytes(bytes),
        }
    }

    pub(crate) fn tcp_terms(&self, is_gateway: bool) -> TcpTerms {
        if is_gateway {
            TcpTerms::Choose(self.tcp)
        } else {
            TcpTerms::Follow
        }
    }

    pub(crate) fn split_terms(&self, is_gateway: bool) -> SplitTerms {
        match self.split {
            None => SplitTerms::Never,
            Some(profile) if is_gateway => SplitTerms::Choose(profile),
            Some(_) => SplitTerms::Follow,
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = match self.split {
            Some(Profile::Wide) => "split, wide profile",
            Some(Profile::Paper) => "split, paper's profile",
            None => self.tcp.name(),
        };
        let Self {
            mobiles,
            rate,
            delay,
            ..
        } = self;
        write!(
            formatter,
            "{mobiles} mobile hosts at {rate} and {delay}, TCP: {method}"
        )?;
        let traits = [
            (self.has_standby, "a standby gateway"),
            (self.is_shared, "a shared air"),
            (self.has_nat, "NAT"),
            (self.has_hostile_gateway, "a hostile gateway"),
        ];
        let mut traits = traits.into_iter().filter(|(is, _)| *is);
        traits.try_for_each(|(_, name)| write!(formatter, ", {name}"))
    }
}
