//! The loop.

use machine::{Machine, earlier};
use units::{Duration, Instant};

use super::Clock;

/// Machines of a test in virtual time.
///
/// Most tests want two machines of one kind, or more: the [`ends`](Self::ends). A test with other machines beside these
/// gives [`others_deadline`](Self::others_deadline) and [`wake_others`](Self::wake_others).
pub trait VirtualTime {
    /// The machines.
    type End: Machine;
    /// What is under way: mostly an input with the end that it goes to.
    type Event;

    /// Set where deadlines come before the events of the same time, and all of these at once. Otherwise events come
    /// first, one at a step.
    const TIMERS_FIRST: bool = false;

    /// Returns the machines.
    fn ends(&self) -> &[Self::End];

    /// Returns the machines and the clock, to be changed.
    fn parts(&mut self) -> (&mut [Self::End], &mut Clock<Self::Event>);

    /// Does what an end asks for.
    fn carry_out(&mut self, end: usize, output: <Self::End as Machine>::Output);

    /// Lets happen what was under way.
    fn handle_event(&mut self, event: Self::Event);

    /// Hands an input to an end, and carries out what comes of it.
    fn input(&mut self, end: usize, input: <Self::End as Machine>::Input) {
        self.answer(end, input);
        self.drain(end);
    }

    /// Hands an input to an end whose outputs are being carried out.
    fn answer(&mut self, end: usize, input: <Self::End as Machine>::Input) {
        let (ends, clock) = self.parts();
        ends[end].handle_input(clock.now, input);
    }

    /// Carries out what an end asks for.
    fn drain(&mut self, end: usize) {
        while let Some(output) = self.parts().0[end].poll_output() {
            self.carry_out(end, output);
        }
    }

    /// Returns the first deadline of what is no end.
    fn others_deadline(&self) -> Option<Instant> {
        None
    }

    /// Lets what is no end act if its deadline has come.
    fn wake_others(&mut self) {}

    /// Lets the machines act whose deadlines have come.
    fn handle_timeout(&mut self) {
        for end in 0..self.ends().len() {
            let (ends, clock) = self.parts();
            if ends[end].poll_timeout().is_some_and(|due| due <= clock.now) {
                ends[end].handle_timeout(clock.now);
                self.drain(end);
            }
        }
        self.wake_others();
    }

    /// Returns when something happens next.
    fn next(&mut self) -> Option<Instant> {
        let deadlines = self.ends().iter().map(Machine::poll_timeout);
        let deadline = deadlines.fold(self.others_deadline(), earlier);
        earlier(deadline, self.parts().1.next())
    }

    /// Goes to what happens next and lets it happen; false if nothing happens until `end`.
    fn step(&mut self, end: Instant) -> bool {
        let Some(next) = self.next().filter(|next| *next <= end) else {
            return false;
        };
        let (_, clock) = self.parts();
        clock.now = next.max(clock.now);
        if Self::TIMERS_FIRST {
            self.handle_timeout();
            while let Some(event) = self.parts().1.pop() {
                self.handle_event(event);
            }
        } else if let Some(event) = clock.pop() {
            self.handle_event(event);
        } else {
            self.handle_timeout();
        }
        true
    }

    /// Lets time pass until `end`.
    fn run_until(&mut self, end: Instant) {
        while self.step(end) {}
        self.parts().1.now = end;
    }

    /// Lets so much time pass.
    fn run(&mut self, span: Duration) {
        let end = self.parts().1.now + span;
        self.run_until(end);
    }
}
