//! The processes beside the demo's own: the emulator, and lasthop's two daemons. All are our own
//! binary, and end with us.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use channel::PerDirection;
use edges::clock;
use edges::namespace::Namespace;
use edges::process::end_with_parent;
use edges::tun::TunDevice;
use rustix::process::{Pid, Signal, kill_process};
use session::PrivateKey;
use units::{Duration, Instant};

use super::error::DemoError;
use super::network::{GATEWAY_ON_AIR, Network};
use super::plan::{Machinery, RunPlan, Scheme};
use crate::emulate::Report;
use crate::{entropy, key_file};

/// How long a process of ours may take to begin or to end.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: std::time::Duration = std::time::Duration::from_millis(5);
/// Where the gateway listens on the air.
const PORT: u16 = 51_830;

/// A process that is killed when this is dropped.
struct Owned {
    child: Child,
    name: &'static str,
    /// What it says goes here.
    log: PathBuf,
}

impl Owned {
    /// Ends it the gentle way.
    fn end(&mut self) -> Result<(), DemoError> {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let deadline = clock::monotonic() + PATIENCE;
        while !self.has_ended() {
            if clock::monotonic() > deadline {
                return Err(DemoError::Child(format!("the {} does not end", self.name)));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// An error with its last words, if it has ended of itself.
    fn check(&mut self) -> Result<(), DemoError> {
        if !self.has_ended() {
            return Ok(());
        }
        let words = fs::read_to_string(&self.log).unwrap_or_default();
        let words = words.trim().strip_prefix("error: ").unwrap_or(words.trim());
        Err(DemoError::Child(format!(
            "the {} has ended: {words}",
            self.name
        )))
    }

    /// The processor time that it has used: user and system (proc(5), fields 14 and 15).
    fn processor_time(&self) -> Option<Duration> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        let fields: Vec<_> = text.rsplit(')').next()?.split_whitespace().collect();
        let ticks = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let ticks = ticks(14)? + ticks(15)?;
        Some(Duration::from_secs(1).scaled(ticks, rustix::param::clock_ticks_per_second()))
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn log_file(folder: &Path, name: &'static str) -> Result<(PathBuf, Stdio), DemoError> {
    let path = folder.join(format!("{name}.log"));
    let file = File::create(&path).map_err(DemoError::failed("make a log file"))?;
    Ok((path, file.into()))
}

/// Everything between mobile host and gateway.
pub(crate) struct Hop {
    emulator: Emulator,
    /// Where the scheme has them.
    daemons: Option<Daemons>,
}

impl Hop {
    /// Starts the air of `plan`, and the daemons if they take part.
    pub(crate) fn start(
        plan: &RunPlan,
        machinery: &Machinery,
        network: Network,
    ) -> Result<Self, DemoError> {
        let Network {
            mobile,
            gateway,
            air,
            ..
        } = network;
        let emulator = Emulator::start(plan, machinery, air)?;
        let daemons = match plan.scheme {
            Scheme::Plain => None,
            Scheme::Lasthop => Some(Daemons::start(machinery, &gateway, &mobile)?),
        };
        Ok(Self { emulator, daemons })
    }

    /// Time zero of the link, by the monotonic clock.
    pub(crate) fn origin(&self) -> Instant {
        self.emulator.origin
    }

    /// An error if one of the processes has ended of itself.
    pub(crate) fn check(&mut self) -> Result<(), DemoError> {
        self.emulator.process.check()?;
        self.daemons.as_mut().map_or(Ok(()), Daemons::check)
    }

    /// What the daemons have used of the processor.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        self.daemons.as_ref().and_then(Daemons::processor_time)
    }

    /// Ends everything; gives the air's counters.
    pub(crate) fn end(self) -> Result<Report, DemoError> {
        let report = self.emulator.end()?;
        self.daemons.map_or(Ok(()), Daemons::end)?;
        Ok(report)
    }
}

/// The air, in a process of its own.
struct Emulator {
    process: Owned,
    json: PathBuf,
    origin: Instant,
}

impl Emulator {
    /// Starts the air of `plan` between two devices.
    fn start(
        plan: &RunPlan,
        machinery: &Machinery,
        air: PerDirection<TunDevice>,
    ) -> Result<Self, DemoError> {
        let json = machinery.folder.join("emulator.json");
        let _ = fs::remove_file(&json);
        let (log, stderr) = log_file(&machinery.folder, "emulator")?;
        let mut command = Command::new(&machinery.program);
        command
            .args(["emulate", "--left", "stdin", "--right", "stdout"])
            .args([
                "--link",
                &plan.link_choice,
                "--seed",
                &plan.seed.to_string(),
                "--json",
            ])
            .arg(&json)
            .stdin(air.down.into_descriptor())
            .stdout(air.up.into_descriptor())
            .stderr(stderr);
        end_with_parent(&mut command);
        let child = command
            .spawn()
            .map_err(DemoError::failed("start the emulator"))?;
        // The command holds the devices as well; they must go with the emulator.
        drop(command);
        let mut process = Owned {
            child,
            name: "emulator",
            log,
        };
        let deadline = clock::monotonic() + PATIENCE;
        while !json.exists() {
            process.check()?;
            if clock::monotonic() > deadline {
                return Err(DemoError::Child("the emulator does not begin".into()));
            }
            thread::sleep(PAUSE);
        }
        let origin = Instant::from_nanos(read_report(&json)?.origin_ns);
        Ok(Self {
            process,
            json,
            origin,
        })
    }

    /// Ends the air; gives its counters.
    fn end(mut self) -> Result<Report, DemoError> {
        self.process.end()?;
        let report = read_report(&self.json)?;
        if report.ended {
            return Ok(report);
        }
        self.process.check()?;
        Err(DemoError::Child(
            "the emulator has left no last report".into(),
        ))
    }
}

fn read_report(path: &Path) -> Result<Report, DemoError> {
    let text = fs::read_to_string(path).map_err(DemoError::failed("read the emulator's report"))?;
    serde_json::from_str(&text)
        .map_err(|error| DemoError::Child(format!("the emulator's report is no report: {error}")))
}

/// Gateway and mobile host.
struct Daemons {
    gateway: Owned,
    mobile: Owned,
}

impl Daemons {
    /// Starts both with keys of their own, and told nothing about the air.
    fn start(
        machinery: &Machinery,
        gateway: &Namespace,
        mobile: &Namespace,
    ) -> Result<Self, DemoError> {
        let folder = &machinery.folder;
        let keys = Keys::make(folder)?;
        let write = |name: &str, text: String| {
            fs::write(folder.join(name), text).map_err(DemoError::failed("write a configuration"))
        };
        write("gateway.toml", keys.gateway_config())?;
        write("mobile.toml", keys.mobile_config())?;
        let start = |name: &'static str, host: &Namespace| {
            let (log, stderr) = log_file(folder, name)?;
            let mut command = Command::new(&machinery.program);
            let config = folder.join(format!("{name}.toml"));
            command
                .args([name, "--config"])
                .arg(config)
                .stdin(Stdio::null());
            command.stdout(Stdio::null()).stderr(stderr);
            end_with_parent(&mut command);
            let child = host.spawn(command)?;
            Ok::<_, DemoError>(Owned { child, name, log })
        };
        Ok(Self {
            gateway: start("gateway", gateway)?,
            mobile: start("mobile", mobile)?,
        })
    }

    /// An error if one of them has ended of itself.
    fn check(&mut self) -> Result<(), DemoError> {
        self.gateway.check()?;
        self.mobile.check()
    }

    /// What both have used of the processor.
    fn processor_time(&self) -> Option<Duration> {
        Some(self.gateway.processor_time()? + self.mobile.processor_time()?)
    }

    /// Ends both, so that they take back what they added.
    fn end(mut self) -> Result<(), DemoError> {
        self.mobile.end()?;
        self.gateway.end()
    }
}

/// The public halves of the keys in the folder.
struct Keys {
    gateway: String,
    mobile: String,
}

impl Keys {
    fn make(folder: &Path) -> Result<Self, DemoError> {
        let make = |name: &str| {
            let key = PrivateKey::generate(&mut entropy::fill);
            key_file::write(&folder.join(name), &key.to_text(), true)
                .map_err(|failure| DemoError::Child(failure.to_string()))?;
            Ok::<_, DemoError>(key.public_key().to_string())
        };
        Ok(Self {
            gateway: make("gateway.key")?,
            mobile: make("mobile.key")?,
        })
    }

    fn gateway_config(&self) -> String {
        let mobile = &self.mobile;
        format!(
            "listen = \"{GATEWAY_ON_AIR}:{PORT}\"\nprivate_key_file = \"gateway.key\"\nnat = \
            false\nstate_dir = \"gateway\"\n\
             [tun]\naddresses = [\"10.79.0.1/24\"]\n\
             [[peers]]\nname = \"mobile\"\npublic_key = \"{mobile}\"\naddresses = [\"10.79.0.2\"]\n"
        )
    }

    fn mobile_config(&self) -> String {
        let gateway = &self.gateway;
        format!(
            "private_key_file = \"mobile.key\"\nstate_dir = \"mobile\"\n\
             [gateway]\nendpoint = \"{GATEWAY_ON_AIR}:{PORT}\"\npublic_key = \"{gateway}\"\n\
             [tun]\naddresses = [\"10.79.0.2/24\"]\n"
        )
    }
}
