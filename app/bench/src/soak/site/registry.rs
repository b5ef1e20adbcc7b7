//! The registry of the home in the soak of a site: members of etcd die, and the list of hosts is changed meanwhile.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use rig::site::Site;
use rig::{Account, Etcd};

use super::super::random::Random;
use super::super::watch::Fault;
use crate::failure::Failure;

const MEMBERS: usize = 3;
/// The account of the home.
const ACCOUNT: Account = Account {
    user: "east",
    password: "a word",
    prefix: "/lasthop/east/",
};
/// Name of a mobile host that is invited and revoked again and again.
const GUEST: &str = "guest";
/// Longest time until a change is made where a majority of the members runs, with its election.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(200);

/// etcd, on the fixed host.
pub(super) struct Registry {
    etcd: Etcd,
    dead: Vec<usize>,
}

impl Registry {
    /// Starts all members, and has the list of the home kept there from its start on.
    pub(super) fn start(site: &Site, folder: &Path) -> Result<Self, Failure> {
        let folder = folder.join("etcd");
        fs::create_dir(&folder).map_err(rig::Failure::file("make", &folder))?;
        let etcd = Etcd::start(&site.fixed, super::FIXED, &folder, MEMBERS, &ACCOUNT)?;
        etcd.register(&site.configuration(), &ACCOUNT)?;
        Ok(Self {
            etcd,
            dead: Vec::new(),
        })
    }

    /// Kills one member, or two and so the majority; starts them if they are dead. Then the list is changed, or cannot
    /// be.
    pub(super) fn change(&mut self, site: &Site, random: &mut Random) -> Result<(), Fault> {
        if self.dead.is_empty() {
            let first = random.below(MEMBERS as u64) as usize;
            let count = 1 + random.below(2) as usize;
            self.dead = (first..first + count)
                .map(|member| member % MEMBERS)
                .collect();
            for member in &self.dead {
                self.etcd.kill(*member);
            }
        } else {
            for member in self.dead.drain(..) {
                let revived = self.etcd.revive(member);
                revived.map_err(|failure| failure.to_string())?;
            }
        }
        if self.dead.len() * 2 < MEMBERS {
            return self.changes(site);
        }
        let (is_done, said) = administer(site, &["invite", "--name", GUEST])?;
        if is_done || !said.contains("the registry does not answer") {
            return Err(format!("invited without a majority of etcd: {said}"));
        }
        Ok(())
    }

    /// Invites a mobile host and revokes it; each is in etcd then.
    fn changes(&self, site: &Site) -> Result<(), Fault> {
        for (arguments, is_there) in [
            (&["invite", "--name", GUEST][..], true),
            (&["revoke", GUEST], false),
        ] {
            let since = Instant::now();
            loop {
                let (is_done, said) = administer(site, arguments)?;
                if is_done {
                    break;
                }
                if since.elapsed() > PATIENCE {
                    return Err(format!(
                        "{arguments:?} was refused for {PATIENCE:?}: {said}"
                    ));
                }
                thread::sleep(PAUSE);
            }
            let key = format!("{}hosts/peers/{GUEST}", ACCOUNT.prefix);
            let found = self.etcd.control(&["get", "--keys-only", &key]);
            let found = found.map_err(|failure| failure.to_string())?;
            if found.contains(&key) != is_there {
                return Err(format!("after {arguments:?} etcd has {found:?}"));
            }
        }
        Ok(())
    }
}

/// Runs a command on the home; returns true if it succeeded, and all that it has said.
fn administer(site: &Site, arguments: &[&str]) -> Result<(bool, String), Fault> {
    let output = site.administer(arguments);
    let output = output.map_err(|failure| failure.to_string())?;
    let said = [output.stdout, output.stderr].concat();
    Ok((
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    ))
}
