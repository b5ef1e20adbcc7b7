//! What is tried at the end of each run, when nothing else is wrong: a clock that was ahead, and a restarted gateway.

use units::{BitRate, Duration};

use crate::oracle::Violation;
use crate::world::World;

/// Error of the clock, in nanoseconds.
const AHEAD: i64 = 3_600_000_000_000;
/// Time in which a mobile host with that clock connects.
const CONNECTING: Duration = Duration::from_secs(5);
/// Time in which a mobile host is served, from its first datagram, without the round trips.
const SERVED: Duration = Duration::from_secs(2);
/// Least rate at which a restart is tried: repairs of the echo requests fill slower hops for longer (see "Open" in
/// `docs/promises.md`).
const RATE_LEAST: BitRate = BitRate::from_megabits(1);
/// Time between two of its echo requests.
const INTERVAL: Duration = Duration::from_millis(250);

impl World {
    /// Tries a clock that was ahead at one start of a mobile host and is right at the next (S8), and then a gateway
    /// that starts again (R4).
    pub(crate) fn trials(&mut self) -> Result<(), Violation> {
        let process = self.mobile(0);
        self.restart(process, AHEAD);
        self.wait(CONNECTING + self.setting.delay * 4)?;
        self.restart(process, 0);
        self.is_served(0, "S8", "after its clock was ahead and is right again")?;
        if self.setting.rate < RATE_LEAST {
            return Ok(());
        }
        let gateway = self.network.gateway;
        self.restart(gateway, 0);
        for mobile in 0..self.setting.mobiles {
            self.is_served(mobile, "R4", "after the gateway's restart")?;
        }
        Ok(())
    }

    /// Kills a process and starts it with an error of its clock.
    fn restart(&mut self, process: usize, clock_error: i64) {
        self.processes[process].kill();
        self.processes[process].clock_error = clock_error;
        self.start(process);
    }

    /// Lets a mobile host send until it gets an answer, which must come in time.
    fn is_served(
        &mut self,
        mobile: usize,
        promise: &'static str,
        when: &str,
    ) -> Result<(), Violation> {
        let begun = self.now;
        // The handshake that is refused, the one that is answered, and the packet.
        let limit = SERVED + self.setting.delay * 8;
        while self.now.since(begun) < limit {
            self.echo(mobile, 0);
            self.wait(INTERVAL)?;
            let mut new = self
                .probes
                .iter()
                .rev()
                .take_while(|probe| probe.sent >= begun);
            if new.any(|probe| probe.mobile == mobile && probe.answered) {
                return Ok(());
            }
        }
        self.fail(
            promise,
            format!("mobile {mobile} has no answer for {limit} {when}"),
        );
        self.verdict()
    }
}
