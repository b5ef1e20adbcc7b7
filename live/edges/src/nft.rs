//! Our own nftables tables, installed and removed in one transaction by the program `nft`; rules of others are not
//! touched.

use std::fmt;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::process::{find_program, outlive_signals};

const NFT: &str = "nft";
/// Length of the longest instance name in a table's name, in bytes.
const LONGEST_INSTANCE: usize = 32;

/// Reason why a table could not be installed or removed.
#[derive(Debug, Error)]
pub enum NftError {
    /// `nft` is not installed.
    #[error(
        "{0} needs the program `nft`: install the package nftables (`apt install nftables`, \
        `dnf install nftables`), or {instead}",
        instead = .0.instead()
    )]
    Missing(Purpose),
    /// The name has characters that are not allowed in a table's name.
    #[error("'{0}' cannot name a table: use 1 to {LONGEST_INSTANCE} letters, digits and '_'")]
    InvalidName(String),
    /// The link's name is not allowed in a rule.
    #[error("'{0}' is no name of a link that a rule can hold")]
    InvalidLink(String),
    /// `nft` refused.
    #[error("cannot {operation} the nftables table '{table}': {reason}")]
    Refused {
        /// Operation: "install", "change" or "remove".
        operation: &'static str,
        /// Name of the table.
        table: String,
        /// Error output of `nft`.
        reason: String,
    },
    /// `nft` could not be run.
    #[error("cannot run {program}: {source}")]
    Failed {
        /// Path of the program.
        program: String,
        /// Error of the system.
        source: io::Error,
    },
}

/// Purpose of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// [`Masquerade`](crate::nat::Masquerade).
    Translation,
    /// [`Diversion`](crate::diversion::Diversion).
    Diversion,
    /// [`Forwarding`](crate::forwarding::Forwarding).
    Forwarding,
    /// [`NameServer`](crate::nameserver::NameServer).
    Names,
    /// [`Hold`](crate::hold::Hold).
    Hold,
    /// [`Lease`](crate::lease::Lease).
    Lease,
}

impl Purpose {
    /// Returns the remedy for systems without `nft`.
    fn instead(self) -> &'static str {
        match self {
            Self::Translation => "set `nat = false` and translate by other means",
            Self::Names => "set `dns = \"none\"`",
            Self::Hold => "end the gateway without handing its connections over",
            Self::Lease => "remove `lan` from [follow]",
            Self::Diversion => "let TCP cross by another method than `tcp = \"split\"`",
            Self::Forwarding => {
                "set `nat = false`, `isolate = false` and no `networks`, turn forwarding on \
                 yourself (`sysctl net.ipv4.ip_forward=1`), and filter by other means"
            }
        }
    }

    /// Returns the family of a table.
    fn family(self) -> &'static str {
        match self {
            // It has the only hook for frames that leave, whatever their protocol.
            Self::Lease => "netdev",
            _ => "inet",
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Translation => "address translation",
            Self::Diversion => "splitting TCP",
            Self::Forwarding => "forwarding by rule",
            Self::Names => "a resolver for mobile hosts",
            Self::Hold => "handing connections over",
            Self::Lease => "a lease of addresses",
        })
    }
}

/// Identity of a table of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Instance name of the daemon that owns it.
    pub instance: String,
    /// Purpose; one daemon has one table for each purpose.
    pub purpose: Purpose,
}

impl Table {
    /// Returns the name of the table in nftables.
    ///
    /// # Errors
    /// [`NftError::InvalidName`].
    pub fn name(&self) -> Result<String, NftError> {
        let instance = &self.instance;
        let sound = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if instance.is_empty() || instance.len() > LONGEST_INSTANCE || !instance.bytes().all(sound)
        {
            return Err(NftError::InvalidName(instance.clone()));
        }
        Ok(match self.purpose {
            Purpose::Translation => format!("lasthop_{instance}"),
            Purpose::Diversion => format!("lasthop_{instance}_split"),
            Purpose::Forwarding => format!("lasthop_{instance}_forward"),
            Purpose::Names => format!("lasthop_{instance}_names"),
            Purpose::Hold => format!("lasthop_{instance}_hold"),
            Purpose::Lease => format!("lasthop_{instance}_lease"),
        })
    }

    /// Installs the table with these chains, in place of one that an earlier run left, in the calling thread's
    /// namespace.
    ///
    /// # Errors
    /// All but [`NftError::InvalidLink`].
    pub(crate) fn install(&self, chains: &str) -> Result<(), NftError> {
        self.run("install", &self.ruleset(chains)?)
    }

    /// Gives sets of the installed table these elements, in place of those that they had, in one transaction.
    ///
    /// # Errors
    /// All but [`NftError::InvalidLink`].
    pub(crate) fn replace_elements(&self, sets: &[(&str, Vec<String>)]) -> Result<(), NftError> {
        let (family, name) = (self.purpose.family(), self.name()?);
        let commands = sets.iter().map(|(set, elements)| {
            let flush = format!("flush set {family} {name} {set}\n");
            match elements[..] {
                [] => flush,
                _ => format!(
                    "{flush}add element {family} {name} {set} {{ {} }}\n",
                    elements.join(", ")
                ),
            }
        });
        self.run("change", &commands.collect::<String>())
    }

    /// Removes the table; a missing one counts as removed.
    ///
    /// # Errors
    /// All but [`NftError::InvalidLink`].
    pub fn remove(&self) -> Result<(), NftError> {
        self.run("remove", &self.removal()?)
    }

    /// Returns the commands for nftables that replace the table.
    pub(crate) fn ruleset(&self, chains: &str) -> Result<String, NftError> {
        let (family, name) = (self.purpose.family(), self.name()?);
        Ok(format!(
            "{}table {family} {name} {{\n{chains}}}\n",
            self.removal()?
        ))
    }

    /// Returns the commands that remove the table. They create it first, so that the removal succeeds whether it
    /// existed or not, in the same transaction.
    fn removal(&self) -> Result<String, NftError> {
        let (family, name) = (self.purpose.family(), self.name()?);
        Ok(format!(
            "table {family} {name} {{}}\ndelete table {family} {name}\n"
        ))
    }

    fn run(&self, operation: &'static str, ruleset: &str) -> Result<(), NftError> {
        let program = find_program(NFT).ok_or(NftError::Missing(self.purpose))?;
        let failed = |source| NftError::Failed {
            program: program.display().to_string(),
            source,
        };
        let mut command = Command::new(&program);
        // A service manager or a terminal ends all processes of a daemon at once, and its rules are taken back then.
        outlive_signals(&mut command);
        let mut child = command
            .args(["-f", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        if let Some(mut input) = child.stdin.take() {
            // If it ends early, its own error output says more than "broken pipe".
            let _ = input.write_all(ruleset.as_bytes());
        }
        let output = child.wait_with_output().map_err(failed)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let reason = match said.lines().find(|line| !line.trim().is_empty()) {
            Some(line) if line.contains("Operation not permitted") => {
                format!("{line} (run as root, or with CAP_NET_ADMIN)")
            }
            Some(line) => line.to_owned(),
            None => output.status.to_string(),
        };
        Err(NftError::Refused {
            operation,
            table: self.name()?,
            reason,
        })
    }
}

/// Returns true if the program `nft` is installed.
pub fn is_installed() -> bool {
    find_program(NFT).is_some()
}

/// Returns all tables of this network namespace as JSON, without the elements of sets; `None` if `nft` is missing or
/// may not list them.
pub fn list_ruleset() -> Option<String> {
    let program = find_program(NFT)?;
    let mut command = Command::new(program);
    command.args(["-j", "-t", "list", "ruleset"]);
    let output = command.stdin(Stdio::null()).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the name of a link, if it is allowed in a rule.
pub(crate) fn link_in_rule(link: &str) -> Result<&str, NftError> {
    let sound = |b: u8| b.is_ascii_graphic() && !b"\"\\*{};".contains(&b);
    if link.is_empty() || !link.bytes().all(sound) {
        return Err(NftError::InvalidLink(link.into()));
    }
    Ok(link)
}

/// Returns the elements of a set.
pub(crate) fn set<T: ToString>(elements: &[T]) -> String {
    let elements: Vec<_> = elements.iter().map(ToString::to_string).collect();
    elements.join(", ")
}

#[cfg(test)]
#[path = "nft_tests.rs"]
mod tests;
