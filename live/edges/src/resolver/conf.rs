//! The text of resolv.conf(5), and how ours keeps the one before it.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::Path;

use wire::hop::Resolvers;

/// The file that programs read.
pub(super) const RESOLV_CONF: &str = "/etc/resolv.conf";
/// First line of our text, and what each line of the former text follows.
const HEAD: &str = "# Names are asked across the hop of lasthop.";
const FORMER: &str = "#~ ";
/// Largest size that is read, in bytes. Usual ones have some hundred.
const LARGEST: u64 = 64 << 10;

/// Reads the text at `path`.
pub(super) fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = File::open(path)?;
    file.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the servers in a text; those for a single link are left out.
pub(super) fn servers_in(text: &str) -> impl Iterator<Item = IpAddr> {
    text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let is_server = words.next() == Some("nameserver");
        let address = words.next().filter(|_| is_server)?;
        address.parse().ok()
    })
}

/// Returns the text that programs shall read in place of `former`. It keeps that text in comments, so that whoever
/// finds it can restore it; options stay in force.
pub(super) fn in_place_of(former: &str, resolvers: &Resolvers) -> String {
    let mut text = format!(
        "{HEAD} `lasthop leave` or `lasthop clean` restores what follows after '{}'.\n",
        FORMER.trim_end()
    );
    text.push_str(&lines_of(resolvers));
    let former = former_in(former).unwrap_or_else(|| former.into());
    for line in former.lines() {
        if line.split_whitespace().next() == Some("options") {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{line}");
        }
    }
    for line in former.lines() {
        let _ = writeln!(text, "{FORMER}{line}");
    }
    text
}

/// Returns the lines of servers and search domains.
pub(super) fn lines_of(resolvers: &Resolvers) -> String {
    let mut text = String::new();
    for server in resolvers.servers() {
        let _ = writeln!(text, "nameserver {server}");
    }
    if !resolvers.domains().is_empty() {
        let _ = writeln!(text, "search {}", resolvers.domains().join(" "));
    }
    text
}

/// Returns the text before ours, if `text` is ours.
pub(super) fn former_in(text: &str) -> Option<String> {
    if !text.starts_with(HEAD) {
        return None;
    }
    let former = text
        .lines()
        .filter_map(|line| line.strip_prefix(FORMER.trim_end()));
    let line = |rest: &str| format!("{}\n", rest.strip_prefix(' ').unwrap_or(rest));
    Some(former.map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolvers(servers: &[&str], domains: &[&str]) -> Resolvers {
        let servers = servers.iter().map(|server| server.parse().unwrap());
        let domains = domains.iter().map(|domain| (*domain).to_owned());
        Resolvers::new(servers.collect(), domains.collect()).unwrap()
    }

    #[test]
    fn servers_are_read_from_a_text() {
        let text = "# a comment\nnameserver 192.0.2.53\nsearch example.org\nnameserver fe80::1%eth0\n\
                    nameserver fd00::53\noptions rotate\nnameserver\nnameserver none\n";
        let found: Vec<String> = servers_in(text).map(|server| server.to_string()).collect();
        assert_eq!(found, ["192.0.2.53", "fd00::53"]);
    }

    #[test]
    fn our_text_keeps_the_one_before_it_however_often_it_is_replaced() {
        let before = "# by hand\nnameserver 192.168.1.1\n\noptions edns0 trust-ad\n#~ odd\n";
        let ours = in_place_of(
            before,
            &resolvers(&["10.73.0.1", "fd73::1"], &["example.org"]),
        );
        let lines: Vec<_> = ours.lines().skip(1).take(4).collect();
        let expected = [
            "nameserver 10.73.0.1",
            "nameserver fd73::1",
            "search example.org",
            "options edns0 trust-ad",
        ];
        assert_eq!(lines, expected);
        let servers: Vec<_> = servers_in(&ours).map(|server| server.to_string()).collect();
        assert_eq!(servers, ["10.73.0.1", "fd73::1"]);
        assert_eq!(former_in(&ours).as_deref(), Some(before));
        let again = in_place_of(&ours, &resolvers(&["10.74.0.1"], &[]));
        assert_eq!(former_in(&again).as_deref(), Some(before));
        assert!(!again.contains("10.73.0.1"));
        assert_eq!(former_in(before), None);
    }
}
