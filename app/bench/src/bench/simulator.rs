//! `cargo xtask bench simulator`: the same transfer in Debian's ns-2, in Debian's ns-3 and in our simulator, in turns;
//! and the cost of flows, captures and simulated time in ours.
//!
//! Three files describe the same topology: `simulator/reference.tcl`, `simulator/reference.cc` and
//! `sim/simulator/examples/reference.rs`. Each program measures the time of its own simulation, without its set-up:
//! elapsed time for the first table, processor time for comparisons.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::table::{Case, Program, Run};
use super::{peers, setting};
use crate::failure::Failure;
use xtask::shell::Shell;

mod table;

/// Programs and the Debian packages that hold them.
const NEEDED: [(&str, &str); 2] = [("ns", "ns2"), ("g++", "g++")];
const NS2_SCRIPT: &str = include_str!("simulator/reference.tcl");
const NS3_PROGRAM: &str = include_str!("simulator/reference.cc");
/// A header of Debian's package, which is missing without the package.
const NS3_HEADER: &str = "/usr/include/ns3/core-module.h";
/// File of the captures, in the folder of the bench.
const CAPTURE: &str = "capture.pcap";
/// The libraries that the program needs; the lists in Debian's package cannot be used.
const NS3_LIBRARIES: [&str; 7] = [
    "applications",
    "point-to-point",
    "internet",
    "traffic-control",
    "bridge",
    "network",
    "core",
];

/// Options of the bench.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Data packets of one run, over all flows; a multiple of 100
    #[arg(long, default_value_t = 71_400, value_parser = hundreds)]
    packets: u64,
    /// Number of runs of each program
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
}

/// Parses a number of packets that a hundred flows can share.
fn hundreds(text: &str) -> Result<u64, String> {
    let number: u64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if number == 0 || !number.is_multiple_of(100) {
        return Err("a hundred flows cannot share them evenly; give a multiple of 100".into());
    }
    Ok(number)
}

/// Measures and prints the tables.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    let folder = setting::folder(None)?;
    let bench = Bench::prepare(shell, folder.path())?;
    let mut turns = Vec::new();
    for _ in 0..options.turns {
        let runs = table::CASES.map(|case| bench.measure(&case, options.packets));
        turns.push(runs.into_iter().collect::<Result<Vec<_>, _>>()?);
    }
    print!("{}", table::of(&turns));
    Ok(())
}

/// The programs, built and installed.
struct Bench {
    /// Its working folder is that of the bench.
    shell: Shell,
    ns3: PathBuf,
    ours: PathBuf,
}

impl Bench {
    fn prepare(shell: &Shell, folder: &Path) -> Result<Self, Failure> {
        peers::provide(shell, &NEEDED)?;
        if !Path::new(NS3_HEADER).is_file() {
            peers::install(shell, "libns3-dev")?;
        }
        let quiet = Shell::quiet(folder);
        peers::write(&folder.join("reference.tcl"), NS2_SCRIPT)?;
        peers::write(&folder.join("reference.cc"), NS3_PROGRAM)?;
        let mut compile = Command::new("g++");
        compile.current_dir(folder).args(["-std=c++17", "-O3"]);
        compile.args(["-DNDEBUG", "-o", "ns3-reference", "reference.cc"]);
        compile.args(NS3_LIBRARIES.map(|library| format!("-lns3-{library}")));
        quiet.run(compile)?;
        let example = ["-p", "simulator", "--example", "reference"];
        shell.run(shell.cargo(&[&["build", "--release"], &example[..]].concat()))?;
        Ok(Self {
            ns3: folder.join("ns3-reference"),
            ours: setting::target(shell).join("release/examples/reference"),
            shell: quiet,
        })
    }

    /// Removes a capture, so that the next run need not overwrite it.
    fn discard_capture(&self) -> Result<(), Failure> {
        let path = self.shell.root.join(CAPTURE);
        Ok(fs::remove_file(&path).map_err(rig::Failure::file("remove", &path))?)
    }

    /// Runs a case once. Returns an error if a run does not deliver all data packets.
    fn measure(&self, case: &Case, packets: u64) -> Result<Run, Failure> {
        let mut command = match case.program {
            Program::Ns2 => {
                let mut command = Command::new("ns");
                command.arg("reference.tcl");
                command
            }
            Program::Ns3 => Command::new(&self.ns3),
            Program::Ours => Command::new(&self.ours),
        };
        let sent = packets * case.longer;
        command.current_dir(&self.shell.root);
        command.args([case.flows.to_string(), sent.to_string()]);
        if let Some(bytes) = case.captured {
            command.args([CAPTURE, &bytes.to_string()]);
        }
        let text = self.shell.run(command)?;
        if case.captured.is_some() {
            self.discard_capture()?;
        }
        let name = case.program.name();
        let run: Run = super::understand(&format!("what {name} says"), &text)?;
        if run.packets == sent {
            return Ok(run);
        }
        let delivered = run.packets;
        Err(Failure::Found(format!(
            "{name} delivered {delivered} packets of {sent}"
        )))
    }
}
