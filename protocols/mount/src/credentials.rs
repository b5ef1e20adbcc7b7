//! The credentials of callers for the server.

use std::collections::BTreeMap;
use std::sync::Arc;

use rpc::message::{Credentials, GROUPS_MAX, Identity, SystemCredentials};
use units::{Duration, Instant};

use crate::{Caller, Request, RequestId};

/// Time that a process's groups are cached: reading them costs an access to `/proc`.
const VALID: Duration = Duration::from_secs(5);
/// Largest number of cached users.
const REMEMBERED: usize = 1_024;

/// Credentials of the users of this host.
#[derive(Debug, Clone)]
pub(crate) struct Users {
    machine: String,
    stamp: u32,
    known: BTreeMap<(u32, u32), (Arc<Credentials>, Instant)>,
    /// Requests that wait for the groups of their process.
    pub(crate) held: BTreeMap<RequestId, Request>,
}

impl Users {
    /// Returns the credentials of users of the host `machine`. The stamp is any number.
    pub(crate) fn new(machine: &str, stamp: u32) -> Self {
        Self {
            machine: machine[..machine.floor_char_boundary(255)].to_owned(),
            stamp,
            known: BTreeMap::new(),
            held: BTreeMap::new(),
        }
    }

    /// Returns the cached credentials of a process, if they are not too old.
    pub(crate) fn known(&self, caller: Caller, now: Instant) -> Option<Arc<Credentials>> {
        let (credentials, since) = self.known.get(&(caller.user, caller.group))?;
        (now.since(*since) < VALID).then(|| Arc::clone(credentials))
    }

    /// Adds the credentials of a process, with its user, its group, and the first of its other groups, and returns
    /// them.
    pub(crate) fn learn(
        &mut self,
        caller: Caller,
        mut groups: Vec<u32>,
        now: Instant,
    ) -> Arc<Credentials> {
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
        let entry = (Arc::clone(&credentials), now);
        self.known.insert((caller.user, caller.group), entry);
        credentials
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(user: u32) -> Caller {
        Caller {
            user,
            group: 100,
            process: 1,
        }
    }

    fn identity(credentials: &Credentials) -> &Identity {
        match credentials {
            Credentials::System(system) => system.identity(),
            Credentials::None => panic!("somebody asks"),
        }
    }

    #[test]
    fn a_user_is_named_by_numbers_and_remembered_for_a_while() {
        let mut users = Users::new("host", 7);
        let groups = (90..120).collect();
        let credentials = users.learn(caller(1_000), groups, Instant::ZERO);
        let identity = identity(&credentials);
        assert_eq!((identity.user, identity.group), (1_000, 100));
        assert!(identity.groups.len() <= GROUPS_MAX && !identity.groups.contains(&100));
        let again = users.known(caller(1_000), Instant::from_millis(4_999));
        assert!(Arc::ptr_eq(&credentials, &again.unwrap()));
        assert!(
            users
                .known(caller(1_000), Instant::from_millis(5_000))
                .is_none()
        );
        assert!(users.known(caller(1_001), Instant::ZERO).is_none());
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
            users.learn(caller(user), Vec::new(), Instant::ZERO);
        }
        assert!(users.known.len() <= REMEMBERED);
    }
}
