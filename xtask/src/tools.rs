//! The programs that tests need, and how they come onto a Debian machine.

use std::path::Path;
use std::process::Command;

use crate::check::Outcome;
use xtask::shell::{Failure, Shell};

/// A program that some test runs; the daemons and the demo need none of them.
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
];

/// Where administrators' programs stand, also when a user's `PATH` leaves them out.
const SYSTEM_FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Installs what is missing where it can, and otherwise says how; under CI that is a failure.
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

/// The packages of the tools that no folder in `folders` holds.
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

/// The folders in which programs are looked for.
fn search_path() -> Vec<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(SYSTEM_FOLDERS.map(Into::into))
        .collect()
}

/// Whether we may install packages.
fn is_root(shell: &Shell) -> bool {
    let mut command = Command::new("id");
    command.arg("-u");
    shell.run(command).is_ok_and(|output| output.trim() == "0")
}

/// Installs Debian packages, with a fresh list of what there is.
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
        let rest = ["nfs-ganesha-vfs", "rpcbind"];
        assert_eq!(
            missing_packages(&folders),
            [["iproute2", "nftables"], rest].concat()
        );
        std::fs::write(folder.path().join("nft"), "").unwrap();
        assert_eq!(
            missing_packages(&folders),
            [&["iproute2"][..], &rest].concat()
        );
    }
}
