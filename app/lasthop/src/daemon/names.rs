//! The resolver of a mobile host while the hop is up.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use edges::resolver;
use hosts::{ResolverTerms, Resolvers};
use runtime::resolver::{
    Names, NamesStatus, Report, ResolverCharge, ResolverHelper, serve_resolver,
};

use super::privileges::{PROGRAM, own_end};
use crate::config::dns::Dns;
use crate::failure::Failure;

/// The internal command of the process that sets the resolver.
pub(crate) const COMMAND: &str = "resolver-helper";

/// What a mobile host does with its resolver.
pub(super) struct Plan {
    pub(super) dns: Dns,
    /// True if all traffic crosses the hop.
    pub(super) takes_all: bool,
    /// True if the resolver stays when the daemon ends.
    pub(super) keeps: bool,
    pub(super) state_dir: PathBuf,
}

/// The process that sets the resolver, where one is needed.
pub(super) enum Opened {
    Unchanged(NamesStatus),
    Changed {
        helper: ResolverHelper,
        given: Option<Resolvers>,
    },
}

impl Plan {
    /// Returns the terms with the gateway.
    pub(super) fn terms(&self) -> ResolverTerms {
        match self.dns {
            Dns::Auto if self.takes_all => ResolverTerms::Ask,
            Dns::Auto | Dns::None | Dns::Servers(_) => ResolverTerms::Silent,
        }
    }

    /// Starts the process of the daemon `instance` with the hop's link `link`, while this one has its privileges.
    pub(super) fn open(self, instance: &str, link: &str) -> Opened {
        let given = match &self.dns {
            Dns::Auto if self.takes_all => None,
            // A list that was read is one that hosts can use.
            Dns::Servers(servers) => Resolvers::new(servers.clone(), Vec::new()),
            Dns::Auto | Dns::None => return self.leave_alone(instance, link),
        };
        let folder = std::path::absolute(&self.state_dir).unwrap_or(self.state_dir);
        let charge = ResolverCharge {
            folder,
            instance: instance.into(),
            link: link.into(),
            keeps: self.keeps,
        };
        match start(&charge) {
            Ok((helper, _)) => Opened::Changed { helper, given },
            Err(error) => {
                let status = NamesStatus {
                    beside: resolver::beside(link, false),
                    error: Some(error.to_string()),
                    ..NamesStatus::default()
                };
                tracing::warn!("the resolver of this host stays as it is: {error}");
                status.log_beside("set the resolver yourself, or set `dns = \"none\"`");
                Opened::Unchanged(status)
            }
        }
    }

    /// Takes back what an earlier run with other settings has left, and sees where names are asked.
    fn leave_alone(self, instance: &str, link: &str) -> Opened {
        if let Err(error) = resolver::lift(&self.state_dir, instance) {
            tracing::warn!("{error}; run `lasthop clean`");
        }
        let status = NamesStatus {
            beside: if self.takes_all {
                resolver::beside(link, false)
            } else {
                Vec::new()
            },
            ..NamesStatus::default()
        };
        status.log_beside(
            "remove `dns = \"none\"`, or list a server that is reached across the hop (docs/guide/dns.md)",
        );
        Opened::Unchanged(status)
    }
}

impl Opened {
    /// Starts the thread that follows the hop, once privileges are dropped.
    pub(super) fn start(self) -> Result<Names, Failure> {
        match self {
            Self::Unchanged(status) => Ok(Names::unchanged(status)),
            Self::Changed { helper, given } => Names::start(helper, given).map_err(|error| {
                Failure::setting(format!("cannot start the thread of the resolver: {error}"))
            }),
        }
    }
}

fn start(charge: &ResolverCharge) -> io::Result<(ResolverHelper, Report)> {
    let mut command = Command::new(PROGRAM);
    command.arg(COMMAND);
    ResolverHelper::start(command, charge)
}

/// Runs the process, whose standard input is its end of a stream.
pub(crate) fn run_resolver_helper() -> Result<(), Failure> {
    let served = own_end().and_then(|own| serve_resolver(own.into()));
    served.map_err(Failure::broken)
}
