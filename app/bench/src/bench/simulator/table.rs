//! The measurements, as Markdown.

use std::fmt::Write;

use serde::Deserialize;

use crate::bench::spread::{show, spread};

#[cfg(test)]
mod tests;

/// A simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    Ns2,
    Ns3,
    Ours,
}

impl Program {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ns2 => "ns-2",
            Self::Ns3 => "ns-3",
            Self::Ours => "lasthop",
        }
    }
}

/// A run of a program in each turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) program: Program,
    pub(crate) flows: u64,
    /// Captured bytes of each packet at the mobile host, if packets are captured.
    pub(crate) captured: Option<u16>,
    /// Multiple of the packets of other cases.
    pub(crate) longer: u64,
}

impl Case {
    const fn plain(program: Program, flows: u64) -> Self {
        Self {
            program,
            flows,
            captured: None,
            longer: 1,
        }
    }

    const fn capturing(program: Program, bytes: u16) -> Self {
        Self {
            captured: Some(bytes),
            ..Self::plain(program, 1)
        }
    }
}

/// Largest length of a packet's headers: 20 bytes of IPv4, 60 of TCP.
const HEADERS: u16 = 80;
/// The whole packet.
const WHOLE: u16 = u16::MAX;

/// All cases, in the order of a turn.
pub(crate) const CASES: [Case; 11] = [
    Case::plain(Program::Ns2, 1),
    Case::plain(Program::Ns3, 1),
    Case::plain(Program::Ours, 1),
    Case::plain(Program::Ns2, 100),
    Case::plain(Program::Ns3, 100),
    Case::plain(Program::Ours, 100),
    Case::capturing(Program::Ns3, HEADERS),
    Case::capturing(Program::Ours, HEADERS),
    Case::capturing(Program::Ns3, WHOLE),
    Case::capturing(Program::Ours, WHOLE),
    Case {
        longer: 10,
        ..Case::plain(Program::Ours, 1)
    },
];

// Indices into the table of cases.
const NS2: usize = 0;
const NS3: usize = 1;
const OURS: usize = 2;
const NS2_FLOWS: usize = 3;
const NS3_FLOWS: usize = 4;
const OURS_FLOWS: usize = 5;
const OURS_HEADERS: usize = 7;
const OURS_WHOLE: usize = 9;
const OURS_LONGER: usize = 10;

/// Report of a run.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Run {
    /// Data packets that arrived.
    pub(crate) packets: u64,
    /// Elapsed time of the simulation.
    pub(crate) seconds: f64,
    /// Processor time of the simulation.
    pub(crate) processor_seconds: f64,
    /// Largest resident memory.
    pub(crate) peak_kib: u64,
}

impl Run {
    /// Returns the data packets per second of elapsed time.
    fn speed(&self) -> f64 {
        self.packets as f64 / self.seconds
    }

    /// Returns the data packets per second of processor time, which other work on the machine disturbs less.
    fn pace(&self) -> f64 {
        self.packets as f64 / self.processor_seconds
    }
}

/// Returns two tables over the turns, each of which has a run of each case: the measurements, and comparisons.
pub(crate) fn of(turns: &[Vec<Run>]) -> String {
    let mut text = String::from(
        "| simulator | flows | capture | data packets | packets/s, median (least – most) | peak MiB |\n\
         |---|---|---|---|---|---|\n",
    );
    for (place, case) in CASES.iter().enumerate() {
        let runs: Vec<_> = turns.iter().map(|turn| turn[place]).collect();
        let _ = writeln!(text, "{}", line(case, &runs));
    }
    text.push_str(
        "\n| on the processor, in the same turn | aim | median (least – most) |\n|---|---|---|\n",
    );
    for ratio in RATIOS {
        let values = turns.iter().map(ratio.of);
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            ratio.what,
            ratio.aim,
            show(spread(values), 2)
        );
    }
    text
}

fn line(case: &Case, runs: &[Run]) -> String {
    let capture = match case.captured {
        None => "–".to_owned(),
        Some(WHOLE) => "whole packets".to_owned(),
        Some(bytes) => format!("{bytes} bytes of each"),
    };
    let packets = runs.first().map_or(0, |run| run.packets);
    let speeds = show(spread(runs.iter().map(Run::speed)), 0);
    let peak = runs.iter().map(|run| run.peak_kib).max().unwrap_or(0) as f64 / 1024.0;
    let (name, flows) = (case.program.name(), case.flows);
    format!("| {name} | {flows} | {capture} | {packets} | {speeds} | {peak:.1} |")
}

/// A comparison of two runs of a turn.
struct Ratio {
    what: &'static str,
    aim: &'static str,
    of: fn(&Vec<Run>) -> f64,
}

const RATIOS: [Ratio; 11] = [
    Ratio {
        what: "packets/s, of ns-2's",
        aim: "≥ 0.5",
        of: |turn| turn[OURS].pace() / turn[NS2].pace(),
    },
    Ratio {
        what: "packets/s, of ns-3's",
        aim: "≥ 15",
        of: |turn| turn[OURS].pace() / turn[NS3].pace(),
    },
    Ratio {
        what: "100 flows: packets/s, of ns-2's",
        aim: "",
        of: |turn| turn[OURS_FLOWS].pace() / turn[NS2_FLOWS].pace(),
    },
    Ratio {
        what: "100 flows: packets/s, of ns-3's",
        aim: "",
        of: |turn| turn[OURS_FLOWS].pace() / turn[NS3_FLOWS].pace(),
    },
    Ratio {
        what: "time of 100 flows, of one flow's",
        aim: "≤ 1.3",
        of: |turn| turn[OURS].pace() / turn[OURS_FLOWS].pace(),
    },
    Ratio {
        what: "the same of ns-2",
        aim: "",
        of: |turn| turn[NS2].pace() / turn[NS2_FLOWS].pace(),
    },
    Ratio {
        what: "the same of ns-3",
        aim: "",
        of: |turn| turn[NS3].pace() / turn[NS3_FLOWS].pace(),
    },
    Ratio {
        what: "time with a capture of headers, of that without",
        aim: "≤ 1.5",
        of: |turn| turn[OURS].pace() / turn[OURS_HEADERS].pace(),
    },
    Ratio {
        what: "time with a capture of whole packets, of that without",
        aim: "",
        of: |turn| turn[OURS].pace() / turn[OURS_WHOLE].pace(),
    },
    Ratio {
        what: "time of a packet in a run ten times as long",
        aim: "1",
        of: |turn| turn[OURS].pace() / turn[OURS_LONGER].pace(),
    },
    Ratio {
        what: "memory peak of a run ten times as long",
        aim: "1",
        of: |turn| turn[OURS_LONGER].peak_kib as f64 / turn[OURS].peak_kib as f64,
    },
];
