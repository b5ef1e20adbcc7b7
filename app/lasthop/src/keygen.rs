//! `lasthop keygen`: makes keys.

use std::path::PathBuf;

use clap::Args;
use session::{PresharedKey, PrivateKey};

use crate::failure::Failure;
use crate::{entropy, key_file};

const EXAMPLES: &str = "\
Examples:
  lasthop keygen gateway.key                  writes the private key, prints the public key
  lasthop keygen --public gateway.key         prints the public key of a private one
  lasthop keygen --preshared tablet7.psk      writes a secret that both ends share

The public key goes into the other end's configuration. The private key never leaves its host.";

/// Make a host's key: the private half into a file, the public half to standard output.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The file for the new key, made with mode 0600; with --public, the file to read
    file: PathBuf,
    /// Print the public key of the private key in FILE; nothing is written
    #[arg(long, conflicts_with_all = ["preshared", "force"])]
    public: bool,
    /// Make a secret for two hosts to share beside their keys; nothing is printed
    #[arg(long)]
    preshared: bool,
    /// Replace FILE if it exists
    #[arg(long)]
    force: bool,
}

/// Makes or shows a key.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments {
        file,
        public,
        preshared,
        force,
    } = arguments;
    if *public {
        println!("{}", key_file::read::<PrivateKey>(file)?.public_key());
        return Ok(());
    }
    let mut entropy = entropy::fill;
    let (text, public_key) = if *preshared {
        (PresharedKey::generate(&mut entropy).to_text(), None)
    } else {
        let key = PrivateKey::generate(&mut entropy);
        (key.to_text(), Some(key.public_key()))
    };
    key_file::write(file, &text, *force)?;
    if let Some(key) = public_key {
        println!("{key}");
    }
    Ok(())
}
