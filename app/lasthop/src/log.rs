//! The log of the daemons: lines on standard error, without secrets.
//!
//! A daemon never waits for the reader of its log: after start-up a thread writes the lines, from a queue with a limit.
//! Lines of one kind are limited too, so that nobody who can cause a line can fill the log.

mod format;
mod queue;
mod repeats;

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::field::Field;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata};
use tracing_subscriber::Layer;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::failure::Failure;
use crate::secrets::hide;
use format::Format;
use queue::Queue;
use repeats::Repeats;

/// Variable with the level: one level, or levels by part, such as `info,edges=debug`.
const VARIABLE: &str = "LASTHOP_LOG";
/// Longest time for which the end of the program waits for the reader of the log.
const PATIENCE: Duration = Duration::from_secs(2);

/// Queue to the thread that writes; lines before it exists are written at once.
static QUEUE: OnceLock<Queue> = OnceLock::new();
static REPEATS: Mutex<Repeats> = Mutex::new(Repeats::new());

/// Form of the lines, once the log has started.
static FORMAT: OnceLock<Format> = OnceLock::new();

/// Fields that the message of an event tells, too: only structured logs need them.
const TOLD: [&str; 3] = ["peer", "event", "fades"];

/// Starts the log, with colours only on a terminal.
pub(crate) fn start() -> Result<(), Failure> {
    let chosen = Format::of_environment()?;
    let filter = match std::env::var(VARIABLE) {
        Ok(text) => text.parse::<Targets>().map_err(|error| {
            let example = "a level (error, warn, info, debug, trace) or 'info,edges=debug'";
            Failure::setting(format!("{VARIABLE} is '{text}': {error}; use {example}"))
        })?,
        Err(_) => Targets::new().with_default(LevelFilter::INFO),
    };
    let format = *FORMAT.get_or_init(|| chosen);
    let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines = tracing_subscriber::fmt::layer().with_writer(Lines);
    let lines = match format {
        Format::Text => lines
            .with_ansi(colours)
            .with_target(false)
            .fmt_fields(debug_fn(write_field).delimited(" "))
            .boxed(),
        Format::Json => lines.with_ansi(false).json().boxed(),
    };
    tracing_subscriber::registry()
        .with(lines)
        .with(filter)
        .init();
    Ok(())
}

/// Writes a field of an event in a line of text.
fn write_field(to: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    match field.name() {
        "message" => write!(to, "{value:?}"),
        name if TOLD.contains(&name) => Ok(()),
        name => write!(to, "{name}={value:?}"),
    }
}

fn form() -> Format {
    FORMAT.get().copied().unwrap_or(Format::Text)
}

/// Lets a thread write the log from here on, so that the calling thread never waits for the reader.
pub(crate) fn detach() -> io::Result<()> {
    // A second queue would only be dropped.
    let _ = QUEUE.set(Queue::start(io::stderr(), dropped)?);
    Ok(())
}

/// Returns the line for lines that were dropped.
fn dropped(count: u64) -> String {
    let message = format!("{count} lines of the log were dropped, as its reader was too slow");
    form().line("WARN", &message)
}

/// Writes `line` as the last one, and waits for the reader of the log for a limited time.
pub(crate) fn finish(line: Option<&str>) {
    let repeats = || REPEATS.lock().unwrap_or_else(PoisonError::into_inner);
    let left_out = repeats().finish();
    for kind in &left_out {
        write(&kind.words(form()));
    }
    if let Some(line) = line {
        write(&form().line("ERROR", line));
    }
    if let Some(queue) = QUEUE.get() {
        queue.flush(PATIENCE);
    }
}

/// Writes one line, without its end and without secrets.
fn write(line: &str) {
    let line = hide(line);
    match QUEUE.get() {
        Some(queue) => queue.push(format!("{line}\n").into_bytes()),
        // Without a reader there is nothing left to do.
        None => drop(writeln!(io::stderr(), "{line}")),
    }
}

/// Makes a writer for each line.
struct Lines;

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line(None)
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Line {
        // Whoever requests more than the usual lines gets all of them.
        let is_limited = *metadata.level() <= Level::INFO;
        Line(is_limited.then(|| metadata.callsite()))
    }
}

/// The writer of one line, with its place in the program if its kind is limited.
struct Line(Option<Identifier>);

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        let line = line.trim_end();
        let admitted = self.0.as_ref().map(|place| {
            let mut repeats = REPEATS.lock().unwrap_or_else(PoisonError::into_inner);
            repeats.admit(Instant::now(), kind(place, &form().message(line)), line)
        });
        match admitted {
            Some(admitted) => {
                let ended = admitted.ended.iter();
                ended.for_each(|line| write(&line.words(form())));
                admitted.line.into_iter().for_each(write);
            }
            None => write(line),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the kind of a line: its place in the program, and its text without numbers, addresses and time stamps, so
/// that lines about one peer are of one kind.
fn kind(place: &Identifier, line: &str) -> u64 {
    let is_word = |word: &&str| !word.starts_with(|c: char| c.is_ascii_digit() || c == '\u{1b}');
    let mut hasher = DefaultHasher::new();
    place.hash(&mut hasher);
    line.split_whitespace()
        .filter(is_word)
        .for_each(|word| word.hash(&mut hasher));
    hasher.finish()
}
