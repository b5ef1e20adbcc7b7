//! The emulator as a process between two network namespaces, and UDP sockets on its two sides.

use std::fs;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use edges::namespace::{Namespace, NamespaceError};
use edges::netlink::Netlink;
use edges::sysctl;
use edges::tun::{Offload, TunDevice, TunOptions};
use serde_json::Value;
use tempfile::TempDir;

/// The address of the gateway's side; the mobile host's ends in 2.
pub(crate) const GATEWAY: &str = "10.7.0.1";
pub(crate) const MOBILE: &str = "10.7.0.2";

pub(crate) struct Rig {
    pub(crate) gateway: Namespace,
    pub(crate) mobile: Namespace,
    folder: TempDir,
    emulator: Child,
}

/// `None` where this machine lets us make no namespaces; under CI=true that is a failure.
pub(crate) fn namespaces() -> Option<(Namespace, Namespace)> {
    let made = Namespace::create().and_then(|gateway| Ok((gateway, Namespace::create()?)));
    match made {
        Ok(pair) => Some(pair),
        Err(error @ NamespaceError::CreationNotPermitted) if std::env::var_os("CI").is_none() => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn device(namespace: &Namespace, address: &str) -> TunDevice {
    let make = || {
        let name = "air".into();
        let options = TunOptions {
            name,
            offload: Offload::None,
            queue_length: 10_000,
        };
        let device = TunDevice::open(&options).unwrap();
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

impl Rig {
    /// Starts the emulator with the link in `text`.
    pub(crate) fn start(text: &str, seed: u64) -> Option<Self> {
        let (gateway, mobile) = namespaces()?;
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link.toml");
        fs::write(&link, text).unwrap();
        let (left, right) = (device(&gateway, GATEWAY), device(&mobile, MOBILE));
        let emulator = Command::new(env!("CARGO_BIN_EXE_lasthop"))
            .args(["emulate", "--left", "stdin", "--right", "stdout", "--link"])
            .arg(&link)
            .args(["--seed", &seed.to_string(), "--json"])
            .arg(folder.path().join("report.json"))
            .stdin(Stdio::from(left.into_descriptor()))
            .stdout(Stdio::from(right.into_descriptor()))
            .spawn()
            .unwrap();
        let rig = Self {
            gateway,
            mobile,
            folder,
            emulator,
        };
        while !rig.report_path().exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(rig)
    }

    fn report_path(&self) -> PathBuf {
        self.folder.path().join("report.json")
    }

    /// A socket on the gateway's side that is connected to one on the mobile host's side.
    pub(crate) fn sockets(&self) -> (UdpSocket, UdpSocket) {
        let bind = |namespace: &Namespace, address: &str| {
            namespace
                .run(|| UdpSocket::bind((address, 7)).unwrap())
                .unwrap()
        };
        let (gateway, mobile) = (bind(&self.gateway, GATEWAY), bind(&self.mobile, MOBILE));
        gateway.connect((MOBILE, 7)).unwrap();
        mobile.connect((GATEWAY, 7)).unwrap();
        (gateway, mobile)
    }

    /// Asks for the counters.
    pub(crate) fn report(&self) -> Value {
        fs::remove_file(self.report_path()).unwrap();
        self.signal(rustix::process::Signal::USR1);
        while !self.report_path().exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.read()
    }

    /// Ends the emulator and gives its last report.
    pub(crate) fn end(mut self) -> Value {
        self.signal(rustix::process::Signal::TERM);
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

    fn signal(&self, signal: rustix::process::Signal) {
        let process = rustix::process::Pid::from_child(&self.emulator);
        rustix::process::kill_process(process, signal).unwrap();
    }

    fn read(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.report_path()).unwrap()).unwrap()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = self.emulator.kill();
        let _ = self.emulator.wait();
    }
}
