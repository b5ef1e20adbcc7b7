use proptest::prelude::*;
use units::Instant;

use super::{Schedule, Slot};

/// A schedule that is a list: the first of the smallest.
#[derive(Default)]
struct Model {
    deadlines: Vec<Option<(u64, u64)>>,
    set: u64,
}

impl Model {
    fn set(&mut self, slot: usize, at: Option<u64>) {
        if self.deadlines[slot].map(|(at, _)| at) == at {
            return;
        }
        self.set += 1;
        self.deadlines[slot] = at.map(|at| (at, self.set));
    }

    fn first(&self) -> Option<(u64, usize)> {
        let known = self.deadlines.iter().enumerate();
        let first = known.filter_map(|(slot, deadline)| Some(((*deadline)?, slot)));
        first.min().map(|((at, _), slot)| (at, slot))
    }
}

#[derive(Debug, Clone)]
enum Step {
    Add,
    Set(usize, Option<u64>),
    /// The first acts, moves another's deadline meanwhile, and asks for this one of its own.
    Act(usize, Option<u64>, Option<u64>),
}

fn step() -> impl Strategy<Value = Step> {
    let at = || proptest::option::weighted(0.8, 0..20u64);
    prop_oneof![
        1 => Just(Step::Add),
        6 => (0..64usize, at()).prop_map(|(slot, at)| Step::Set(slot, at)),
        6 => (0..64usize, at(), at()).prop_map(|(slot, at, own)| Step::Act(slot, at, own)),
    ]
}

proptest! {
    /// Whatever is set, moved and cancelled, the first is the first of a plain list.
    #[test]
    fn agrees_with_a_list(steps in proptest::collection::vec(step(), 1..200)) {
        let (mut schedule, mut model) = (Schedule::new(), Model::default());
        schedule.add();
        model.deadlines.push(None);
        for step in steps {
            let count = model.deadlines.len();
            let mut set = |model: &mut Model, slot: usize, at: Option<u64>| {
                schedule.set(slot as Slot, at.map(Instant::from_nanos));
                model.set(slot, at);
            };
            match step {
                Step::Add => {
                    prop_assert_eq!(schedule.add() as usize, count);
                    model.deadlines.push(None);
                }
                Step::Set(slot, at) => set(&mut model, slot % count, at),
                Step::Act(slot, at, own) => {
                    let Some((_, first)) = model.first() else { continue };
                    schedule.spend(first as Slot);
                    model.deadlines[first] = None;
                    let mut set = |model: &mut Model, slot: usize, at: Option<u64>| {
                        schedule.set(slot as Slot, at.map(Instant::from_nanos));
                        model.set(slot, at);
                    };
                    if slot % count != first {
                        set(&mut model, slot % count, at);
                    }
                    set(&mut model, first, own);
                }
            }
            let first = schedule.first().map(|(at, slot)| (at.as_nanos(), slot as usize));
            prop_assert_eq!(first, model.first());
        }
    }
}

#[test]
fn equal_times_come_in_the_order_in_which_they_were_set() {
    let mut schedule = Schedule::new();
    let slots: Vec<Slot> = (0..5).map(|_| schedule.add()).collect();
    let at = Some(Instant::from_millis(1));
    for slot in [3, 1, 4, 0, 2] {
        schedule.set(slots[slot], at);
    }
    schedule.set(slots[3], at); // does not move, keeps its turn
    let mut order = Vec::new();
    while let Some((_, slot)) = schedule.first() {
        order.push(slot);
        schedule.spend(slot);
        schedule.set(slot, None);
    }
    assert_eq!(order, [3, 1, 4, 0, 2]);
}

#[test]
fn the_end_of_time_never_comes() {
    let mut schedule = Schedule::new();
    let slot = schedule.add();
    schedule.set(slot, Some(Instant::from_nanos(u64::MAX)));
    assert_eq!(schedule.first(), None);
    schedule.set(slot, Some(Instant::ZERO));
    schedule.spend(slot);
    schedule.set(slot, Some(Instant::from_nanos(u64::MAX)));
    assert_eq!(schedule.first(), None);
}
