//! The key of a mobile host. The daemon claims the next one at its gateway, and goes on with it once the gateway has
//! taken it; until then it stands in a file beside the present one.

use std::path::Path;
use std::time::{Duration, Instant};

use runtime::Status;
use runtime::control::{ask_reload, ask_status};
use session::{PrivateKey, PublicKey};

use crate::config::Source;
use crate::config::mobile::MobileConfig;
use crate::failure::Failure;
use crate::state::{move_to, remove};
use crate::status::unanswered;
use crate::{background, entropy, key_file};

/// Time between two looks at the daemon.
const PAUSE: Duration = Duration::from_millis(50);
/// Time in which a gateway that is in reach takes a key.
const PATIENCE: Duration = Duration::from_secs(30);

/// Replaces the key of the mobile host with the configuration at `path`, or completes an earlier try.
pub(super) fn run(path: &Path) -> Result<(), Failure> {
    let source = Source::read(path)?;
    let config = MobileConfig::load(&source)?;
    config.check_replaceable(&source)?;
    let socket = source.socket()?;
    if !background::is_running(&socket) {
        let what = "the mobile host is off, and its gateway has to take the next key; start it, with `lasthop join` or \
                    `lasthop mobile`";
        return Err(Failure::setting(what));
    }
    let file = source.file(&config.next_key_file());
    let next = if let Some(known) = config.next_key(&source)? {
        known
    } else {
        let made = PrivateKey::generate(&mut entropy::fill);
        key_file::write(&file, &made.to_text(), false)?;
        made
    };
    let next = next.public_key();
    let reloaded = ask_reload(&socket).map_err(|error| unanswered(&socket, &error))?;
    reloaded.map_err(Failure::setting)?;
    if let Some(reason) = refusal(&socket, &next)? {
        remove(&file)?;
        return Err(Failure::setting(format!(
            "the gateway has refused the next key: {reason}; the present key stays"
        )));
    }
    move_to(&file, &source.file(&config.private_key_file))?;
    println!("{next}");
    eprintln!("This is the key of this host from now on; the gateway refuses the former one.");
    Ok(())
}

/// Waits until the gateway has taken this key, or has refused it; returns why it has.
fn refusal(socket: &Path, next: &PublicKey) -> Result<Option<String>, Failure> {
    let next = next.to_string();
    let began = Instant::now();
    loop {
        let status: Status = ask_status(socket).map_err(|error| unanswered(socket, &error))?;
        if status.host.public_key == next {
            return Ok(None);
        }
        let claimed = status.host.next_key.filter(|its| its.public_key == next);
        if let Some(reason) = claimed.and_then(|its| its.refused) {
            return Ok(Some(reason));
        }
        if began.elapsed() > PATIENCE {
            let what = "the gateway has not taken the next key yet, and the daemon claims it whenever they are \
                        connected; run `lasthop rotate` again to complete this";
            return Err(Failure::broken(what));
        }
        std::thread::sleep(PAUSE);
    }
}
