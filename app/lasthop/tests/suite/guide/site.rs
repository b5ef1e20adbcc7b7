//! The hosts on which the commands of a page run: each with a network, files and a shell of its own, as root.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use edges::namespace::Namespace;
use rig::{End, Process, hosts};
use tempfile::TempDir;

use super::mask::without_secrets;
use crate::support::turn::Turn;
use crate::support::{LONG, PROGRAM};

/// What the shell prints after each command, before its exit code.
const DONE: &str = "the command is done:";
/// What pages show in place of a join line.
const ANY_LINE: &str = "lasthop-join1-…";

/// A gateway between the networks of two mobile hosts and of a server. Ends all daemons when it is dropped.
pub(super) struct Site {
    shells: BTreeMap<&'static str, Shell>,
    /// The last join line that a command has printed.
    join_line: Option<String>,
    _folder: TempDir,
    _turn: Turn,
}

impl Site {
    pub(super) fn create() -> Self {
        let turn = Turn::take();
        let [gateway, mobile, tablet, server] = hosts().unwrap();
        for (host, name, net) in [
            (&server, "eth0", "198.51.100"),
            (&mobile, "wlan0", "192.168.1"),
            (&tablet, "wlan1", "192.168.2"),
        ] {
            let [near, far] = [1, 2].map(|host| format!("{net}.{host}/24"));
            rig::join([End::new(&gateway, name, &near), End::new(host, name, &far)]).unwrap();
        }
        for (host, via) in [
            (&gateway, "198.51.100.2"),
            (&mobile, "192.168.1.1"),
            (&tablet, "192.168.2.1"),
        ] {
            rig::route(host, "0.0.0.0/0", via).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let shells = [
            ("gateway", &gateway, "198.51.100.2"),
            ("mobile", &mobile, "192.168.1.1"),
            ("tablet", &tablet, "192.168.2.1"),
            ("server", &server, "198.51.100.2"),
        ];
        let shell =
            |(name, host, resolver)| (name, Shell::start(folder.path(), name, host, resolver));
        Self {
            shells: shells.map(shell).into(),
            join_line: None,
            _folder: folder,
            _turn: turn,
        }
    }

    /// Runs a command, and returns the lines that it printed, with `…` in place of secrets. If its exit code is not
    /// what "error: " among them makes readers expect, that is a line too.
    pub(super) fn run(&mut self, host: &str, command: &str) -> Vec<String> {
        let shell = self.shells.get_mut(host);
        let shell = shell.unwrap_or_else(|| panic!("there is no host '{host}': {command}"));
        let line = self.join_line.as_deref().unwrap_or(ANY_LINE);
        let ran = shell.run(&command.replace(ANY_LINE, line));
        let (mut lines, code) = ran.unwrap_or_else(|error| panic!("{host}# {command}\n{error}"));
        let is_error = lines.iter().any(|line| line.starts_with("error: "));
        if (code != "0") != is_error {
            lines.push(format!("(exit code {code})"));
        }
        let new = lines
            .iter()
            .find_map(|line| line.strip_prefix("lasthop join "));
        self.join_line = new.map(Into::into).or(self.join_line.take());
        lines.iter().map(|line| without_secrets(line)).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for shell in self.shells.values_mut() {
            // A shell that fails here has failed in the test too, which says more.
            let _ = shell.run("lasthop gateway down; lasthop leave");
        }
    }
}

/// The shell of a host, which runs one command after the other.
struct Shell {
    input: ChildStdin,
    output: Receiver<String>,
    _process: Process,
}

impl Shell {
    /// Starts a shell with the few files that programs need, none of them of this machine; `resolver` is the host's
    /// DNS server.
    fn start(folder: &Path, name: &str, host: &Namespace, resolver: &str) -> Self {
        let root = folder.join(name);
        let etc = root.join("etc");
        let programs = root.join("programs");
        for folder in [&etc, &programs] {
            fs::create_dir_all(folder).unwrap();
        }
        let resolver = format!("nameserver {resolver}\n");
        for (file, text) in [
            ("nsswitch.conf", "hosts: files dns\n"),
            ("hosts", "127.0.0.1 localhost\n"),
            (
                "protocols",
                "icmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\nipv6-icmp 58 IPv6-ICMP\n",
            ),
            ("resolv.conf", &*resolver),
        ] {
            fs::write(etc.join(file), text).unwrap();
        }
        std::os::unix::fs::symlink(PROGRAM, programs.join("lasthop")).unwrap();
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c"]).arg(format!(
            "exec 2>&1; cd {0} && mount --bind {0}/etc /etc && mount -t tmpfs none /var/lib \
             && mount -t tmpfs none /run && PATH={0}/programs:$PATH exec sh",
            root.display()
        ));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let process = Process::with_streams(command, name, folder, Some(host));
        let mut process = process.unwrap();
        let (input, output) = process.pipes();
        let (sender, receiver) = channel();
        // It ends with the shell.
        std::thread::spawn(move || {
            let lines = BufReader::new(output.unwrap()).lines();
            lines
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        Self {
            input: input.unwrap(),
            output: receiver,
            _process: process,
        }
    }

    /// Runs a command to its end; returns the lines that it printed, and its exit code. A command that does not end is
    /// an error.
    fn run(&mut self, command: &str) -> Result<(Vec<String>, String), String> {
        // The first line break ends what the command printed, whether it did so itself or not.
        let script = format!("{{ {command}\n}} </dev/null\nprintf '\\n{DONE} %s\\n' $?\n");
        let written = self.input.write_all(script.as_bytes());
        written.map_err(|error| error.to_string())?;
        let mut lines = Vec::new();
        loop {
            let line = self.output.recv_timeout(LONG);
            let line = line.map_err(|error| format!("{error}\n{}", lines.join("\n")))?;
            if let Some(code) = line.strip_prefix(DONE) {
                lines.pop_if(|last: &mut String| last.is_empty());
                return Ok((lines, code.trim().into()));
            }
            lines.push(line);
        }
    }
}
