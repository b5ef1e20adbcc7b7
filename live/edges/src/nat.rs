//! Network address translation at the gateway: what mobiles send leaves with the gateway's address.
//!
//! It is a table of our own in nftables, made and removed in one transaction by the program `nft`;
//! nobody else's rules are touched.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ipnet::{Ipv4Net, Ipv6Net};
use thiserror::Error;

/// Where `nft` lives on systems whose users' search path leaves it out.
const USUAL_FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];
/// The longest instance name in a table's name, in bytes.
const LONGEST_INSTANCE: usize = 32;

/// Why address translation could not be set up or removed.
#[derive(Debug, Error)]
pub enum NatError {
    /// `nft` is not installed.
    #[error(
        "address translation needs the program `nft`: install the package nftables (`apt install \
        nftables`, `dnf install nftables`), or set `nat = false` and translate by other means"
    )]
    NftMissing,
    /// The name has characters that a table's name must not have.
    #[error("'{0}' cannot name a table: use 1 to {LONGEST_INSTANCE} letters, digits and '_'")]
    InvalidName(String),
    /// The link's name cannot stand in a rule.
    #[error("'{0}' is no name of a link that a rule can hold")]
    InvalidLink(String),
    /// `nft` refused.
    #[error("cannot {operation} the nftables table '{table}': {reason}")]
    Refused {
        /// "install" or "remove".
        operation: &'static str,
        /// The table's name.
        table: String,
        /// What `nft` said.
        reason: String,
    },
    /// `nft` could not be run.
    #[error("cannot run {program}: {source}")]
    Failed {
        /// The program's path.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
}

/// Which packets are translated. With no prefix at all, none are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masquerade {
    /// Names the table: `lasthop_<instance>`.
    pub instance: String,
    /// The link to the mobiles; what leaves by it keeps its address.
    pub inner_link: String,
    /// The mobiles' IPv4 addresses.
    pub ipv4: Vec<Ipv4Net>,
    /// The mobiles' IPv6 addresses, where these are to be translated as well (NAT66).
    pub ipv6: Vec<Ipv6Net>,
}

impl Masquerade {
    /// The table's name.
    pub fn table(&self) -> Result<String, NatError> {
        table_of(&self.instance)
    }

    /// Makes the table, in the place of one that an earlier run left, in the calling thread's
    /// namespace.
    pub fn install(&self) -> Result<(), NatError> {
        let table = self.table()?;
        run_nft(&self.ruleset()?, "install", &table)
    }

    /// The table as nftables reads it.
    fn ruleset(&self) -> Result<String, NatError> {
        let table = self.table()?;
        let link = &self.inner_link;
        if link.is_empty()
            || !link
                .bytes()
                .all(|b| b.is_ascii_graphic() && !b"\"\\*{};".contains(&b))
        {
            return Err(NatError::InvalidLink(link.clone()));
        }
        let mut rules = String::new();
        let mut rule = |version: &str, prefixes: String| {
            if !prefixes.is_empty() {
                // Writing to a string cannot fail.
                let _ = writeln!(
                    rules,
                    "    {version} saddr {{ {prefixes} }} oifname != \"{link}\" masquerade"
                );
            }
        };
        rule("ip", join(&self.ipv4));
        rule("ip6", join(&self.ipv6));
        Ok(format!(
            "{}table inet {table} {{\n  chain postrouting {{\n    \
             type nat hook postrouting priority srcnat; policy accept;\n{rules}  }}\n}}\n",
            removal(&table)
        ))
    }
}

/// Removes the table of the instance of that name; one that is not there counts as removed.
pub fn remove(instance: &str) -> Result<(), NatError> {
    let table = table_of(instance)?;
    run_nft(&removal(&table), "remove", &table)
}

fn table_of(instance: &str) -> Result<String, NatError> {
    let sound = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if instance.is_empty() || instance.len() > LONGEST_INSTANCE || !instance.bytes().all(sound) {
        return Err(NatError::InvalidName(instance.into()));
    }
    Ok(format!("lasthop_{instance}"))
}

/// Making it first lets the removal succeed whether it was there or not, in the same transaction.
fn removal(table: &str) -> String {
    format!("table inet {table} {{}}\ndelete table inet {table}\n")
}

fn join<T: ToString>(prefixes: &[T]) -> String {
    prefixes
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

fn run_nft(ruleset: &str, operation: &'static str, table: &str) -> Result<(), NatError> {
    let program = find_nft(std::env::var_os("PATH")).ok_or(NatError::NftMissing)?;
    let failed = |source| NatError::Failed {
        program: program.display().to_string(),
        source,
    };
    let mut child = Command::new(&program)
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // When it ends early, its own words below say more than "broken pipe".
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
    Err(NatError::Refused {
        operation,
        table: table.into(),
        reason,
    })
}

fn find_nft(search_path: Option<OsString>) -> Option<PathBuf> {
    let search_path = search_path.unwrap_or_default();
    let folders = std::env::split_paths(&search_path).chain(USUAL_FOLDERS.map(PathBuf::from));
    folders
        .map(|folder| folder.join(OsStr::new("nft")))
        .find(|program| program.is_file())
}

#[cfg(test)]
#[path = "nat_tests.rs"]
mod tests;
