//! Runs the cases of a plan on all cores.

use std::fs::File;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::LabError;
use crate::experiment::Experiment;
use crate::journal::{Content, Journal};
use crate::plan::{Case, Plan, Seeds};
use crate::schedule::Schedule;
use crate::storage::{self, Program, write_atomically};
use crate::table::{RunKey, Runs, Table};

/// Longest time between two calls of the observer.
const LOOK: Duration = Duration::from_millis(100);
/// Upper limit of runs in all.
const MOST_RUNS: u64 = 10_000_000;

/// An experiment, its plan, and the folder of its results.
#[derive(Clone, Copy)]
pub struct Campaign<'a> {
    /// The experiment.
    pub experiment: &'a dyn Experiment,
    /// Its plan.
    pub plan: &'a Plan,
    /// Folder of the results; created if missing. Runs of the same plan by the same program that are already there are
    /// not repeated.
    pub folder: &'a Path,
    /// Number of runs at the same time.
    pub jobs: NonZeroUsize,
    /// The program that runs it, for the provenance.
    pub program: &'a Program,
}

/// Progress of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Number of runs that exist.
    pub done: u64,
    /// Number of runs that are wanted, as far as is known.
    pub total: u64,
    /// Number of runs that existed before this campaign.
    pub resumed: u64,
    /// Number of lines of the journal that were torn; their runs are repeated.
    pub dropped: usize,
}

/// A run and its result.
type Ended = (RunKey, Result<Vec<Option<f64>>, String>);

/// Checks every case of a plan.
pub fn check(experiment: &dyn Experiment, plan: &Plan) -> Result<(), LabError> {
    let about = experiment.about();
    let cases = plan.cases();
    cases.iter().try_for_each(|case| experiment.check(case))?;
    let most = match plan.seeds() {
        Seeds::Fixed(count) => *count,
        Seeds::Adaptive(rule) => rule.max,
    };
    if most.saturating_mul(cases.len() as u64) > MOST_RUNS {
        let what = format!(
            "with {} cases these are more than {MOST_RUNS} runs",
            cases.len()
        );
        return Err(plan.wrong("experiment.seeds", what).into());
    }
    if let Seeds::Adaptive(rule) = plan.seeds()
        && let Some(name) = &rule.metric
        && !about.metrics.iter().any(|metric| metric.name == name)
    {
        let known: Vec<_> = about.metrics.iter().map(|metric| metric.name).collect();
        let what = format!(
            "no metric is called '{name}'; known are {}",
            known.join(", ")
        );
        return Err(plan.wrong("experiment.seeds.metric", what).into());
    }
    Ok(())
}

/// Runs the missing runs, and writes the results. Calls `observer` with the progress several times a second; it may
/// interrupt the campaign, and then the runs in flight end and are stored.
pub fn run(
    campaign: Campaign<'_>,
    observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Table, LabError> {
    let Campaign {
        experiment,
        plan,
        folder,
        program,
        ..
    } = campaign;
    let begun = Instant::now();
    check(experiment, plan)?;
    std::fs::create_dir_all(folder).map_err(LabError::file("make", folder))?;
    let _lock = lock(folder)?;
    let identity = format!("lasthop-runs 1 {} {}", plan.hash(), program.digest);
    let content = Content::read(folder)?;
    claim(folder, &content, plan, &identity)?;
    content.rewrite(folder, &identity)?;
    write_atomically(&folder.join(storage::PLAN), plan.text().as_bytes())?;

    let metric = deciding_metric(experiment, plan);
    let schedule = Schedule::new(plan, metric, &content.runs);
    if !schedule.is_empty() {
        storage::forget_derived(folder)?;
    }
    let progress = Progress {
        done: 0,
        total: 0,
        resumed: schedule.progress().1,
        dropped: content.dropped,
    };
    let mut collector = Collector {
        campaign,
        schedule,
        content,
        journal: Journal::open(folder)?,
        progress,
        in_flight: 0,
        ended_by: None,
    };
    collector.spread(observer)?;
    let Collector {
        content, schedule, ..
    } = collector;
    content.rewrite(folder, &identity)?;
    let table = Table::new(experiment.about(), plan, schedule.select(&content.runs))
        .map_err(LabError::Data)?;
    storage::write(folder, plan, &table, (program, begun.elapsed()))?;
    Ok(table)
}

/// Reads the results of a plan that was run in `folder`, complete or not.
pub fn load(experiment: &dyn Experiment, plan: &Plan, folder: &Path) -> Result<Table, LabError> {
    let content = Content::read(folder)?;
    if content.runs.is_empty() {
        return Err(LabError::Nothing(folder.into()));
    }
    let metric = deciding_metric(experiment, plan);
    let runs = Schedule::new(plan, metric, &content.runs).select(&content.runs);
    Table::new(experiment.about(), plan, runs).map_err(LabError::Data)
}

/// Reads the plan that was run in `folder`.
pub fn load_plan(folder: &Path) -> Result<Plan, LabError> {
    let path = folder.join(storage::PLAN);
    let text = std::fs::read_to_string(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => LabError::Nothing(folder.into()),
        _ => LabError::file("read", &path)(error),
    })?;
    Ok(Plan::parse(&path.display().to_string(), &text, &[])?)
}

/// Removes the runs that are stored in `folder`, and the files derived from them.
pub fn forget(folder: &Path) -> Result<(), LabError> {
    if !folder.exists() {
        return Ok(());
    }
    let _lock = lock(folder)?;
    storage::forget(folder)
}

fn deciding_metric(experiment: &dyn Experiment, plan: &Plan) -> usize {
    let metrics = experiment.about().metrics;
    let name = match plan.seeds() {
        Seeds::Adaptive(rule) => rule.metric.as_deref(),
        Seeds::Fixed(_) => None,
    };
    let found = metrics.iter().position(|metric| Some(metric.name) == name);
    found.unwrap_or(0)
}

/// Locks the folder for this process.
fn lock(folder: &Path) -> Result<File, LabError> {
    let file = File::open(folder).map_err(LabError::file("open", folder))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(LabError::Busy(folder.into())),
        Err(std::fs::TryLockError::Error(error)) => Err(LabError::file("lock", folder)(error)),
    }
}

/// Refuses a folder whose runs belong to another plan or program.
fn claim(folder: &Path, old: &Content, plan: &Plan, identity: &str) -> Result<(), LabError> {
    let Some(theirs) = old.identity.as_deref() else {
        if old.runs.is_empty() && old.dropped == 0 {
            return Ok(());
        }
        return Err(other(folder, "kind (its first line is damaged)"));
    };
    match theirs {
        _ if theirs == identity => Ok(()),
        _ if theirs.contains(&plan.hash()) => Err(other(folder, "build of lasthop")),
        _ => Err(other(folder, "plan")),
    }
}

fn other(folder: &Path, what: &'static str) -> LabError {
    LabError::OtherRuns {
        folder: folder.into(),
        what,
    }
}

/// Gives runs to workers and stores their results.
struct Collector<'a> {
    campaign: Campaign<'a>,
    schedule: Schedule<'a>,
    content: Content,
    journal: Journal,
    progress: Progress,
    in_flight: usize,
    /// Reason why no more runs are started.
    ended_by: Option<LabError>,
}

impl Collector<'_> {
    fn spread(
        &mut self,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), LabError> {
        let cases = self.campaign.plan.cases();
        let (give, take) = channel();
        let (report, reports) = channel();
        let take = Mutex::new(take);
        let experiment = self.campaign.experiment;
        std::thread::scope(|scope| {
            for _ in 0..self.campaign.jobs.get() {
                let (cases, take, report) = (&cases, &take, report.clone());
                scope.spawn(move || work(experiment, cases, take, &report));
            }
            drop(report);
            self.collect(&give, &reports, observer);
            drop(give);
        });
        self.journal.sync()?;
        self.ended_by.take().map_or(Ok(()), Err)
    }

    fn collect(
        &mut self,
        give: &Sender<RunKey>,
        reports: &Receiver<Ended>,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) {
        loop {
            // Twice as many as there are workers, so that no worker waits for the collector; runs that no worker has
            // begun cost nothing to drop.
            while self.in_flight < 2 * self.campaign.jobs.get() && self.ended_by.is_none() {
                let Some(key) = self.schedule.next() else {
                    break;
                };
                self.in_flight += usize::from(give.send(key).is_ok());
            }
            self.look(observer);
            if self.in_flight == 0 {
                break;
            }
            match reports.recv_timeout(LOOK) {
                Ok(ended) => self.record(ended),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    }

    fn look(&mut self, observer: &mut dyn FnMut(Progress) -> ControlFlow<()>) {
        let (total, done) = self.schedule.progress();
        let progress = Progress {
            done,
            total,
            ..self.progress
        };
        let is_over = self.in_flight == 0 && self.schedule.is_empty();
        if observer(progress).is_break() && !is_over {
            self.ended_by.get_or_insert(LabError::Interrupted);
        }
    }

    fn record(&mut self, (key, outcome): Ended) {
        self.in_flight -= 1;
        let stored = match outcome {
            Ok(values) => self.store(key, values),
            Err(what) => Err(LabError::Run {
                experiment: self.campaign.experiment.about().name,
                case: self.campaign.plan.cases()[key.case].describe(),
                seed: key.seed,
                what,
            }),
        };
        if let Err(error) = stored {
            self.ended_by.get_or_insert(error);
        }
    }

    fn store(&mut self, key: RunKey, values: Vec<Option<f64>>) -> Result<(), LabError> {
        self.journal.append(key, &values)?;
        let runs: &mut Runs = &mut self.content.runs;
        runs.insert(key, values);
        self.schedule.record(key, runs);
        Ok(())
    }
}

/// Runs what it receives until the channel closes.
fn work(
    experiment: &dyn Experiment,
    cases: &[Case],
    take: &Mutex<Receiver<RunKey>>,
    report: &Sender<Ended>,
) {
    loop {
        let next = take.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(key) = next else {
            return;
        };
        let outcome = run_one(experiment, &cases[key.case], key.seed);
        if report.send((key, outcome)).is_err() {
            return;
        }
    }
}

/// Runs one case with one seed. A panic is a bug of the experiment; the runs that ended before are stored all the same.
fn run_one(
    experiment: &dyn Experiment,
    case: &Case,
    seed: u64,
) -> Result<Vec<Option<f64>>, String> {
    let run = AssertUnwindSafe(|| experiment.run(case, seed));
    let measured = catch_unwind(run).map_err(|_| "a bug in the experiment (it panicked)")?;
    let measured = measured.map_err(|error| error.to_string())?;
    measured.in_order(experiment.about().metrics)
}
