//! The end of a run for the programs on mounts: each request ends, and all data are on the server's disk.

use programs::Action;
use units::Duration;

use crate::acts::HEALING;
use crate::mounts::Mount;
use crate::oracle::Violation;
use crate::world::World;

/// Number of times that `fsync` may fail at each opening after the server's last fault.
const FAILURES: usize = 3;
/// Longest time in which a file that was removed while it was open disappears after its last close.
const REMOVAL: Duration = Duration::from_secs(10);

impl World {
    /// Lets the programs end what they began, makes all files safe, closes them, and checks the server's disk.
    pub(crate) fn finish_files(&mut self) -> Result<(), Violation> {
        let mobiles = self.files.iter().flat_map(|files| files.mounts.keys());
        let mobiles: Vec<_> = mobiles.copied().collect();
        self.await_programs(&mobiles)?;
        let mounts = self
            .files
            .iter_mut()
            .flat_map(|files| files.mounts.values_mut());
        mounts.for_each(Mount::has_answers);
        for mobile in &mobiles {
            for open in 0..self.open_files(*mobile) {
                for _ in 0..=FAILURES {
                    self.act_last(*mobile, Action::Synchronize { open });
                }
            }
        }
        self.await_programs(&mobiles)?;
        for mobile in &mobiles {
            if self.fails_for_good(*mobile) {
                let text =
                    format!("mobile {mobile}: fsync goes on to fail without a fault of the server");
                self.fail("R7", text);
            }
            for _ in 0..self.open_files(*mobile) {
                self.act_last(*mobile, Action::Close { open: 0 });
            }
        }
        self.await_programs(&mobiles)?;
        self.wait(REMOVAL)?;
        for mobile in &mobiles {
            self.check_mount(*mobile);
        }
        self.verdict()
    }

    fn act_last(&mut self, mobile: usize, action: Action) {
        self.with_programs(mobile, |programs, ground| {
            programs.act(action);
            programs.go_on(ground)
        });
        self.settle();
    }

    /// Returns the number of files that the programs of a mobile host have open.
    fn open_files(&self, mobile: usize) -> usize {
        let mount = self
            .files
            .as_ref()
            .and_then(|files| files.mounts.get(&mobile));
        mount.map_or(0, |mount| mount.reference.open().len())
    }

    /// Waits until all programs have ended; each request may take [`HEALING`].
    fn await_programs(&mut self, mobiles: &[usize]) -> Result<(), Violation> {
        loop {
            let waiting = |mobile: &usize| {
                let mount = self.files.as_ref()?.mounts.get(mobile)?;
                Some((*mobile, mount.programs.waiting()?))
            };
            let waiting: Vec<_> = mobiles.iter().filter_map(waiting).collect();
            if waiting.is_empty() {
                return Ok(());
            }
            let now = self.now;
            let late = waiting
                .iter()
                .find(|(_, (_, began))| now.since(*began) > HEALING);
            if let Some((mobile, (call, _))) = late {
                let mobile = *mobile;
                let text = format!("mobile {mobile}: no answer long after the last fault: {call}");
                self.fail("R11", text);
            }
            self.verdict()?;
            self.wait(HEALING / 4)?;
        }
    }

    fn fails_for_good(&self, mobile: usize) -> bool {
        let mount = self
            .files
            .as_ref()
            .and_then(|files| files.mounts.get(&mobile));
        mount.is_some_and(|mount| mount.reference.fails_for_good())
    }

    /// Checks that nothing is left of a mount's requests, and the contents of all files.
    fn check_mount(&mut self, mobile: usize) {
        let Some(files) = &mut self.files else {
            return;
        };
        let Some(mount) = files.mounts.get_mut(&mobile) else {
            return;
        };
        let waiting = mount.host.system.waiting();
        let (held, kept) = (
            (waiting.requests, waiting.open_files, waiting.nodes),
            mount.host.client.unsafe_bytes(),
        );
        let result = mount.reference.check(&files.server);
        if (held, kept) != ((0, 0, 1), 0) {
            let text =
                format!("mobile {mobile}: of closed files are left {waiting:?} and {kept} bytes");
            self.fail("R11", text);
        }
        if let Err(broken) = result {
            self.fail(broken.promise, format!("mobile {mobile}: {}", broken.text));
        }
    }
}
