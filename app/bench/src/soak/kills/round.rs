//! A daemon that is killed while files cross the hop: each file is complete, or its receiver gets an error.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use serde::Serialize;

use super::rig::{Rig, Victim};
use super::transfer::{Ending, Transfer};
use crate::bench::spread::spread;
use crate::soak::random::Random;
use crate::soak::watch::{Done, Fault};

/// Longest time for which a daemon stays dead, and longest time after the chosen moment of a kill, in milliseconds.
const DEAD_MS: u64 = 1_000;
const LATER_MS: u64 = 20;

/// Settings of the kills.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) victim: Victim,
    pub(super) kills: u32,
    /// Size of the largest file, in bytes.
    pub(super) size: u64,
    pub(super) seed: u64,
}

/// Results of the files.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Tally {
    /// Kills during a transfer.
    pub(super) kills: u32,
    /// Number of times that all files had arrived before the daemon was dead.
    pub(super) too_late: u32,
    /// Files that arrived complete.
    pub(super) whole: u32,
    /// Complete files whose sender did not get the confirmation.
    pub(super) whole_unknown: u32,
    /// Files whose receiver got an error.
    pub(super) failed: u32,
    /// Seconds from each start of the daemon until a request was answered.
    pub(super) stalls: Vec<f64>,
}

impl Tally {
    /// Returns the median and the longest stall, and the number of those of more than two seconds.
    fn stalls(&self) -> (f64, f64, usize) {
        let [median, _, most] = spread(self.stalls.iter().copied()).unwrap_or_default();
        let long = self.stalls.iter().filter(|stall| **stall > 2.0);
        (median, most, long.count())
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (median, most, long) = self.stalls();
        write!(
            out,
            "{} kills: {} files whole ({} of them unknown to who sent them), {} failed and said so; stall {median:.2} \
             s (median), {most:.2} s (longest), {long} above 2 s",
            self.kills, self.whole, self.whole_unknown, self.failed
        )
    }
}

/// Transfers four files at once across the hop, up and down, with and without a length at the beginning, and kills the
/// daemon meanwhile, so many times.
pub(super) fn run(rig: &mut Rig, plan: Plan, done: &Done) -> (Tally, Result<(), Fault>) {
    let mut random = Random::new(plan.seed, 1 + plan.victim as u64);
    let mut tally = Tally::default();
    let mut rounds = 0;
    while tally.kills < plan.kills {
        rounds += 1;
        let outcome = round(rig, &mut random, plan, &mut tally);
        let outcome = match outcome {
            Ok(()) if rounds > 10 * plan.kills => Err("most files are too short".into()),
            other => other,
        };
        if let Err(fault) = outcome {
            let fault = format!("seed {}, round {rounds}: {fault}", plan.seed);
            return (tally, Err(fault));
        }
        done.count();
    }
    (tally, Ok(()))
}

/// The moment of the kill: when that many bytes of that file have arrived, or all.
struct Moment {
    file: usize,
    bytes: u64,
    later: Duration,
}

impl Moment {
    fn draw(random: &mut Random, transfers: &[Transfer]) -> Self {
        let file = random.below(transfers.len() as u64) as usize;
        let length = transfers[file].content.len() as u64;
        // Often near the end, where most can go wrong.
        let bytes = match random.below(3) {
            0 => length,
            _ => random.below(length + 1),
        };
        let later = match random.below(2) {
            0 => 0,
            _ => random.below(LATER_MS),
        };
        Self {
            file,
            bytes,
            later: Duration::from_millis(later),
        }
    }
}

fn round(rig: &mut Rig, random: &mut Random, plan: Plan, tally: &mut Tally) -> Result<(), Fault> {
    let kinds = [(true, true), (true, false), (false, true), (false, false)];
    let transfers = kinds.map(|(down, framed)| Transfer::draw(random, down, framed, plan.size));
    let moment = Moment::draw(random, &transfers);
    let dead = Duration::from_millis(random.below(DEAD_MS));
    let before = rig.split_so_far();
    let mut ends = Vec::new();
    for transfer in &transfers {
        let told = |error| {
            let known = rig.describe();
            format!("{:?} cannot connect: {error}\n{known}", transfer.asker)
        };
        let pair = rig.connect(transfer.asker).map_err(told)?;
        ends.push(transfer.ends(pair).map_err(|error| error.to_string())?);
    }
    rig.wait_for_split(before + transfers.len() as u64)
        .map_err(|failure| failure.to_string())?;
    let received = [const { AtomicU64::new(0) }; 4];
    let endings = thread::scope(|scope| {
        let mut workers = Vec::new();
        for ((transfer, received), (sender, receiver)) in transfers.iter().zip(&received).zip(ends)
        {
            workers.push(scope.spawn(move || transfer.receive(receiver, received)));
            workers.push(scope.spawn(move || transfer.send(sender)));
        }
        wait_for(&moment, &received, &workers);
        let unfinished = workers.iter().any(|worker| !worker.is_finished());
        rig.kill(plan.victim);
        let count = if unfinished {
            &mut tally.kills
        } else {
            &mut tally.too_late
        };
        *count += 1;
        rig.request_for(dead);
        let revived = rig.start(plan.victim);
        let stall = rig.stall();
        let endings: Vec<_> = workers.into_iter().map(join).collect();
        revived.map_err(|failure| format!("the daemon does not come back: {failure}"))?;
        tally.stalls.push(stall?.as_secs_f64());
        Ok::<_, Fault>(endings)
    })?;
    for (transfer, both) in transfers.iter().zip(endings.chunks(2)) {
        judge(transfer, both, tally)?;
    }
    rig.wait().map_err(|failure| failure.to_string())
}

fn join(worker: ScopedJoinHandle<'_, Result<Ending, Fault>>) -> Result<Ending, Fault> {
    worker
        .join()
        .unwrap_or_else(|_| Err("an end panicked".into()))
}

/// Waits until the moment has come, or there is no more progress.
fn wait_for(
    moment: &Moment,
    received: &[AtomicU64],
    workers: &[ScopedJoinHandle<'_, Result<Ending, Fault>>],
) {
    let count = &received[moment.file];
    while count.load(Ordering::Relaxed) < moment.bytes
        && workers.iter().any(|worker| !worker.is_finished())
    {
        thread::sleep(Duration::from_micros(200));
    }
    thread::sleep(moment.later);
}

/// Records the results of both ends, the receiver's first.
fn judge(
    transfer: &Transfer,
    both: &[Result<Ending, Fault>],
    tally: &mut Tally,
) -> Result<(), Fault> {
    let describe = |who: &str, fault: &Fault| {
        let way = if transfer.down { "to" } else { "from" };
        let framed = if transfer.framed { "with" } else { "without" };
        let length = transfer.content.len();
        format!(
            "{length} bytes {way} the mobile host {framed} their length, asked for by {:?}: the {who}: {fault}",
            transfer.asker
        )
    };
    match (&both[0], &both[1]) {
        (Err(fault), _) => Err(describe("receiver", fault)),
        (_, Err(fault)) => Err(describe("sender", fault)),
        (Ok(Ending::Whole), Ok(ending)) => {
            tally.whole += 1;
            tally.whole_unknown += u32::from(matches!(ending, Ending::Failed));
            Ok(())
        }
        (Ok(Ending::Failed), Ok(Ending::Failed)) => {
            tally.failed += 1;
            Ok(())
        }
        (Ok(Ending::Failed), Ok(Ending::Whole)) => Err(describe(
            "receiver",
            &"it failed, but the sender was thanked".into(),
        )),
    }
}
