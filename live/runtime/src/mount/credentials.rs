//! In whose name the server is asked.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use edges::fuse::{Caller, groups_of};
use rpc::message::{Credentials, Identity, SystemCredentials};

/// For how long a user's groups are taken for true: to read them costs a look into `/proc`.
const VALID: Duration = Duration::from_secs(5);
/// How many users are remembered.
const REMEMBERED: usize = 1_024;
/// How many groups beside the first the server can be told.
const GROUPS: usize = 16;

/// Credentials of the users of this host.
pub(super) struct Users {
    machine: String,
    stamp: u32,
    known: HashMap<(u32, u32), (Arc<Credentials>, Instant)>,
}

impl Users {
    /// Of users of the host `machine`. The stamp is any number.
    pub(super) fn new(machine: &str, stamp: u32) -> Self {
        let mut length = machine.len().min(255);
        while !machine.is_char_boundary(length) {
            length -= 1;
        }
        Self {
            machine: machine[..length].to_owned(),
            stamp,
            known: HashMap::new(),
        }
    }

    /// The credentials of a process: its user, its group, and the first of its other groups.
    pub(super) fn of(&mut self, caller: Caller) -> Arc<Credentials> {
        let key = (caller.user, caller.group);
        if let Some((credentials, since)) = self.known.get(&key)
            && since.elapsed() < VALID
        {
            return Arc::clone(credentials);
        }
        let mut groups = groups_of(caller.process);
        groups.retain(|group| *group != caller.group);
        groups.truncate(GROUPS);
        let identity = Identity {
            user: caller.user,
            group: caller.group,
            groups,
        };
        let credentials = SystemCredentials::new(self.stamp, &self.machine, identity)
            .expect("name and groups are within what can be sent");
        let credentials = Arc::new(Credentials::System(credentials));
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        let entry = (Arc::clone(&credentials), Instant::now());
        self.known.insert(key, entry);
        credentials
    }
}
