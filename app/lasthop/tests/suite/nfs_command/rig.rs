//! A server, a folder, and the command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use fileserver::{Config, Item, Tree};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::file_server::FileServer;
use crate::support::{self, PROGRAM};

pub(crate) use crate::support::{LONG, content};

/// Through what the server is reached.
pub(crate) const PROTOCOLS: [&str; 2] = ["udp", "tcp"];

pub(crate) struct Rig {
    pub(crate) server: FileServer,
    pub(crate) folder: TempDir,
    protocol: &'static str,
}

/// How a command ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) said: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into(),
            said: String::from_utf8_lossy(&output.stderr).into(),
        }
    }
}

impl Ended {
    /// What it printed, as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{}", self.said);
        serde_json::from_str(&self.out).unwrap()
    }

    /// What it said when it failed with this code.
    #[track_caller]
    pub(crate) fn refusal(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{}", self.said);
        assert!(self.said.contains("error: "), "{}", self.said);
        &self.said
    }
}

impl Rig {
    pub(crate) fn new(protocol: &'static str, config: Config) -> Self {
        Self {
            server: FileServer::start(config).unwrap(),
            folder: tempfile::tempdir().unwrap(),
            protocol,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        let (port, protocol) = (self.server.address().port(), self.protocol);
        format!("nfs://127.0.0.1:{port}/export/{path}?mountport={port}&proto={protocol}")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .arg("nfs")
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs `lasthop nfs` to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        self.command(arguments).output().unwrap().into()
    }

    /// The same, which must succeed; what it printed.
    #[track_caller]
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        ended.out
    }

    /// Starts `lasthop nfs`.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Files of this host: a name and the content of each.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// What the server has on its disk.
    pub(crate) fn stored(&self, path: &str) -> Option<Vec<u8>> {
        let path = path.to_owned();
        self.server.with(move |server| server.stored(&path))
    }

    /// What the server has.
    pub(crate) fn tree(&self) -> Tree {
        self.server.with(|server| server.tree())
    }

    pub(crate) fn add(&self, path: &str, content: &[u8]) {
        let (path, content) = (path.to_owned(), content.to_vec());
        self.server
            .with(move |server| server.add_file(&path, &content).map(drop))
            .unwrap();
    }
}

/// What a folder of this host has, as a server's tree.
pub(crate) fn local_tree(folder: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(here) = todo.pop() {
        for entry in fs::read_dir(here).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap();
            let name = name.as_os_str().as_encoded_bytes().to_vec();
            let kind = fs::symlink_metadata(&path).unwrap().file_type();
            let item = if kind.is_dir() {
                todo.push(path);
                Item::Directory
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).unwrap().into_os_string();
                Item::SymbolicLink(target.into_encoded_bytes())
            } else {
                Item::File(fs::read(&path).unwrap())
            };
            tree.insert(name, item);
        }
    }
    tree
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn wait_until(what: &str, holds: impl FnMut() -> bool) {
    support::wait_until(what, String::new, holds);
}
