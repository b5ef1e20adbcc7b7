//! An emulated hop between the mobile host and the gateway.

use std::fs;
use std::process::{Child, Command, Stdio};

use edges::namespace::Namespace;
use edges::netlink::Netlink;
use edges::sysctl;
use edges::tun::{Offload, TunDevice, TunOptions};
use tempfile::TempDir;

use super::PROGRAM;

/// The emulator; it ends when dropped.
pub(crate) struct Air {
    emulator: Child,
    _folder: TempDir,
}

impl Air {
    /// Joins two namespaces by a link as `link` (TOML) says; both ends bear the name "air".
    pub(crate) fn between(one: &Namespace, other: &Namespace, link: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [file, report] = ["link.toml", "report.json"].map(|name| folder.path().join(name));
        fs::write(&file, link).unwrap();
        let (left, right) = (device(one, "10.1.0.1/24"), device(other, "10.1.0.2/24"));
        let emulator = Command::new(PROGRAM)
            .args(["emulate", "--left", "stdin", "--right", "stdout", "--link"])
            .arg(&file)
            .args(["--seed", "1", "--json"])
            .arg(&report)
            .stdin(Stdio::from(left.into_descriptor()))
            .stdout(Stdio::from(right.into_descriptor()))
            .spawn()
            .unwrap();
        while !report.exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Self {
            emulator,
            _folder: folder,
        }
    }
}

impl Drop for Air {
    fn drop(&mut self) {
        let _ = self.emulator.kill();
        let _ = self.emulator.wait();
    }
}

fn device(namespace: &Namespace, address: &str) -> TunDevice {
    let make = || {
        let options = TunOptions {
            name: "air".into(),
            offload: Offload::None,
            queue_length: 10_000,
        };
        let device = TunDevice::open(&options).unwrap();
        // A kernel without IPv6 has none to keep out.
        let _ = sysctl::set("net/ipv6/conf/air/disable_ipv6", "1");
        let mut netlink = Netlink::open().unwrap();
        netlink
            .add_address("air", address.parse().unwrap())
            .unwrap();
        netlink.set_up("air").unwrap();
        device
    };
    namespace.run(make).unwrap()
}
