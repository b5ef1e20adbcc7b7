//! One gateway and its mobiles on one air, each with fades of its own.

use scheduler::config::Discipline;
use units::{BitRate, Duration};

use crate::support::cell::{Cell, Fades, RATE, Setting, WARM_UP};

const MOBILES: usize = 8;
const SPAN: Duration = Duration::from_secs(10);

fn with_one_in_fades(discipline: Discipline, fades: Fades) -> (Cell, Vec<u64>) {
    let mut all = vec![Fades::default(); MOBILES];
    all[MOBILES - 1] = fades;
    let mut cell = Cell::new(&Setting::usual(discipline, MOBILES), all);
    cell.begin();
    let got = cell.measure(SPAN);
    (cell, got)
}

const HALF: Fades = Fades {
    cycle: Duration::from_millis(400),
    bad: Duration::from_millis(200),
};

#[test]
fn mobiles_share_the_air_and_fill_it() {
    let (cell, got) = with_one_in_fades(Discipline::Airtime, Fades::default());
    let total = got.iter().sum::<u64>();
    let bound = RATE.bytes_in(SPAN).get();
    assert!(total * 100 > bound * 88, "{total} of {bound}, {got:?}");
    let (least, most) = (got.iter().min(), got.iter().max());
    let (least, most) = (least.expect("eight"), most.expect("eight"));
    assert!(least * 100 >= most * 98, "{got:?}");
    assert!(cell.received.iter().all(|received| received.in_order));
    assert_eq!(cell.counts.overflows, 0);
}

#[test]
fn a_mobile_in_fades_takes_next_to_nothing_from_the_others() {
    for discipline in [Discipline::Airtime, Discipline::CsdpRoundRobin] {
        let (_, undisturbed) = with_one_in_fades(discipline, Fades::default());
        let (cell, got) = with_one_in_fades(discipline, HALF);
        let others = |got: &[u64]| got[..MOBILES - 1].iter().sum::<u64>();
        let (now, before) = (others(&got), others(&undisturbed));
        assert!(
            now * 100 >= before * 95,
            "{discipline:?}: {now} of {before}"
        );
        assert!(got[MOBILES - 1] > 0, "it is starved");
        assert!(cell.received.iter().all(|received| received.in_order));
        let fading = cell.peer(MOBILES - 1).air.expect("a shared air");
        assert!(fading.scheduling.bursts > 10, "{fading:?}");
    }
}

#[test]
fn a_mobile_that_never_answers_costs_the_others_little() {
    let gone = Fades {
        cycle: Duration::from_secs(100),
        bad: Duration::from_secs(100),
    };
    let (_, undisturbed) = with_one_in_fades(Discipline::Airtime, Fades::default());
    let (_, got) = with_one_in_fades(Discipline::Airtime, gone);
    let others = |got: &[u64]| got[..MOBILES - 1].iter().sum::<u64>();
    let (now, before) = (others(&got), others(&undisturbed));
    assert!(now >= before, "{now} of {before}");
}

#[test]
fn by_twice_the_weight_a_mobile_gets_twice_as_much() {
    let mut setting = Setting::usual(Discipline::Airtime, MOBILES);
    setting.weights[2] = 2;
    let mut cell = Cell::new(&setting, vec![Fades::default(); MOBILES]);
    cell.begin();
    let got = cell.measure(SPAN);
    let others = (got.iter().sum::<u64>() - got[2]) / (MOBILES as u64 - 1);
    assert!((195..=205).contains(&(got[2] * 100 / others)), "{got:?}");
    let share = cell.peer(2).air.expect("a shared air").airtime_share;
    assert!((share.as_f64() - 2.0 / 9.0).abs() < 0.01, "{share}");
}

/// On an air that is slower than the first guess, what a mobile guesses that begins late must not set the pace.
#[test]
fn a_mobile_that_begins_late_takes_the_pace_of_the_others() {
    let setting = Setting {
        rate: BitRate::from_kilobits(2_000),
        ..Setting::usual(Discipline::Airtime, MOBILES)
    };
    let mut cell = Cell::new(&setting, vec![Fades::default(); MOBILES]);
    cell.begin();
    cell.fed[MOBILES - 1] = false;
    cell.run_until(WARM_UP);
    cell.fed[MOBILES - 1] = true;
    cell.run_until(WARM_UP + Duration::from_secs(2));
    cell.measure(SPAN);
    assert_eq!(cell.counts.overflows, 0);
    let share = cell
        .peer(MOBILES - 1)
        .air
        .expect("a shared air")
        .airtime_share;
    assert!((share.as_f64() - 1.0 / 8.0).abs() < 0.015, "{share}");
    let hop = cell.peer(MOBILES - 1).hop;
    let rate = hop.rate.expect("a rate");
    let known = 1_700_000..=2_300_000;
    assert!(known.contains(&rate.bits_per_second()), "{rate}");
}

#[test]
fn a_mobile_that_was_silent_and_starts_again_gets_its_share() {
    let setting = Setting::usual(Discipline::Airtime, MOBILES);
    let mut all = vec![Fades::default(); MOBILES];
    all[MOBILES - 1] = Fades {
        cycle: Duration::from_secs(100),
        bad: Duration::from_secs(5),
    };
    let mut cell = Cell::new(&setting, all);
    cell.begin();
    cell.run_until(WARM_UP + Duration::from_secs(4));
    let before = cell.peer(MOBILES - 1).air.expect("a shared air");
    assert!(before.scheduling.is_marked);
    // Nobody knows the former keys any more, so no acknowledgement ends the silence.
    cell.restart(MOBILES - 1, &setting);
    cell.run_until(WARM_UP + Duration::from_secs(10));
    let got = cell.measure(SPAN);
    let others = got[..MOBILES - 1].iter().sum::<u64>() / (MOBILES as u64 - 1);
    assert!(got[MOBILES - 1] * 100 > others * 90, "{got:?}");
}
