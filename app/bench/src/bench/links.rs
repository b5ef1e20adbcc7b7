//! `cargo xtask bench links`: the figures of the links in `docs/performance.md`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::matrix::{CASES, Case};
use super::row::{HEAD, Row};
use super::{parallel, peers, setting};
use crate::failure::Failure;
use xtask::shell::Shell;

/// Number of slow links measured at the same time.
const AT_ONCE: usize = 4;

/// Options of the bench.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these links, such as 'l2-b80,l3-p1'; all by default
    #[arg(long, value_delimiter = ',')]
    links: Vec<String>,
    /// The senders' congestion controls
    #[arg(long, value_delimiter = ',', default_value = "reno,cubic,bbr")]
    senders: Vec<String>,
    /// Seconds of each run
    #[arg(long, default_value_t = 90)]
    time: u64,
    /// Seed of losses and fades, the same for all schemes
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Measure kcptun too, with a cubic sender
    #[arg(long)]
    peers: bool,
    /// File for the rows, as JSON
    #[arg(long, default_value = "target/bench-links.json")]
    out: PathBuf,
    /// Short runs of a few links, to check that everything works
    #[arg(long)]
    quick: bool,
}

/// One call of the demo.
struct Job {
    case: Case,
    sender: String,
    schemes: Vec<String>,
}

/// Measures and prints the table.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    let program = setting::build(shell)?;
    let folder = setting::folder(None)?;
    let jobs = jobs(shell, options, folder.path())?;
    let (slow, fast): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.case.slow);
    let bench = Bench {
        program,
        folder: folder.path().into(),
        options,
    };
    println!("{HEAD}");
    let mut rows = bench.all(&slow, AT_ONCE)?;
    rows.extend(bench.all(&fast, 1)?);
    super::keep(shell, &options.out, &rows)
}

fn jobs(shell: &Shell, options: &Options, folder: &Path) -> Result<Vec<Job>, Failure> {
    let wanted = |case: &&Case| {
        let named = options.links.is_empty() || options.links.iter().any(|name| name == case.link);
        named
            && (!options.quick || (case.way == "down" && ["l2-b80", "l3-p1"].contains(&case.link)))
    };
    let with_peers = options.peers && peers::kcptun(shell);
    let mut jobs = Vec::new();
    for case in CASES.iter().filter(wanted) {
        for sender in &options.senders {
            let mut schemes = vec!["plain".into(), "lasthop".into()];
            if with_peers && sender == "cubic" && case.way == "down" {
                for mode in ["normal", "fast3"] {
                    let file = peers::kcptun_file(folder, mode, case.window)?;
                    schemes.push(file.to_string_lossy().into_owned());
                }
            }
            let sender = sender.clone();
            jobs.push(Job {
                case: *case,
                sender,
                schemes,
            });
        }
    }
    if jobs.is_empty() {
        let known: Vec<_> = CASES.iter().map(|case| case.link).collect();
        return Err(Failure::Found(format!(
            "no such link; there are {}",
            known.join(", ")
        )));
    }
    Ok(jobs)
}

struct Bench<'a> {
    program: PathBuf,
    folder: PathBuf,
    options: &'a Options,
}

impl Bench<'_> {
    /// Runs `jobs`, `at_once` at the same time, and prints their lines as they end.
    fn all(&self, jobs: &[Job], at_once: usize) -> Result<Vec<Row>, Failure> {
        let results = parallel::each(jobs, at_once, |index, job| {
            let result = self.one(job, index);
            if let Ok(rows) = &result {
                print(job, rows);
            }
            result
        });
        let rows: Result<Vec<_>, _> = results.into_iter().collect();
        Ok(rows?.concat())
    }

    fn one(&self, job: &Job, index: usize) -> Result<Vec<Row>, Failure> {
        let (time, skip) = if self.options.quick {
            (8, 2)
        } else {
            (self.options.time, job.case.skip)
        };
        let mut command = Command::new(&self.program);
        command
            .args([
                "demo",
                "--json",
                "--size",
                "1200 MB",
                "--link",
                job.case.link,
            ])
            .args([
                "--time",
                &format!("{time} s"),
                "--skip",
                &format!("{skip} s"),
            ])
            .args(["--direction", job.case.way, "--senders", &job.sender])
            .args([
                "--schemes",
                &job.schemes.join(","),
                "--seed",
                &self.options.seed.to_string(),
            ])
            .arg("--report")
            .arg(
                self.folder
                    .join(format!("report-{}-{index}", job.case.slow)),
            );
        let text = Shell::quiet(&self.folder).run(command)?;
        super::understand("the demo's rows", &text)
    }
}

fn print(job: &Job, rows: &[Row]) {
    let case = &job.case;
    for row in rows {
        let ours = row.scheme == "lasthop";
        let goal = case
            .goals
            .map(|(loss_based, bbr)| if job.sender == "bbr" { bbr } else { loss_based });
        let wait = f64::from(case.round_trip) + 30.0 + row.fade_wait_p99_ms.unwrap_or(0.0);
        println!(
            "{}",
            row.line(case.way, goal.filter(|_| ours), Some(wait).filter(|_| ours))
        );
    }
}
