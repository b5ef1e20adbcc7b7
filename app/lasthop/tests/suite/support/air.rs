//! An emulated hop between the mobile host and the gateway.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use edges::namespace::Namespace;
use edges::netlink::Netlink;
use edges::sysctl;
use edges::tun::{Offload, TunDevice, TunOptions};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::PROGRAM;
use super::turn::Turn;

/// The addresses of the two ends.
pub(crate) const GATEWAY: &str = "10.1.0.1";
pub(crate) const MOBILE: &str = "10.1.0.2";

/// The emulator; it ends when dropped.
pub(crate) struct Air {
    emulator: Child,
    folder: TempDir,
    _turn: Turn,
}

impl Air {
    /// Joins the gateway and the mobile host by a link as `link` (TOML) says; both ends bear the name "air".
    pub(crate) fn between([gateway, mobile]: [&Namespace; 2], link: &str, seed: u64) -> Self {
        let turn = Turn::take();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("link.toml");
        fs::write(&file, link).unwrap();
        let (left, right) = (device(gateway, GATEWAY), device(mobile, MOBILE));
        let emulator = Command::new(PROGRAM)
            .args(["emulate", "--left", "stdin", "--right", "stdout", "--link"])
            .arg(&file)
            .args(["--seed", &seed.to_string(), "--json"])
            .arg(folder.path().join("report.json"))
            .stdin(Stdio::from(left.into_descriptor()))
            .stdout(Stdio::from(right.into_descriptor()))
            .spawn()
            .unwrap();
        let mut air = Self {
            emulator,
            folder,
            _turn: turn,
        };
        air.wait_for_report();
        air
    }

    fn report_path(&self) -> PathBuf {
        self.folder.path().join("report.json")
    }

    fn wait_for_report(&mut self) {
        while !self.report_path().exists() {
            let ended = self.emulator.try_wait().unwrap();
            assert!(ended.is_none(), "the emulator has ended: {ended:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Asks for the counters.
    pub(crate) fn report(&mut self) -> Value {
        fs::remove_file(self.report_path()).unwrap();
        self.signal(Signal::USR1);
        self.wait_for_report();
        self.read()
    }

    /// Ends the emulator and gives its last report.
    pub(crate) fn end(mut self) -> Value {
        self.signal(Signal::TERM);
        assert!(self.emulator.wait().unwrap().success());
        self.read()
    }

    /// The processor time that the emulator has used, in seconds.
    pub(crate) fn processor_seconds(&self) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.emulator.id())).unwrap();
        let fields: Vec<_> = text
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        let ticks = |index: usize| fields[index].parse::<f64>().unwrap();
        (ticks(11) + ticks(12)) / rustix::param::clock_ticks_per_second() as f64
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.emulator), signal).unwrap();
    }

    fn read(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.report_path()).unwrap()).unwrap()
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
            .add_address("air", format!("{address}/24").parse().unwrap())
            .unwrap();
        netlink.set_up("air").unwrap();
        device
    };
    namespace.run(make).unwrap()
}
