//! In whose name the server is asked.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use edges::fuse::{Caller, groups_of};
use rpc::message::{Credentials, GROUPS_MAX, Identity, SystemCredentials};

/// For how long a user's groups are taken for true: to read them costs a look into `/proc`.
const VALID: Duration = Duration::from_secs(5);
/// How many users are remembered.
const REMEMBERED: usize = 1_024;

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
        groups.truncate(GROUPS_MAX);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(user: u32, process: u32) -> Caller {
        let group = 100;
        Caller {
            user,
            group,
            process,
        }
    }

    fn system(credentials: &Credentials) -> &SystemCredentials {
        match credentials {
            Credentials::System(system) => system,
            Credentials::None => panic!("somebody asks"),
        }
    }

    #[test]
    fn a_user_is_named_by_numbers_and_remembered() {
        let mut users = Users::new("host", 7);
        let credentials = users.of(caller(1_000, std::process::id()));
        let identity = system(&credentials).identity();
        assert_eq!((identity.user, identity.group), (1_000, 100));
        assert!(identity.groups.len() <= GROUPS_MAX && !identity.groups.contains(&100));
        let again = users.of(caller(1_000, 0));
        assert!(Arc::ptr_eq(&credentials, &again));
        let other = users.of(caller(1_001, 0));
        assert!(
            system(&other).identity().groups.is_empty(),
            "a process that cannot be seen"
        );
    }

    #[test]
    fn a_long_name_of_a_host_is_cut_between_characters() {
        let users = Users::new(&"ü".repeat(200), 7);
        assert_eq!(users.machine, "ü".repeat(127));
    }

    #[test]
    fn not_all_users_that_ever_were_are_remembered() {
        let mut users = Users::new("host", 7);
        for user in 0..3 * REMEMBERED as u32 {
            users.of(caller(user, 0));
        }
        assert!(users.known.len() <= REMEMBERED);
    }
}
