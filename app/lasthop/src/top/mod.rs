//! `lasthop top`: the peers of a daemon, refreshed each second.

mod board;
mod draw;
mod history;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, KeyCode, KeyEventKind, KeyModifiers};
use runtime::Summary;
use runtime::control::ask_summary;

use crate::failure::Failure;
use crate::interrupt;
use crate::status::{DaemonChoice, unanswered};
use board::{Board, Key};
use draw::Palette;

const EXAMPLES: &str = "\
Examples:
  lasthop top                    the daemon on this host
  lasthop top --name gateway     one of several

Keys: q ends, s sorts by the next column, the arrows choose a peer, ? explains the columns.";

/// Time between two queries.
const INTERVAL: Duration = Duration::from_secs(1);

/// Watch the peers of a daemon: traffic, limits, losses and fades, each second.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    daemon: DaemonChoice,
}

/// Something to react to.
enum Event {
    /// The daemon has answered, or has not, for this reason.
    Answer(Result<Summary, String>),
    Key(Key),
    /// The terminal has another size.
    Resized,
    /// The user ends the command.
    End,
    /// The terminal cannot be read.
    Broken(io::Error),
}

/// Shows the peers until the user ends it.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Failure::setting(
            "`lasthop top` needs a terminal; for a program or a file use `lasthop status`, with --json or without",
        ));
    }
    let socket = arguments.daemon.socket()?;
    // A wrong name is told as an error, and not on a screen that waits.
    let first = ask_summary(&socket).map_err(|error| unanswered(&socket, &error))?;
    let (events, received) = channel();
    let ended = events.clone();
    interrupt::watch(move |_| drop(ended.send(Event::End)))?;
    let failed = |error| Failure::broken(format!("cannot start a thread: {error}"));
    let asking = events.clone();
    let asker = thread::Builder::new().name("status".into());
    asker
        .spawn(move || ask_again(&socket, &asking))
        .map_err(failed)?;
    let reader = thread::Builder::new().name("keys".into());
    reader.spawn(move || read_keys(&events)).map_err(failed)?;
    // It is restored by a panic, too.
    let mut terminal = ratatui::try_init().map_err(|error| {
        ratatui::restore();
        Failure::broken(format!("cannot use the terminal: {error}"))
    })?;
    let mut board = Board::default();
    board.note(Instant::now(), Ok(first));
    let ended = show(&mut terminal, &mut board, &received);
    ratatui::restore();
    ended.map_err(|error| Failure::broken(format!("the terminal failed: {error}")))
}

/// Draws the board after each event, until the end.
fn show(
    terminal: &mut DefaultTerminal,
    board: &mut Board,
    events: &std::sync::mpsc::Receiver<Event>,
) -> io::Result<()> {
    let palette = Palette::of_environment();
    loop {
        terminal.draw(|frame| draw::draw(frame, board, Instant::now(), palette))?;
        match events.recv() {
            Ok(Event::Answer(answer)) => board.note(Instant::now(), answer),
            Ok(Event::Key(key)) => board.press(key),
            Ok(Event::Resized) => {}
            Ok(Event::Broken(error)) => return Err(error),
            Ok(Event::End) | Err(_) => return Ok(()),
        }
    }
}

/// Queries the daemon each second, also while none is there.
fn ask_again(socket: &Path, events: &Sender<Event>) {
    loop {
        thread::sleep(INTERVAL);
        let answer = ask_summary(socket);
        let answer = answer.map_err(|error| unanswered(socket, &error).to_string());
        if events.send(Event::Answer(answer)).is_err() {
            return;
        }
    }
}

fn read_keys(events: &Sender<Event>) {
    loop {
        let event = match event::read() {
            Ok(event::Event::Key(key)) if key.kind == KeyEventKind::Release => continue,
            Ok(event::Event::Key(key)) => {
                match meaning(key.code, key.modifiers.contains(KeyModifiers::CONTROL)) {
                    Some(event) => event,
                    None => continue,
                }
            }
            Ok(_) => Event::Resized,
            Err(error) => Event::Broken(error),
        };
        let is_last = matches!(event, Event::End | Event::Broken(_));
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

/// Returns what a key means, if it means anything.
fn meaning(code: KeyCode, has_control: bool) -> Option<Event> {
    Some(match code {
        KeyCode::Char('c') if has_control => Event::End,
        KeyCode::Char('q') => Event::End,
        KeyCode::Char('s') => Event::Key(Key::Sort),
        KeyCode::Char('?' | 'h') => Event::Key(Key::Help),
        KeyCode::Esc => Event::Key(Key::Back),
        KeyCode::Up | KeyCode::Char('k') => Event::Key(Key::Up(1)),
        KeyCode::Down | KeyCode::Char('j') => Event::Key(Key::Down(1)),
        KeyCode::PageUp => Event::Key(Key::Up(10)),
        KeyCode::PageDown => Event::Key(Key::Down(10)),
        KeyCode::Home => Event::Key(Key::Up(usize::MAX)),
        KeyCode::End => Event::Key(Key::Down(usize::MAX)),
        _ => return None,
    })
}
