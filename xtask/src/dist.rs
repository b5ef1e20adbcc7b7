//! `cargo xtask dist`: the static program that users get, its manual, and an archive of both.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::shell::{Failure, Shell};

/// Folder of all that is made for users, relative to the root.
pub(crate) const PACKAGES: &str = "target/packages";
/// Folder of the man pages and completions in it.
const MANUAL: &str = "manual";
/// Profile of the program in the workspace's manifest.
pub(crate) const PROFILE: &str = "dist";
/// Largest size of the program, in bytes. It may grow only with a feature that is worth its bytes.
const MOST_BYTES: u64 = 10_000_000;
/// Files of the archive besides the program and the manual.
const FILES: [&str; 7] = [
    "README.md",
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "app/lasthop/examples",
    "packaging/debian/sysusers.conf",
    "packaging/systemd",
];

/// Options of `cargo xtask dist`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Show what each program prints while it runs.
    #[arg(short, long)]
    verbose: bool,
}

/// Builds and packs the program.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let shell = Shell::new(options.verbose);
    build(&shell).map(drop)
}

/// Returns the target without a C library of the system: the program runs on any Linux of this processor.
pub(crate) fn target() -> String {
    format!("{}-unknown-linux-musl", std::env::consts::ARCH)
}

/// Builds the program, its manual and the archive; returns the path of the archive.
pub(crate) fn build(shell: &Shell) -> Result<PathBuf, Failure> {
    let target = target();
    prepare(shell, &target)?;
    println!("building the program, which takes minutes");
    let arguments = ["build", "--locked", "--package", "lasthop"];
    let mut build = shell.cargo(&arguments);
    build.args(["--profile", PROFILE, "--target", &target]);
    shell.run(build)?;
    let program = shell
        .root
        .join(format!("target/{target}/{PROFILE}/lasthop"));
    // The linker leaves the names of functions, whatever the profile says.
    let mut strip = Command::new("strip");
    strip.arg(&program);
    shell.run(strip)?;
    let size = fs::metadata(&program).map_err(unreadable(&program))?.len();
    println!("{}: {size} bytes", program.display());
    if size > MOST_BYTES {
        return Err(Failure::Found(format!(
            "the program has {size} bytes, and at most {MOST_BYTES} are allowed; find what has grown"
        )));
    }
    let packages = shell.root.join(PACKAGES);
    let manual = packages.join(MANUAL);
    let _ = fs::remove_dir_all(&manual);
    fs::create_dir_all(&packages).map_err(unwritable(&packages))?;
    let mut write = Command::new(&program);
    write.arg("manual").arg(&manual);
    shell.run(write)?;
    let archive = pack(shell, &program, &manual)?;
    println!("{}", archive.display());
    Ok(archive)
}

/// Sees that the standard library and the C compiler for the target are there: `ring` has parts in C.
fn prepare(shell: &Shell, target: &str) -> Result<(), Failure> {
    let mut question = Command::new("rustc");
    question.current_dir(&shell.root);
    question.args(["--print", "target-libdir", "--target", target]);
    let folder = shell.run(question)?;
    if !Path::new(folder.trim()).exists() {
        let mut add = Command::new("rustup");
        add.current_dir(&shell.root).args(["target", "add", target]);
        shell.run(add)?;
    }
    let mut compiler = Command::new("musl-gcc");
    compiler.arg("--version");
    if shell.run(compiler).is_err() {
        let what = "no C compiler for musl; on Debian: apt-get install musl-tools";
        return Err(Failure::Found(what.into()));
    }
    Ok(())
}

/// Makes the archive; the same files give the same archive.
fn pack(shell: &Shell, program: &Path, manual: &Path) -> Result<PathBuf, Failure> {
    let version = crate::release::version(shell)?;
    let name = format!("lasthop-{version}-{}-linux", std::env::consts::ARCH);
    let packages = shell.root.join(PACKAGES);
    let folder = packages.join(&name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(unwritable(&folder))?;
    let mut copy = Command::new("cp");
    copy.current_dir(&shell.root).arg("--recursive");
    copy.args(FILES).arg(manual).arg(program).arg(&folder);
    shell.run(copy)?;
    let archive = packages.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.current_dir(&packages).args([
        "--create",
        "--gzip",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mtime=@0",
        "--mode=go=rX,u+rw",
    ]);
    tar.arg("--file").arg(&archive).arg(&name);
    shell.run(tar)?;
    fs::remove_dir_all(&folder).map_err(unwritable(&folder))?;
    Ok(archive)
}

/// Returns the error that this file cannot be read.
pub(crate) fn unreadable(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |source| Failure::Read {
        path: path.into(),
        source,
    }
}

/// Returns the error that this file cannot be written.
pub(crate) fn unwritable(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |source| Failure::Write {
        path: path.into(),
        source,
    }
}
