//! The cost of a decision: `cargo bench -p scheduler`.

use divan::Bencher;
use divan::counter::ItemsCount;
use machine::Machine;
use scheduler::config::{Discipline, Monitor};
use scheduler::{Cause, Config, Destination, Input, Outcome, Output, Scheduler, Waiting};
use units::{Bytes, Duration, Instant};

const MOBILES: u16 = 1_000;
const DECISIONS: u64 = 100_000;
const FRAME: Duration = Duration::from_micros(100);

fn main() {
    divan::main();
}

/// Returns a scheduler with frames for every mobile host.
fn backlogged(discipline: Discipline) -> Scheduler {
    let mut scheduler = Scheduler::new(&Config {
        discipline,
        monitor: Monitor::default(),
    });
    for destination in (0..MOBILES).map(Destination) {
        let weight = 1;
        let join = Input::Join {
            destination,
            weight,
        };
        scheduler.handle_input(Instant::ZERO, join);
        scheduler.handle_input(Instant::ZERO, queue(destination, Instant::ZERO));
    }
    scheduler
}

fn queue(destination: Destination, oldest: Instant) -> Input {
    let bytes = Bytes::new(1_500 + oldest.as_nanos() % 30_000);
    Input::Queue {
        destination,
        waiting: Some(Waiting { bytes, oldest }),
    }
}

/// All parts of a decision: the grant, the selection, the transmission, a changed queue, and an outcome, of which one
/// in ten is a loss.
#[divan::bench(args = Discipline::ALL)]
fn decisions(bencher: Bencher<'_, '_>, discipline: Discipline) {
    let counted = bencher.counter(ItemsCount::new(DECISIONS));
    counted
        .with_inputs(|| backlogged(discipline))
        .bench_refs(|scheduler| {
            let mut now = Instant::ZERO;
            for number in 0..DECISIONS {
                scheduler.handle_input(now, Input::AirFree);
                while let Some(output) = scheduler.poll_output() {
                    let Output::Serve(destination) = output else {
                        continue;
                    };
                    now += FRAME;
                    let airtime = FRAME;
                    let sent = Input::Sent {
                        destination,
                        airtime,
                    };
                    scheduler.handle_input(now, sent);
                    scheduler.handle_input(now, queue(destination, now));
                    let outcome = if number % 10 == 0 {
                        Outcome::Missing {
                            cause: Cause::Unknown,
                            given_up: false,
                        }
                    } else {
                        Outcome::Delivered
                    };
                    let ended = Input::Outcome {
                        destination,
                        outcome,
                    };
                    scheduler.handle_input(now, ended);
                }
                scheduler.handle_timeout(now);
                // A mark that ends is reported.
                while scheduler.poll_output().is_some() {}
            }
        });
}
