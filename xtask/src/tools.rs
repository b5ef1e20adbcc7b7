//! The programs that tests need, and their installation on Debian.

use std::path::Path;
use std::process::Command;

use crate::outcome::Outcome;
use xtask::shell::{Failure, Shell};

/// A program that a test runs; the daemons and the demo need none of them.
struct Tool {
    program: &'static str,
    /// The Debian package that holds it.
    package: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool {
        program: "ip",
        package: "iproute2",
    },
    Tool {
        program: "nft",
        package: "nftables",
    },
    Tool {
        program: "ganesha.nfsd",
        package: "nfs-ganesha-vfs",
    },
    Tool {
        program: "rpcbind",
        package: "rpcbind",
    },
    Tool {
        program: "etcd",
        package: "etcd-server",
    },
    Tool {
        program: "etcdctl",
        package: "etcd-client",
    },
];

/// Folders of administrators' programs, which a user's `PATH` may not contain.
const SYSTEM_FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Installs the missing tools if it can; otherwise names the command, and under CI fails.
pub(crate) fn run(shell: &Shell) -> Result<Outcome, Failure> {
    let packages = missing_packages(&search_path());
    if packages.is_empty() {
        return Ok(Outcome::default());
    }
    let list = packages.join(" ");
    if is_root(shell) && Path::new("/usr/bin/apt-get").exists() {
        install(shell, &packages)?;
        return Ok(Outcome::noted(format!("installed {list}")));
    }
    let remedy = format!("missing; as root: apt-get install {list}");
    if std::env::var_os("CI").is_some() {
        return Err(Failure::Found(remedy));
    }
    Ok(Outcome::noted(format!(
        "{remedy} (tests that need them are skipped)"
    )))
}

/// Returns the packages of the tools that are in none of the `folders`.
fn missing_packages(folders: &[std::path::PathBuf]) -> Vec<&'static str> {
    let is_there = |tool: &Tool| {
        folders
            .iter()
            .any(|folder| folder.join(tool.program).exists())
    };
    TOOLS
        .iter()
        .filter(|tool| !is_there(tool))
        .map(|tool| tool.package)
        .collect()
}

/// Returns the folders in which programs are searched.
fn search_path() -> Vec<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM_FOLDERS.map(Into::into))
        .collect()
}

/// Returns true if this process may install packages.
fn is_root(shell: &Shell) -> bool {
    let mut command = Command::new("id");
    command.arg("-u");
    shell.run(command).is_ok_and(|output| output.trim() == "0")
}

/// Installs Debian packages, after an update of the package lists.
fn install(shell: &Shell, packages: &[&str]) -> Result<(), Failure> {
    let mut update = Command::new("apt-get");
    update.args(["--quiet", "update"]);
    shell.run(update)?;
    let mut install = Command::new("apt-get");
    install
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(["--quiet", "--yes", "--no-install-recommends", "install"])
        .args(packages);
    shell.run(install)?;
    Ok(())
}

#[cfg(test)]
mod test {
    use super::missing_packages;

    #[test]
    fn a_package_is_missing_until_its_program_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let folders = [folder.path().to_path_buf()];
        let rest = ["nfs-ganesha-vfs", "rpcbind", "etcd-server", "etcd-client"];
        assert_eq!(
            missing_packages(&folders),
            [&["iproute2", "nftables"][..], &rest].concat()
        );
        std::fs::write(folder.path().join("nft"), "").unwrap();
        assert_eq!(
            missing_packages(&folders),
            [&["iproute2"][..], &rest].concat()
        );
    }
}
