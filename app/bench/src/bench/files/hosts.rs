//! Hosts as network namespaces, two at first, and the programs in them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use xtask::shell::{Failure, Shell};

/// How long anything may take to be there.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program that is killed when this is dropped.
pub(crate) struct Running(Child);

impl From<Child> for Running {
    fn from(child: Child) -> Self {
        Self(child)
    }
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Kills it, if it still runs.
    pub(crate) fn stop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The server's host and the client's; they are gone with this.
pub(crate) struct Hosts {
    /// In the folder of these hosts.
    pub(crate) shell: Shell,
    pub(crate) server: String,
    pub(crate) client: String,
    others: Vec<String>,
    /// What programs here are started by, if by anything.
    starter: &'static [&'static str],
}

/// One end of a virtual cable: a host, its interface there and that interface's address.
pub(crate) type CableEnd<'a> = (&'a str, &'a str, &'a str);

impl Hosts {
    /// Two hosts that nothing joins. `name` tells these from others that live at the same time.
    pub(crate) fn new(folder: &Path, name: &str) -> Result<Self, Failure> {
        let hosts = Self {
            shell: Shell::quiet(folder),
            server: format!("lasthop-files-{name}-s"),
            client: format!("lasthop-files-{name}-c"),
            others: Vec::new(),
            starter: &[],
        };
        hosts.create(&hosts.server)?;
        hosts.create(&hosts.client)?;
        Ok(hosts)
    }

    /// From now on, what is started here ends with the thread that starts it, however that ends.
    pub(crate) fn end_with_us(&mut self) {
        self.starter = &["setpriv", "--pdeathsig", "KILL"];
    }

    /// A further host of that name, which nothing joins.
    pub(crate) fn add(&mut self, name: &str) -> Result<String, Failure> {
        let host = format!("{}-{name}", self.server);
        self.others.push(host.clone());
        self.create(&host)?;
        Ok(host)
    }

    /// A network namespace of that name, in place of the one that may be left. It outlives this, if nobody removes it.
    pub(crate) fn create(&self, host: &str) -> Result<(), Failure> {
        // There is one only after a run that was killed.
        let _ = self.ip(&format!("netns del {host}"));
        self.ip(&format!("netns add {host}"))?;
        self.ip(&format!("-n {host} link set lo up"))?;
        Ok(())
    }

    /// Joins them by a wire, with these addresses.
    pub(crate) fn wire(&self, server: &str, client: &str) -> Result<(), Failure> {
        let ends = [(&self.server, server), (&self.client, client)];
        self.join(ends.map(|(host, address)| (host.as_str(), "wire0", address)))
    }

    /// Joins two hosts by a virtual cable.
    pub(crate) fn join(&self, ends: [CableEnd<'_>; 2]) -> Result<(), Failure> {
        let [(one, device, _), (other, far, _)] = ends;
        self.ip(&format!(
            "-n {one} link add {device} type veth peer name {far} netns {other}"
        ))?;
        for (host, device, address) in ends {
            self.ip(&format!("-n {host} addr add {address}/24 dev {device}"))?;
            self.ip(&format!("-n {host} link set {device} up"))?;
        }
        Ok(())
    }

    /// Where a file of these hosts is.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.shell.root.join(name)
    }

    /// Runs a program in a host to its end; gives what it printed.
    pub(crate) fn run(&self, host: &str, inner: &Command) -> Result<String, Failure> {
        self.shell.run(self.inside(host, inner))
    }

    /// Starts a program in a host.
    pub(crate) fn start(&self, host: &str, inner: &Command) -> Result<Running, Failure> {
        spawn(self.inside(host, inner))
    }

    /// Waits until something is as it should be.
    pub(crate) fn wait(&self, what: &str, mut done: impl FnMut() -> bool) -> Result<(), Failure> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if done() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(50));
        }
        let (seconds, folder) = (PATIENCE.as_secs(), self.shell.root.display());
        Err(Failure::Found(format!(
            "{what}: not so after {seconds} s ({folder})"
        )))
    }

    /// Runs `ip` with these words.
    pub(crate) fn ip(&self, line: &str) -> Result<String, Failure> {
        let mut command = Command::new("ip");
        command.args(line.split(' '));
        self.shell.run(command)
    }

    /// The command, in the folder of the hosts and in one of them.
    pub(crate) fn inside(&self, host: &str, inner: &Command) -> Command {
        let mut command = self.command(Path::new("ip"));
        command.args(["netns", "exec", host]);
        command.arg(inner.get_program()).args(inner.get_args());
        command
    }

    /// A command without arguments, in the folder of the hosts.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = match self.starter {
            [] => Command::new(program),
            [starter, words @ ..] => {
                let mut command = Command::new(starter);
                command.args(words).arg(program);
                command
            }
        };
        command.current_dir(&self.shell.root);
        command
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in [&self.server, &self.client].into_iter().chain(&self.others) {
            // What stays is removed before the next run.
            let _ = self.ip(&format!("netns del {host}"));
        }
    }
}

/// Starts a program that says nothing.
pub(crate) fn spawn(mut command: Command) -> Result<Running, Failure> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = command.spawn().map_err(|source| Failure::Start {
        command: format!("{command:?}"),
        source,
    })?;
    Ok(Running(child))
}
