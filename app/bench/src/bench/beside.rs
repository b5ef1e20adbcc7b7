//! A mobile host that downloads and sends small requests, and its gateway, while others do their worst.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rig::daemons::Daemons;
use rig::{Air, End, Namespace, Process, RawIdentity, Usage};
use serde::Serialize;

use super::peers;
use crate::failure::Failure;
use crate::hop::Hop;

/// The fixed host, and the gateway as the fixed host sees it.
const FIXED: &str = "198.51.100.2";
const OUTSIDE: &str = "198.51.100.1";
/// The attacker, and the gateway as the attacker sees it.
const ATTACKER: &str = "203.0.113.2";
const WILD: &str = "203.0.113.1";
/// Interval of small requests, and time after which one counts as lost.
const REQUEST: Duration = Duration::from_millis(20);
const LOST: Duration = Duration::from_secs(1);

/// The hosts, their daemons and the traffic. Two mobile hosts have keys; only the first has a daemon.
pub(super) struct Beside {
    pub(super) hop: Hop,
    pub(super) attacker: Namespace,
    daemons: Vec<Process>,
    _fixed: Namespace,
    _air: Air,
    traffic: Arc<Traffic>,
}

/// Counters of the traffic.
#[derive(Default)]
struct Traffic {
    bytes: AtomicU64,
    /// Milliseconds that each request took.
    requests: Mutex<Vec<f64>>,
    lost: AtomicU64,
    ends: AtomicBool,
}

/// Measurements of a span of time.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Sample {
    pub(super) seconds: f64,
    /// Rate of the download, in bits per second.
    pub(super) goodput_bps: f64,
    /// Requests in milliseconds, and the number of those that were lost.
    pub(super) request_median_ms: f64,
    pub(super) request_p99_ms: f64,
    pub(super) requests_lost: u64,
    /// Processor time of the gateway's daemon, in seconds.
    pub(super) user_s: f64,
    pub(super) system_s: f64,
    /// Datagrams that the gateway's daemon has read, and those for which its socket had no room.
    pub(super) received: f64,
    pub(super) overflowed: f64,
}

impl Beside {
    /// Joins the hosts, starts the daemons and the traffic over this link; `peer` has more lines for the mobile hosts
    /// in the gateway's configuration.
    pub(super) fn new(
        folder: &Path,
        program: &Path,
        link: &str,
        peer: &str,
    ) -> Result<Self, Failure> {
        let hop = Hop::new(folder, program)?;
        let air = hop.air(link, 1)?;
        let [fixed, attacker] = rig::hosts()?;
        for (device, near, far, host) in [
            ("wire", OUTSIDE, FIXED, &fixed),
            ("wild", WILD, ATTACKER, &attacker),
        ] {
            let (near, far) = (format!("{near}/24"), format!("{far}/24"));
            rig::join([
                End::new(&hop.gateway, device, &near),
                End::new(host, device, &far),
            ])?;
        }
        rig::route(&fixed, "10.79.0.0/24", OUTSIDE)?;
        rig::route(&attacker, "0.0.0.0/0", WILD)?;
        let configured = Daemons {
            mobiles: 2,
            route: Some("198.51.100.0/24"),
            peer,
            ..hop.daemons()
        };
        configured.configure()?;
        let daemons = configured.start_all([&hop.gateway, &hop.mobile])?;
        let traffic = Arc::<Traffic>::default();
        hop.wait("the mobile host is connected", || {
            let status = configured.status(0);
            !status["host"]["peers"][0]["keys_age"].is_null()
        })?;
        download(&hop.mobile, &fixed, &traffic)?;
        request(&hop.mobile, &fixed, &traffic)?;
        Ok(Self {
            hop,
            attacker,
            daemons,
            _fixed: fixed,
            _air: air,
            traffic,
        })
    }

    /// Returns the keys of the mobile host that has no daemon.
    pub(super) fn second_identity(&self) -> Result<RawIdentity, Failure> {
        let status = self.status();
        let key = status["host"]["public_key"].as_str();
        let key = key.and_then(|text| text.parse().ok());
        let key = key.ok_or_else(|| Failure::Found("the gateway's key cannot be read".into()))?;
        Ok(RawIdentity::of_file(&self.hop.path("mobile2.key"), key)?)
    }

    fn status(&self) -> serde_json::Value {
        Daemons {
            mobiles: 2,
            ..self.hop.daemons()
        }
        .status(0)
    }

    /// Measures for this time.
    pub(super) fn measure(&mut self, span: Duration) -> Result<Sample, Failure> {
        for daemon in &mut self.daemons {
            daemon.check()?;
        }
        let before = self.moment()?;
        thread::sleep(span);
        let after = self.moment()?;
        Ok(after.since(&before))
    }

    fn moment(&self) -> Result<Moment, Failure> {
        let requests = std::mem::take(&mut *self.traffic.requests.lock().expect("no panic"));
        let received = self.status()["bearer"]["received"].as_f64();
        let overflowed = self.hop.gateway.run(overflows);
        Ok(Moment {
            at: Instant::now(),
            bytes: self.traffic.bytes.load(Ordering::Relaxed),
            requests,
            lost: self.traffic.lost.load(Ordering::Relaxed),
            usage: self.daemons[0].usage(),
            received: received.unwrap_or_default(),
            overflowed: overflowed.map_err(rig::Failure::from)?,
        })
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.traffic.ends.store(true, Ordering::Relaxed);
    }
}

/// Counters at one moment.
struct Moment {
    at: Instant,
    bytes: u64,
    requests: Vec<f64>,
    lost: u64,
    usage: Usage,
    received: f64,
    overflowed: f64,
}

impl Moment {
    fn since(self, before: &Self) -> Sample {
        let seconds = (self.at - before.at).as_secs_f64();
        let usage = self.usage.since(before.usage);
        let (all, user) = (usage.processor.as_secs_f64(), usage.user.as_secs_f64());
        let mut requests = self.requests;
        requests.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (share * requests.len() as f64) as usize;
            requests.get(place).copied().unwrap_or(f64::NAN)
        };
        Sample {
            seconds,
            goodput_bps: (self.bytes - before.bytes) as f64 * 8.0 / seconds,
            request_median_ms: at(0.5),
            request_p99_ms: at(0.99),
            requests_lost: self.lost - before.lost,
            user_s: user,
            system_s: all - user,
            received: self.received - before.received,
            overflowed: self.overflowed - before.overflowed,
        }
    }
}

/// Returns the number of datagrams of this network namespace for which a socket had no room (`/proc/net/snmp`).
fn overflows() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap_or_default();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (
        lines.next().unwrap_or_default(),
        lines.next().unwrap_or_default(),
    );
    let place = names
        .split_whitespace()
        .position(|name| name == "RcvbufErrors");
    let value = place.and_then(|place| values.split_whitespace().nth(place));
    value.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Runs `open` in a host.
pub(super) fn there<T: Send>(
    host: &Namespace,
    open: impl FnOnce() -> std::io::Result<T> + Send,
) -> Result<T, Failure> {
    let opened = host.run(open).map_err(rig::Failure::from)?;
    opened.map_err(|error| Failure::Found(format!("the traffic cannot begin: {error}")))
}

/// Begins a download without end.
fn download(mobile: &Namespace, fixed: &Namespace, traffic: &Arc<Traffic>) -> Result<(), Failure> {
    let listener = there(fixed, || TcpListener::bind((FIXED, 0)))?;
    let address = there(fixed, || listener.local_addr())?;
    let mut client = there(mobile, || TcpStream::connect_timeout(&address, LOST * 20))?;
    let (mut server, _) = there(fixed, || listener.accept())?;
    let content = vec![7; 65_536];
    thread::spawn(move || while server.write_all(&content).is_ok() {});
    let traffic = Arc::clone(traffic);
    thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        while !traffic.ends.load(Ordering::Relaxed)
            && let Ok(count @ 1..) = client.read(&mut buffer)
        {
            traffic.bytes.fetch_add(count as u64, Ordering::Relaxed);
        }
    });
    Ok(())
}

/// Begins small requests, one after the other.
fn request(mobile: &Namespace, fixed: &Namespace, traffic: &Arc<Traffic>) -> Result<(), Failure> {
    let server = there(fixed, || UdpSocket::bind((FIXED, 0)))?;
    let address: SocketAddr = there(fixed, || server.local_addr())?;
    thread::spawn(move || {
        let mut buffer = [0; 64];
        while let Ok((count, from)) = server.recv_from(&mut buffer) {
            let _ = server.send_to(&buffer[..count], from);
        }
    });
    let client = there(mobile, || {
        let client = UdpSocket::bind("0.0.0.0:0")?;
        client.connect(address)?;
        client.set_read_timeout(Some(LOST))?;
        Ok(client)
    })?;
    let traffic = Arc::clone(traffic);
    thread::spawn(move || {
        let mut number = 0_u64;
        while !traffic.ends.load(Ordering::Relaxed) {
            number += 1;
            let begun = Instant::now();
            let _ = client.send(&number.to_be_bytes());
            if answer(&client, number) {
                let took = begun.elapsed().as_secs_f64() * 1e3;
                traffic.requests.lock().expect("no panic").push(took);
            } else {
                traffic.lost.fetch_add(1, Ordering::Relaxed);
            }
            thread::sleep(REQUEST.saturating_sub(begun.elapsed()));
        }
    });
    Ok(())
}

/// Waits for the answer to a request; returns false if it is lost.
fn answer(client: &UdpSocket, number: u64) -> bool {
    let mut buffer = [0; 64];
    loop {
        match client.recv(&mut buffer) {
            Ok(count) if buffer[..count] == number.to_be_bytes() => return true,
            // An answer to a former request, which was late.
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

/// Writes the description of a link without losses to a file; returns its path.
pub(super) fn link_file(folder: &Path, rate: &str) -> Result<String, Failure> {
    let path = folder.join("link.toml");
    let text = format!("[each]\nrate = \"{rate}\"\ndelay = \"5 ms\"\nqueue = \"100 packets\"\n");
    peers::write(&path, &text)?;
    Ok(path.display().to_string())
}
