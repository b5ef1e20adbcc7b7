//! `cargo xtask bench crowd`: a thousand mobile hosts join one gateway at the same time, with lines from one `invite`,
//! and then are connected without traffic. Needs root.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use edges::clock;
use hosts::{Joining, JoiningInput, JoiningOutput};
use machine::Machine;
use rig::{End, Namespace, Process, RawIdentity, RawMobile};
use serde::Serialize;
use session::Invitation;
use wire::address::HopAddress;

use super::beside::there;
use super::setting;
use crate::failure::Failure;
use crate::soak::alone::Alone;
use xtask::shell::Shell;

/// The gateway, and the host of all mobile hosts.
const GATEWAY: &str = "203.0.113.1";
const CROWD: &str = "203.0.113.2";
const ENDPOINT: &str = "203.0.113.1:51830";
/// The aims: time for all to join in seconds, resident memory in MiB, and share of a core, for 1,000.
const JOINED: f64 = 60.0;
const MEMORY: f64 = 256.0;
const SHARE: f64 = 0.02;
/// Interval in which an idle mobile host sends, so that NATs keep its binding; as RFC 3948 §4 has it.
const KEEPALIVE: Duration = Duration::from_secs(20);
/// Longest datagram of the gateway, in bytes.
const LONGEST: usize = 2_048;

/// Options of the bench.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Number of mobile hosts
    #[arg(long, default_value_t = 1_000)]
    mobiles: usize,
    /// Seconds without traffic over which the processor time is measured
    #[arg(long, default_value_t = 60)]
    idle: u64,
    /// File for the rows, as JSON
    #[arg(long, value_name = "FILE", default_value = "target/bench-crowd.json")]
    json: PathBuf,
    #[command(flatten)]
    alone: Alone,
}

/// What a crowd costs its gateway.
#[derive(Debug, Serialize)]
struct Row {
    mobiles: usize,
    /// Time of `invite`, in seconds.
    invited_s: f64,
    /// Time from the first datagram until the last one had joined, in seconds.
    joined_s: f64,
    /// Processor time of the gateway and its helper for that, in seconds.
    joined_processor_s: f64,
    /// Resident memory of the gateway when all are connected, in MiB.
    memory_mib: f64,
    /// Processor time by wall time while all are connected and idle.
    idle_share: f64,
}

/// Measures and prints a table.
pub(crate) fn run(shell: &Shell, options: &Options) -> Result<(), Failure> {
    let program = options.alone.enter(shell, || Ok(()))?;
    let folder = setting::folder(Some("/mnt"))?;
    let row = measure(program, folder.path(), options)?;
    println!("| mobile hosts | `invite` | all joined after | processor time | memory | idle |");
    println!("|---|---|---|---|---|---|");
    println!(
        "| {} | {:.2} s | {:.2} s | {:.2} s | {:.0} MiB | {:.2} % of a core |",
        row.mobiles,
        row.invited_s,
        row.joined_s,
        row.joined_processor_s,
        row.memory_mib,
        row.idle_share * 100.0
    );
    println!(
        "\nThe aims for 1,000: {JOINED} s, {MEMORY} MiB, {} %.",
        SHARE * 100.0
    );
    super::keep(shell, &options.json, &[row])
}

fn measure(program: &Path, folder: &Path, options: &Options) -> Result<Row, Failure> {
    let [gateway, crowd] = rig::hosts()?;
    let [near, far] = [GATEWAY, CROWD].map(|address| format!("{address}/24"));
    rig::join([
        End::new(&gateway, "eth0", &near),
        End::new(&crowd, "eth0", &far),
    ])?;
    let state = folder.join("state");
    for action in ["up", "down"] {
        command(
            program,
            &gateway,
            &state,
            &["gateway".into(), action.into()],
        )?;
    }
    let mut daemon = Command::new(program);
    daemon
        .args(["gateway", "--config"])
        .arg(state.join("gateway/gateway.toml"));
    let daemon = Process::start(daemon, "gateway", folder, Some(&gateway))?;
    let runs = || daemon.words().contains(" runs on ");
    rig::wait("the gateway runs", Duration::from_secs(20), runs)?;
    let names = (0..options.mobiles).flat_map(|number| ["--name".into(), format!("m{number}")]);
    let invite: Vec<String> = ["invite".into()].into_iter().chain(names).collect();
    let begun = Instant::now();
    let lines = command(program, &gateway, &state, &invite)?;
    let invited_s = begun.elapsed().as_secs_f64();
    let guests = lines.lines().enumerate();
    let guests = guests.map(|(number, line)| Guest::new(&crowd, number, line));
    let guests = guests.collect::<Result<Vec<_>, Failure>>()?;
    let (before, begun) = (daemon.usage(), Instant::now());
    let gateway_key = guests.first().map(|guest| guest.gateway);
    let gateway_key = gateway_key.ok_or_else(|| Failure::Found("no join lines".into()))?;
    admit(guests)?;
    let joined_s = begun.elapsed().as_secs_f64();
    let joined_processor_s = daemon.usage().since(before).processor.as_secs_f64();
    let connect = |number| {
        let key = RawIdentity::key_named(&name(number));
        let identity = RawIdentity::new(key, gateway_key);
        RawMobile::connect(&crowd, ENDPOINT.parse().expect("an address"), identity)
    };
    let mut mobiles = (0..options.mobiles)
        .map(connect)
        .collect::<Result<Vec<_>, _>>()?;
    rest(&mut mobiles, Duration::from_secs(5));
    let (before, begun) = (daemon.usage(), Instant::now());
    rest(&mut mobiles, Duration::from_secs(options.idle));
    let spent = daemon.usage().since(before).processor.as_secs_f64();
    let memory = daemon.memory("VmRSS").map_or(0, units::Bytes::get);
    Ok(Row {
        mobiles: options.mobiles,
        invited_s,
        joined_s,
        joined_processor_s,
        memory_mib: memory as f64 / 1_048_576.0,
        idle_share: spent / begun.elapsed().as_secs_f64(),
    })
}

/// Returns the name of the key of a mobile host.
fn name(number: usize) -> String {
    format!("one of a crowd, {number}")
}

/// Runs a command of the program to its end; returns its standard output.
fn command(
    program: &Path,
    host: &Namespace,
    state: &Path,
    arguments: &[String],
) -> Result<String, Failure> {
    let mut command = Command::new(program);
    command.args(arguments).arg("--state").arg(state);
    let output = there(host, || command.stdin(Stdio::null()).output())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let what = arguments.first().map_or("", String::as_str);
    Err(Failure::Found(format!("`lasthop {what}` failed: {words}")))
}

/// Keeps the sessions of mobile hosts for some time.
fn rest(mobiles: &mut [RawMobile], span: Duration) {
    let end = Instant::now() + span;
    let mut said: BTreeMap<usize, Instant> = BTreeMap::new();
    let per = KEEPALIVE / u32::try_from(mobiles.len()).unwrap_or(u32::MAX).max(1);
    let begun = Instant::now();
    while Instant::now() < end {
        for (number, mobile) in mobiles.iter_mut().enumerate() {
            let now = Instant::now();
            // Not all at the same time.
            let first = begun + per * number as u32;
            let due = said.get(&number).map_or(first, |last| *last + KEEPALIVE);
            if now >= due && mobile.send(&[]) {
                said.insert(number, now);
            }
            mobile.receive(|_| ());
        }
    }
}

/// A mobile host that joins.
struct Guest {
    socket: UdpSocket,
    joining: Joining,
    gateway: session::PublicKey,
}

impl Guest {
    fn new(host: &Namespace, number: usize, line: &str) -> Result<Self, Failure> {
        let text = line.trim().strip_prefix("lasthop join ").unwrap_or(line);
        let wrong = |error| Failure::Found(format!("line {number} of `invite`: {error}"));
        let invitation = Invitation::parse(text).map_err(wrong)?;
        let own = RawIdentity::key_named(&name(number));
        let at: SocketAddr = ENDPOINT.parse().expect("an address");
        let entropy = [0, 1].map(|session| {
            let name = format!("{}, session {session}", name(number));
            let mut stream = machine::RandomStream::named(clock::wall().as_nanos(), &name);
            let draw = move |bytes: &mut [u8]| stream.fill(bytes);
            Box::new(draw) as Box<dyn session::Entropy>
        });
        let joining = Joining::new(&invitation, own, vec![HopAddress::Udp(at)], entropy);
        let socket = there(host, || {
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            socket.connect(at)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        })?;
        Ok(Self {
            socket,
            joining: joining.expect("another host's key"),
            gateway: invitation.gateway,
        })
    }

    /// Reads and sends; returns true once it has joined.
    fn act(&mut self) -> Result<bool, Failure> {
        let now = clock::monotonic();
        let mut bytes = [0; LONGEST];
        match self.socket.recv(&mut bytes) {
            Ok(length) => {
                let from = HopAddress::Udp(ENDPOINT.parse().expect("an address"));
                let input = JoiningInput::Datagram(from, bytes[..length].to_vec());
                self.joining.handle_input(now, input);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(Failure::Found(format!("cannot receive: {error}"))),
        }
        if self.joining.poll_timeout().is_some_and(|due| due <= now) {
            self.joining.handle_timeout(now);
        }
        let mut has_joined = false;
        while let Some(output) = self.joining.poll_output() {
            match output {
                // What is lost is sent again.
                JoiningOutput::Datagram(_, datagram) => drop(self.socket.send(&datagram)),
                JoiningOutput::Answered(_) => {}
                JoiningOutput::Joined(_) => has_joined = true,
                other => return Err(Failure::Found(format!("not joined: {other:?}"))),
            }
        }
        Ok(has_joined)
    }
}

/// Has all join at the same time.
fn admit(mut guests: Vec<Guest>) -> Result<(), Failure> {
    for guest in &mut guests {
        let wall = clock::wall().as_nanos();
        guest
            .joining
            .handle_input(clock::monotonic(), JoiningInput::Begin(wall));
    }
    while !guests.is_empty() {
        let mut waiting = Vec::new();
        for mut guest in guests {
            if !guest.act()? {
                waiting.push(guest);
            }
        }
        guests = waiting;
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
