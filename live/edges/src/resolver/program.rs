//! The programs that set the resolver of a host: `resolvectl` and `resolvconf`.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use wire::hop::Resolvers;

use super::conf::{self, RESOLV_CONF};
use crate::netlink::Netlink;
use crate::process::{find_program, outlive_signals};

/// Addresses of systemd-resolved (systemd-resolved.service(8)).
const STUBS: [&str; 2] = ["127.0.0.53", "127.0.0.54"];
const RESOLVECTL: &str = "resolvectl";
const RESOLVCONF: &str = "resolvconf";

/// Returns true if programs ask systemd's resolver, and nobody else.
pub(super) fn has_resolved() -> bool {
    let text = conf::read(Path::new(RESOLV_CONF)).unwrap_or_default();
    let stubs = STUBS.map(|stub| stub.parse::<IpAddr>().ok());
    let mut servers = conf::servers_in(&text).peekable();
    let any = servers.peek().is_some();
    any && servers.all(|server| stubs.contains(&Some(server))) && find_program(RESOLVECTL).is_some()
}

/// Has systemd's resolver ask these servers by `link`, and no others for names that no other link claims.
pub(super) fn set_resolved(link: &str, resolvers: &Resolvers) -> io::Result<()> {
    let servers = resolvers.servers().iter().map(ToString::to_string);
    let words = ["dns", link].map(String::from).into_iter();
    resolvectl(&words.chain(servers).collect::<Vec<_>>())?;
    let words = ["domain", link, "~."].map(String::from).into_iter();
    let domains = resolvers.domains().iter().cloned();
    resolvectl(&words.chain(domains).collect::<Vec<_>>())?;
    // Versions before 240 do not know it, and need it less.
    let _ = resolvectl(&["default-route", link, "yes"].map(String::from));
    Ok(())
}

/// Takes back what systemd's resolver has for `link`. A link that is gone has nothing.
pub(super) fn revert_resolved(link: &str) -> io::Result<()> {
    let reverted = resolvectl(&["revert", link].map(String::from));
    let links = Netlink::open().and_then(|mut netlink| netlink.links());
    let is_there = links.map_or(true, |links| links.iter().any(|known| known.name == link));
    if is_there { reverted } else { Ok(()) }
}

fn resolvectl(words: &[String]) -> io::Result<()> {
    let program = find_program(RESOLVECTL).ok_or(io::ErrorKind::NotFound)?;
    run(&program, words, "")
}

/// Returns true if the program `resolvconf` is here, and is not another name of `resolvectl`.
pub(super) fn has_resolvconf() -> bool {
    let real = find_program(RESOLVCONF).and_then(|program| program.canonicalize().ok());
    real.is_some_and(|real| real.file_name() != Some(OsStr::new(RESOLVECTL)))
}

/// Adds these servers, as the only ones where the program can do that (`-x` of openresolv).
pub(super) fn set_resolvconf(link: &str, resolvers: &Resolvers) -> io::Result<()> {
    let words = ["-a", &record_of(link), "-m", "0", "-x"].map(String::from);
    resolvconf(&words, &conf::lines_of(resolvers))
}

/// Removes them.
pub(super) fn revert_resolvconf(link: &str) -> io::Result<()> {
    resolvconf(&["-d", &record_of(link)].map(String::from), "")
}

/// Returns the name of our record. Debian's `resolvconf` has tunnels before other links by that beginning.
fn record_of(link: &str) -> String {
    format!("tun.{link}")
}

fn resolvconf(words: &[String], input: &str) -> io::Result<()> {
    let program = find_program(RESOLVCONF).ok_or(io::ErrorKind::NotFound)?;
    run(&program, words, input)
}

/// Runs a program, and gives it this text.
fn run(program: &Path, words: &[String], input: &str) -> io::Result<()> {
    let mut command = Command::new(program);
    outlive_signals(&mut command);
    let mut child = command
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        // If it ends early, its own error output says more than "broken pipe".
        let _ = pipe.write_all(input.as_bytes());
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().find(|line| !line.trim().is_empty());
    let said = said.map_or_else(|| output.status.to_string(), ToOwned::to_owned);
    Err(io::Error::other(format!("{}: {said}", program.display())))
}
