//! Files that hold one secret key as text, readable by their owner alone.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::str::FromStr;

use session::ParseKeyError;
use zeroize::Zeroizing;

use crate::failure::Failure;

/// Access bits of group and others; a key file has none of them.
const OTHERS: u32 = 0o077;
/// Upper limit of a key file; a longer file is not one.
const MOST_BYTES: usize = 4096;

/// Reads the key in the file at `path`, which must belong to this user (or root) and be unreadable for everybody else.
/// Lines that begin with `#` are skipped.
pub(crate) fn read<K: FromStr<Err = ParseKeyError>>(path: &Path) -> Result<K, Failure> {
    let name = path.display();
    let text = read_text(path, &format!("make it with `lasthop keygen {name}`"))?;
    text.parse()
        .map_err(|error| Failure::setting(format!("{name}: {error}")))
}

/// Reads the first line of the file at `path` that is not empty and begins with no `#`. The file must belong to this
/// user (or root) and be unreadable for everybody else; `remedy` says how to make it.
pub(crate) fn read_text(path: &Path, remedy: &str) -> Result<Zeroizing<String>, Failure> {
    let name = path.display();
    let failed = |error: io::Error| {
        let remedy = match error.kind() {
            io::ErrorKind::NotFound => format!("; {remedy}"),
            _ => String::new(),
        };
        Failure::setting(format!("cannot read the key file {name}: {error}{remedy}"))
    };
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(Failure::setting(format!(
            "{name} is not a file; give the path of a key file"
        )));
    }
    if metadata.mode() & OTHERS != 0 {
        let mode = metadata.mode() & 0o777;
        return Err(Failure::setting(format!(
            "other users may open the key file {name} (mode {mode:04o}); close it with `chmod 600 \
            {name}`, and make a new key if somebody could have read it"
        )));
    }
    let own = rustix::process::geteuid().as_raw();
    if metadata.uid() != own && metadata.uid() != 0 {
        let owner = metadata.uid();
        return Err(Failure::setting(format!(
            "the key file {name} belongs to user {owner}; give it to the user that runs this with `chown {own} {name}`"
        )));
    }
    // The full size from the start: a growing buffer would leave parts of the secret in memory.
    let mut bytes = Zeroizing::new(vec![0; MOST_BYTES]);
    let mut length = 0;
    while length < bytes.len() {
        match file.read(&mut bytes[length..]).map_err(failed)? {
            0 => break,
            count => length += count,
        }
    }
    let text = str::from_utf8(&bytes[..length]).unwrap_or_default();
    let secret = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(Zeroizing::new(secret.unwrap_or_default().to_owned()))
}

/// Writes `text` as a line into a new file with mode 0600; an existing file is replaced, atomically, only if `replace`
/// is true.
pub(crate) fn write(path: &Path, text: &str, replace: bool) -> Result<(), Failure> {
    let name = path.display();
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::setting(format!(
            "{name} exists, and the key in it would be lost; choose another file, or add --force"
        )),
        _ => Failure::setting(format!("cannot write the key file {name}: {error}")),
    };
    let write_new = |path: &Path| -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()
    };
    if !replace {
        return write_new(path).map_err(failed);
    }
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.draft", std::process::id()));
    let draft = Path::new(&draft);
    write_new(draft).map_err(failed)?;
    std::fs::rename(draft, path).map_err(|error| {
        // The draft contains a secret that is not needed any more.
        let _ = std::fs::remove_file(draft);
        failed(error)
    })
}
