//! The peers of the comparison, as `lasthop demo` takes them: a TOML file each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::setting::has;
use crate::failure::Failure;
use xtask::shell::Shell;

/// The release of wireguard-go that is built.
const WIREGUARD: &str = "golang.zx2c4.com/wireguard@latest";

/// Installs kcptun from Debian if possible; returns true if it is available.
pub(crate) fn kcptun(shell: &Shell) -> bool {
    if !has("kcptun-server") && has("apt-get") {
        let mut command = Command::new("apt-get");
        command.args(["install", "-y", "--no-install-recommends", "kcptun"]);
        if shell.run(command).is_err() {
            println!("kcptun cannot be installed: it is left out");
        }
    }
    has("kcptun-server") && has("kcptun-client")
}

/// Writes the file of kcptun in `mode` with this window in packets; returns its path.
pub(crate) fn kcptun_file(folder: &Path, mode: &str, window: u32) -> Result<PathBuf, Failure> {
    let common = format!(
        "\"--mode\", \"{mode}\", \"--crypt\", \"aes-128\", \"--nocomp\", \"--mtu\", \"1472\", \
         \"--sndwnd\", \"{window}\", \"--rcvwnd\", \"{window}\", \"--datashard\", \"0\", \
         \"--parityshard\", \"0\", \"--sockbuf\", \"16777217\", \"--quiet\""
    );
    let server = |port: u32, to: u32| {
        format!("[\"kcptun-server\", \"-l\", \":{port}\", \"-t\", \"10.78.0.2:{to}\", {common}]")
    };
    let client = |listen: u32, port: u32| {
        format!(
            "[\"kcptun-client\", \"-l\", \"127.0.0.1:{listen}\", \"-r\", \"10.77.0.1:{port}\", {common}]"
        )
    };
    let text = format!(
        "name = \"kcptun {mode}\"\ngateway = [{}, {}]\nmobile = [{}, {}]\n\
         file_server = \"127.0.0.1:8080\"\necho_server = \"127.0.0.1:8007\"\n",
        server(29_900, 80),
        server(29_901, 7),
        client(8_080, 29_900),
        client(8_007, 29_901),
    );
    let path = folder.join(format!("kcptun-{mode}-{window}.toml"));
    write(&path, &text)?;
    Ok(path)
}

/// Builds wireguard-go into `folder`, with Debian's Go or another one; returns the path of the program.
pub(crate) fn wireguard(shell: &Shell, folder: &Path) -> Result<PathBuf, Failure> {
    provide(shell, &[("go", "golang-go"), ("wg", "wireguard-tools")])?;
    let mut command = Command::new("go");
    command.args(["install", WIREGUARD]).env("GOBIN", folder);
    shell.run(command)?;
    Ok(folder.join("wireguard"))
}

/// Installs the Debian packages of the programs that cannot be found; `needed` has each program with its package.
pub(crate) fn provide(shell: &Shell, needed: &[(&str, &str)]) -> Result<(), Failure> {
    for (program, package) in needed {
        if !has(program) {
            install(shell, package)?;
        }
    }
    Ok(())
}

/// Installs a Debian package.
pub(crate) fn install(shell: &Shell, package: &str) -> Result<(), Failure> {
    let mut command = Command::new("apt-get");
    command.args(["install", "-y", "--no-install-recommends", package]);
    Ok(shell.run(command).map(drop)?)
}

/// Writes a file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    Ok(fs::write(path, text).map_err(rig::Failure::file("write", path))?)
}
