//! The machine, its kernel and its programs.

use hosts::{CLOCKS, Role};

use super::{Finding, Severity};
use crate::doctor::facts::Facts;

/// Rate of sealing below which one core may limit a hop, in bits per second.
const SLOW: u64 = 200_000_000;
/// Open files below which a gateway that splits TCP runs out of sockets: two for each connection.
const FEW_FILES: u64 = 4_096;
/// Part of the kernel's table of connections that may be in use, in percent, and its least size on a gateway.
const FULL: u64 = 80;
const FEW_CONNECTIONS: u64 = 16_384;

/// The TUN driver.
pub(super) fn tun(facts: &Facts) -> Vec<Finding> {
    let finding = |error: &String| {
        Finding {
        severity: Severity::Error,
        code: "no-tun",
        what: format!("/dev/net/tun cannot be used: {error}"),
        why: "the hop needs a TUN device".into(),
        remedy: "modprobe tun; in a container, give it the device (`--device /dev/net/tun --cap-add NET_ADMIN`); and \
                 run this as root"
            .into(),
    }
    };
    facts.system.tun_error.iter().map(finding).collect()
}

/// The program that installs rules.
pub(super) fn nft(facts: &Facts) -> Vec<Finding> {
    if facts.system.has_nft {
        return Vec::new();
    }
    let (severity, why) = match facts.end.role {
        Some(Role::Gateway) => (
            Severity::Error,
            "a gateway translates and forwards by its rules",
        ),
        Some(Role::Mobile) => (
            Severity::Note,
            "without it no TCP connection of this host is split",
        ),
        None => (Severity::Warning, "a gateway cannot do without it"),
    };
    vec![Finding {
        severity,
        code: "no-nft",
        what: "the program `nft` is missing".into(),
        why: why.into(),
        remedy: "apt install nftables (or `dnf install nftables`)".into(),
    }]
}

/// A clock that cannot be right.
pub(super) fn clock(facts: &Facts) -> Vec<Finding> {
    if CLOCKS.contains(&facts.system.clock) {
        return Vec::new();
    }
    vec![Finding {
        severity: Severity::Warning,
        code: "clock",
        what: "the clock of this host is before 2026 or after 2100".into(),
        why: "invitations expire by the clock, and most programs refuse certificates".into(),
        remedy: "timedatectl set-ntp true, or `date -s` with the time".into(),
    }]
}

/// Keys that others may read.
pub(super) fn secrets(facts: &Facts) -> Vec<Finding> {
    let finding = |(path, mode): &(std::path::PathBuf, u32)| {
        let path = path.display();
        Finding {
            severity: Severity::Error,
            code: "open-secrets",
            what: format!("other users may open {path} (mode {mode:04o})"),
            why: "who reads the key is this host".into(),
            remedy: format!("chmod go= {path}; if somebody could have read a key, make a new one"),
        }
    };
    facts.system.open_secrets.iter().map(finding).collect()
}

/// The kernel's table of connections.
pub(super) fn connections(facts: &Facts) -> Vec<Finding> {
    let number = |name: &str| {
        facts
            .network
            .parameter(name)
            .and_then(|value| value.parse::<u64>().ok())
    };
    let (Some(most), Some(used)) = (
        number("net/netfilter/nf_conntrack_max"),
        number("net/netfilter/nf_conntrack_count"),
    ) else {
        return Vec::new();
    };
    let is_full = used * 100 >= most * FULL;
    let is_small = most < FEW_CONNECTIONS && facts.end.role == Some(Role::Gateway);
    if !is_full && !is_small {
        return Vec::new();
    }
    vec![Finding {
        severity: if is_full {
            Severity::Warning
        } else {
            Severity::Note
        },
        code: "connection-table",
        what: format!("the kernel tracks {used} connections and has room for {most}"),
        why: "when the table is full, new connections of mobile hosts are dropped".into(),
        remedy: format!(
            "sysctl -w net.netfilter.nf_conntrack_max={}",
            (most * 4).max(262_144)
        ),
    }]
}

/// The limit of open files.
pub(super) fn open_files(facts: &Facts) -> Vec<Finding> {
    let few = facts.system.open_files.filter(|most| *most < FEW_FILES);
    let finding = |most| Finding {
        severity: Severity::Note,
        code: "few-open-files",
        what: format!("a process may open at most {most} files"),
        why: "split TCP needs two sockets for each connection".into(),
        remedy: format!(
            "ulimit -Hn {}, or `LimitNOFILE=` in the unit",
            FEW_FILES * 16
        ),
    };
    few.map(finding).into_iter().collect()
}

/// The processor.
pub(super) fn speed(facts: &Facts) -> Vec<Finding> {
    let slow = facts.system.seal_rate.filter(|rate| *rate < SLOW);
    let finding = |rate: u64| Finding {
        severity: Severity::Note,
        code: "slow-processor",
        what: format!("one core of this host seals {} Mbit/s", rate / 1_000_000),
        why:
            "each frame of the hop is sealed (ChaCha20-Poly1305), so the hop is no faster than that"
                .into(),
        remedy: "use a faster host, if the hop should be faster".into(),
    };
    slow.map(finding).into_iter().collect()
}

/// Offloads of the kernel for UDP.
pub(super) fn segmentation(facts: &Facts) -> Vec<Finding> {
    if facts.system.has_segmentation {
        return Vec::new();
    }
    vec![Finding {
        severity: Severity::Note,
        code: "no-segmentation",
        what: "this kernel sends each datagram by itself (no UDP_SEGMENT)".into(),
        why: "fast hops cost more of the processor".into(),
        remedy: "use Linux 4.18 or later".into(),
    }]
}

/// What confines a daemon.
pub(super) fn sandbox(facts: &Facts) -> Vec<Finding> {
    let system = &facts.system;
    let missing = [
        (system.has_landlock, "Landlock"),
        (system.has_seccomp, "seccomp"),
    ];
    let missing = missing.into_iter().filter(|(has, _)| !has);
    let missing: Vec<_> = missing.map(|(_, name)| name).collect();
    if missing.is_empty() {
        return Vec::new();
    }
    vec![Finding {
        severity: Severity::Note,
        code: "no-sandbox",
        what: format!("this kernel has no {}", missing.join(" and no ")),
        why: "a daemon that is broken into may do more than it needs (docs/guide/containment.md)"
            .into(),
        remedy:
            "use a kernel with them; add `landlock` to the kernel's `lsm=` option if it is built in"
                .into(),
    }]
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
