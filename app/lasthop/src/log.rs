//! The log of the daemons: lines on standard error, without secrets.

use std::io::IsTerminal;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::failure::Failure;

/// Variable with the level: one level, or levels by part, such as `info,edges=debug`.
const VARIABLE: &str = "LASTHOP_LOG";

/// Starts the log, with colours only on a terminal.
pub(crate) fn start() -> Result<(), Failure> {
    let filter = match std::env::var(VARIABLE) {
        Ok(text) => text.parse::<Targets>().map_err(|error| {
            let example = "a level (error, warn, info, debug, trace) or 'info,edges=debug'";
            Failure::setting(format!("{VARIABLE} is '{text}': {error}; use {example}"))
        })?,
        Err(_) => Targets::new().with_default(LevelFilter::INFO),
    };
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        .with_target(false);
    tracing_subscriber::registry()
        .with(lines)
        .with(filter)
        .init();
    Ok(())
}
