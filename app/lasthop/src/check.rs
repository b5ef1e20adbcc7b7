//! `lasthop check`: validates a configuration.

use std::path::PathBuf;

use clap::Args;

use crate::config::Source;
use crate::daemon;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  lasthop check gateway.toml                     of a gateway
  lasthop check mobile.toml                      of a mobile host
  lasthop check gateway.toml && lasthop reload   take it, if it is valid

It reads the key files too, and changes nothing. Exit code 0: valid; 2: not, and why.";

/// Check a configuration of a gateway or of a mobile host, and run nothing.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The configuration
    file: PathBuf,
}

/// Checks a configuration.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let source = Source::read(&arguments.file)?;
    let name = arguments.file.display();
    if source.is_of_mobile()? {
        daemon::check_mobile(&source)?;
        println!("{name}: a mobile host");
    } else {
        let mobiles = daemon::check_gateway(source)?;
        println!("{name}: a gateway; peers: {mobiles}");
    }
    Ok(())
}
