//! `cargo xtask package`: the Debian package, and its test in a Debian of its own, which systemd boots.
//!
//! It is not part of `check`: it builds the program anew, downloads a Debian, and boots it for each test. It needs
//! root, and changes nothing outside of `target/packages`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dist::{self, PACKAGES, PROFILE, unreadable, unwritable};
use xtask::shell::{Failure, Shell};

/// Version of cargo-deb that the manifest is written for.
const RELEASE: &str = "3.8.0";
/// The tests, which run in the Debian in this order, each after a boot of its own.
const TESTS: &str = "packaging/debian/test";
/// The service in it that runs a test.
const UNIT: &str = "test.service";
/// Release of Debian, and the packages of it that the tests need.
const SUITE: &str = "bookworm";
const PACKAGES_OF_DEBIAN: &str = "systemd-sysv,systemd-resolved,dbus,nftables,iproute2,iputils-ping,man-db,\
     bash-completion,passwd,procps";
/// Packages of it that a test installs in place of another one. They are in this folder there.
const INSTEAD: &str = "openresolv resolvconf";
const FOLDER_OF_INSTEAD: &str = "programs";
/// All that it is made of. One that was made of something else, or not to its end, is made again.
const CONTENTS: [&str; 4] = [SUITE, PACKAGES_OF_DEBIAN, INSTEAD, FOLDER_OF_INSTEAD];
/// Programs that make and boot it, with their packages.
const TOOLS: [[&str; 2]; 2] = [
    ["mmdebstrap", "mmdebstrap"],
    ["systemd-nspawn", "systemd-container"],
];

/// Options of `cargo xtask package`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Build the package, and do not test it.
    #[arg(long)]
    no_test: bool,
    /// Test the package that is there, and build nothing.
    #[arg(long, conflicts_with = "no_test")]
    no_build: bool,
    /// Show what each program prints while it runs.
    #[arg(short, long)]
    verbose: bool,
}

/// Builds the package, and tests it.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let shell = Shell::new(options.verbose);
    if !options.no_build {
        build(&shell)?;
    }
    if options.no_test {
        return Ok(());
    }
    test(&shell)
}

/// Builds the program and its package; returns the paths of the package and of the archive.
pub(crate) fn build(shell: &Shell) -> Result<[PathBuf; 2], Failure> {
    let archive = dist::build(shell)?;
    if shell.run(shell.cargo(&["deb", "--version"])).is_err() {
        println!("cargo-deb is not installed; building release {RELEASE}, which takes minutes");
        shell.run(shell.cargo(&["install", "--locked", "cargo-deb", "--version", RELEASE]))?;
    }
    let package = package(shell)?;
    let mut deb = shell.cargo(&["deb", "--package", "lasthop", "--no-build", "--no-strip"]);
    deb.args(["--profile", PROFILE, "--target", &dist::target()]);
    deb.arg("--output").arg(&package);
    shell.run(deb)?;
    println!("{}", package.display());
    Ok([package, archive])
}

/// Returns the path of the package of this version.
fn package(shell: &Shell) -> Result<PathBuf, Failure> {
    let version = crate::release::version(shell)?;
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let name = format!("lasthop_{version}_{architecture}.deb");
    Ok(shell.root.join(PACKAGES).join(name))
}

/// Installs, uses and purges the package in a Debian of its own.
pub(crate) fn test(shell: &Shell) -> Result<(), Failure> {
    for [program, package] in TOOLS {
        let mut question = Command::new(program);
        question.arg("--version");
        if shell.run(question).is_err() {
            return Err(Failure::Found(format!(
                "{program} is missing; on Debian, as root: apt-get install {package}"
            )));
        }
    }
    let packages = shell.root.join(PACKAGES);
    let base = packages.join(format!("{SUITE}.tar"));
    let contents = base.with_extension("contents");
    let is_made =
        base.exists() && fs::read_to_string(&contents).is_ok_and(|made| made == CONTENTS.concat());
    if !is_made {
        make_debian(shell, &base)?;
        fs::write(&contents, CONTENTS.concat()).map_err(unwritable(&contents))?;
    }
    let debian = Debian::unpack(shell, &base)?;
    let package = package(shell)?;
    let inside = debian.root.join("test/lasthop.deb");
    fs::copy(&package, inside).map_err(unreadable(&package))?;
    for script in scripts(shell)? {
        debian.boot(&script)?;
    }
    Ok(())
}

/// Makes the archive of a Debian with all packages that the tests need.
fn make_debian(shell: &Shell, base: &Path) -> Result<(), Failure> {
    println!("making a Debian ({SUITE}) for the tests");
    let download = format!(
        "--customize-hook=mkdir $1/{FOLDER_OF_INSTEAD} && cd $1/{FOLDER_OF_INSTEAD} && \
         APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get download {INSTEAD}"
    );
    let mut make = Command::new("mmdebstrap");
    make.args([
        "--variant=minbase",
        "--include",
        PACKAGES_OF_DEBIAN,
        &download,
        SUITE,
    ]);
    shell.run(add(make, base)).map(drop)
}

/// Returns the names of the tests, in their order.
fn scripts(shell: &Shell) -> Result<Vec<String>, Failure> {
    let folder = shell.root.join(TESTS);
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(unreadable(&folder))? {
        let name = entry.map_err(unreadable(&folder))?.file_name();
        let name = name.to_string_lossy().into_owned();
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn add(mut command: Command, path: &Path) -> Command {
    command.arg(path);
    command
}

/// A Debian in a folder, which is removed when this is dropped.
struct Debian<'a> {
    shell: &'a Shell,
    root: PathBuf,
}

impl<'a> Debian<'a> {
    /// Unpacks it, and has it run a test after each boot.
    fn unpack(shell: &'a Shell, base: &Path) -> Result<Self, Failure> {
        let root = shell.root.join(PACKAGES).join("debian");
        let debian = Self { shell, root };
        let _ = fs::remove_dir_all(&debian.root);
        fs::create_dir_all(&debian.root).map_err(unwritable(&debian.root))?;
        let mut tar = Command::new("tar");
        tar.arg("--extract").arg("--file").arg(base);
        shell.run(add(add(tar, "--directory".as_ref()), &debian.root))?;
        let mut copy = Command::new("cp");
        copy.arg("--recursive").arg(shell.root.join(TESTS));
        shell.run(add(copy, &debian.root.join("test")))?;
        let units = debian.root.join("etc/systemd/system");
        let unit = units.join(UNIT);
        let from = shell.root.join(TESTS).join(UNIT);
        fs::copy(&from, &unit).map_err(unwritable(&unit))?;
        let wanted = units.join("multi-user.target.wants").join(UNIT);
        std::os::unix::fs::symlink(Path::new("..").join(UNIT), &wanted)
            .map_err(unwritable(&wanted))?;
        Ok(debian)
    }

    /// Boots it once, and runs one test in it.
    fn boot(&self, script: &str) -> Result<(), Failure> {
        let test = self.root.join("test");
        let [link, output, result] = ["now", "output", "result"].map(|name| test.join(name));
        for old in [&link, &output, &result] {
            let _ = fs::remove_file(old);
        }
        std::os::unix::fs::symlink(script, &link).map_err(unwritable(&link))?;
        let mut boot = Command::new("systemd-nspawn");
        boot.args(["--quiet", "--register=no", "--keep-unit", "--boot"]);
        // A network of its own, in which it may do what it wants; the device of tunnels; kernel parameters of the
        // network, which belong to that network.
        boot.args(["--private-network", "--bind=/dev/net/tun"]);
        boot.arg("--directory").arg(&self.root);
        let booted = self.shell.run(boot);
        let said = fs::read_to_string(&output).unwrap_or_default();
        let result = fs::read_to_string(&result).unwrap_or_default();
        if result.trim() == "0" {
            println!("{said}{script} passed");
            return Ok(());
        }
        let booted = booted.unwrap_or_else(|failure| failure.to_string());
        Err(Failure::Found(format!("{booted}\n{said}{script} failed")))
    }
}

impl Drop for Debian<'_> {
    fn drop(&mut self) {
        if std::env::var_os("LASTHOP_KEEP").is_none() {
            let _ = fs::remove_dir_all(&self.root);
        }
    }
}
