//! Causes of lost frames: the report of a host, compared with the channel's.

use arq::LossCounts;
use channel::{Counters, Direction, Link};
use units::Duration;

use crate::support::{GATEWAY, Pair, Traffic};

const SECOND: Duration = Duration::from_secs(1);

/// Reported and true causes of the losses of a download, its first seconds aside.
struct Losses {
    told: LossCounts,
    full_queue: u64,
    air: u64,
}

fn counters(pair: &Pair) -> (LossCounts, Counters) {
    let told = pair.status(GATEWAY).hop.stats.sent.causes;
    (told, *pair.channel.counters(Direction::Down))
}

fn download(link: Link, others: Option<&str>, seconds: u64) -> Losses {
    let mut pair = Pair::over(link, 9, 0);
    if let Some(others) = others {
        pair.trouble.others = Some(crate::support::trouble::Others::of(
            others.parse().expect("a rate"),
        ));
    }
    pair.add(Traffic::bulk(1));
    pair.run_for(SECOND * 2);
    let (told_before, before) = counters(&pair);
    let others_before = pair.trouble.others_dropped;
    pair.run_for(SECOND * seconds);
    let (told, after) = counters(&pair);
    let others = pair.trouble.others_dropped - others_before;
    Losses {
        told: LossCounts {
            congestion: told.congestion - told_before.congestion,
            air: told.air - told_before.air,
            fade: told.fade - told_before.fade,
            unknown: told.unknown - told_before.unknown,
        },
        full_queue: after.dropped_queue.packets - before.dropped_queue.packets - others,
        air: after.dropped_air.packets - before.dropped_air.packets,
    }
}

fn link(rate: &str, delay: &str, queue: u32, loss: &str) -> Link {
    let text = format!(
        "each = {{ rate = '{rate}', delay = '{delay}', queue = '{queue} packets' }}\n\
         errors = {{ model = 'independent', p = '{loss}' }}\n"
    );
    Link::from_toml(&text, "causes.toml").expect("a link")
}

#[test]
fn losses_on_the_air_are_not_taken_for_congestion() {
    for name in [
        "l1-b40", "l1-b80", "l2-b40", "l2-b80", "l2-b160", "l3-b80", "l3-p1", "l3-p5", "l4-p1",
    ] {
        let losses = download(Link::named(name).expect("a link"), None, 10);
        let Losses {
            told,
            full_queue,
            air,
        } = losses;
        let text = format!("{name}: {told:?}, {full_queue} at a full queue, {air} on the air");
        println!("{text}");
        assert!(air > 0 && told.air + told.fade > 0, "{text}");
        assert!(
            told.congestion * 50 <= told.air + told.fade + 50 * full_queue,
            "{text}"
        );
        assert_eq!(told.unknown, 0, "{text}");
    }
}

/// Others send more than the hop has left, for 0.7 s of each second.
#[test]
fn losses_at_a_queue_that_others_fill_are_congestion() {
    for (rate, others, queue) in [
        ("20 Mbit/s", "24 Mbit/s", 100),
        ("20 Mbit/s", "19 Mbit/s", 20),
        ("20 Mbit/s", "19 Mbit/s", 100),
        ("5 Mbit/s", "6 Mbit/s", 20),
        ("5 Mbit/s", "6 Mbit/s", 100),
        ("100 Mbit/s", "95 Mbit/s", 400),
    ] {
        for loss in ["0 %", "1 %"] {
            let losses = download(link(rate, "20 ms", queue, loss), Some(others), 10);
            let Losses {
                told,
                full_queue,
                air,
            } = losses;
            let text = format!(
                "{rate} beside {others}, {queue}, {loss}: {told:?}, {full_queue} at a full queue, {air} on the air"
            );
            println!("{text}");
            let wrong = told.congestion.abs_diff(full_queue);
            assert!(wrong * 10 <= full_queue + 200, "{text}");
            // Of what the air loses, that of others is a part.
            let missed = told.air.saturating_sub(air);
            assert!(missed * 50 <= told.congestion + 100, "{text}");
        }
    }
}
