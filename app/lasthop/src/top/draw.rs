//! The screen of `lasthop top`.

use std::time::Instant;

use hosts::{PeerSummary, Role};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row, Table, Wrap};

use super::board::Board;
use super::history::SECONDS;
use crate::status::short::{self, Condition};

/// Widths of the columns but for the strip: name, rates, limit, loss, queue delay, airtime.
const WIDTHS: [u16; 7] = [11, 7, 7, 16, 7, 7, 4];
const NAME: usize = WIDTHS[0] as usize;

const HELP: &str = "\
to it, from it   traffic of the last three seconds to the peer and from it, in bit/s (k, M, G)
limited by       what limits the traffic to it now; `nothing`: applications send no more
lost             share of the frames to it that the air lost in the last minute
fades            the last minute, the newest at the right: a dot is clear air, a bar the share of the time \
in which nothing came through, a space is not known
queue            time that a new packet waits here before it is sent
air              its share of the airtime, if mobile hosts share one air

q ends   s sorts by the next order   arrows, PgUp, PgDn, Home, End choose a peer   ? or Esc leaves this page";

/// Colours, or none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Palette {
    pub(super) has_colours: bool,
}

impl Palette {
    /// Returns colours unless the user wants none.
    pub(super) fn of_environment() -> Self {
        Self {
            has_colours: std::env::var_os("NO_COLOR").is_none(),
        }
    }

    fn colour(self, colour: Color) -> Style {
        if self.has_colours {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    }

    fn of(self, condition: Condition) -> Style {
        match condition {
            Condition::Connected => Style::new(),
            Condition::Fading => self.colour(Color::Yellow),
            Condition::Absent => self.colour(Color::Red),
        }
    }
}

/// Draws the board.
pub(super) fn draw(frame: &mut Frame<'_>, board: &Board, now: Instant, palette: Palette) {
    let lines = [
        Constraint::Length(1),
        Constraint::Length(u16::from(trouble_of(board, now).is_some())),
        Constraint::Min(0),
        Constraint::Length(2),
        Constraint::Length(1),
    ];
    let [title, trouble, table, details, keys] = Layout::vertical(lines).areas(frame.area());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Line::styled(headline(board), bold), title);
    if let Some(text) = trouble_of(board, now) {
        let style = palette.colour(Color::Red).add_modifier(Modifier::BOLD);
        frame.render_widget(Line::styled(text, style), trouble);
    }
    if board.helps {
        frame.render_widget(Paragraph::new(HELP).wrap(Wrap { trim: true }), table);
    } else {
        draw_peers(frame, table, board, palette);
        let text = Paragraph::new(chosen(board));
        frame.render_widget(text.wrap(Wrap { trim: true }), details);
    }
    let order = board.order.name();
    let text = format!("q quit   s sort (by {order})   ↑↓ choose   ? help");
    let dim = Style::new().add_modifier(Modifier::DIM);
    frame.render_widget(Line::styled(text, dim), keys);
}

fn headline(board: &Board) -> String {
    let Some((_, summary)) = &board.answer else {
        return "lasthop".into();
    };
    let (version, up) = (&summary.version, short::age(summary.uptime_s as u64));
    let Some(host) = &summary.host else {
        return format!("lasthop {version}, up {up}");
    };
    let connected = host.peers.iter().filter(|peer| peer.is_connected).count();
    match host.role {
        Role::Mobile => format!("lasthop {version} mobile, up {up}"),
        Role::Gateway => format!(
            "lasthop {version} gateway, up {up}; {connected} of {} mobile hosts connected",
            host.peers.len()
        ),
    }
}

/// Returns what is wrong with the daemon, or with the first peer that has a trouble.
fn trouble_of(board: &Board, now: Instant) -> Option<String> {
    let Some((since, trouble)) = board.trouble.as_ref() else {
        let of_peer = |peer: &&PeerSummary| {
            let trouble = peer.trouble.as_ref()?;
            Some(format!(
                "{}: {}",
                short::cut(&peer.name, NAME),
                trouble.words
            ))
        };
        return board.rows().iter().find_map(of_peer);
    };
    let seconds = now.duration_since(*since).as_secs();
    Some(format!("for {seconds} s: {trouble}"))
}

/// Returns the text about the chosen peer.
fn chosen(board: &Board) -> String {
    let rows = board.rows();
    let Some(peer) = board.chosen_row(&rows).and_then(|row| rows.get(row)) else {
        return String::new();
    };
    let (_, state) = short::state(peer);
    let measured = |text: String| match text.as_str() {
        short::UNKNOWN => "not measured yet".into(),
        _ => text,
    };
    let rate = peer.rate_bits_per_s.map(short::rate);
    let rate = rate.unwrap_or_else(|| "not measured yet".into());
    format!(
        "{}: {state}; round trip {}, rate of the hop {rate}; limited by {}",
        short::cut(&peer.name, 32),
        measured(short::span(peer.round_trip_us)),
        peer.limited_by,
    )
}

fn draw_peers(frame: &mut Frame<'_>, area: Rect, board: &Board, palette: Palette) {
    let peers = board.rows();
    let has_air = peers.iter().any(|peer| peer.airtime_percent.is_some());
    let columns = if has_air {
        WIDTHS.len()
    } else {
        WIDTHS.len() - 1
    };
    let others: u16 = WIDTHS[..columns].iter().map(|width| width + 1).sum();
    let strip = strip_width(area.width.saturating_sub(others));
    let visible = usize::from(area.height.saturating_sub(1));
    let chosen = board.chosen_row(&peers);
    // The chosen peer is the last visible one, if it is not among the first.
    let first = chosen.map_or(0, |row| (row + 1).saturating_sub(visible));
    let rows = peers.iter().enumerate().skip(first).take(visible);
    let rows = rows.map(|(index, peer)| {
        let (condition, _) = short::state(peer);
        let style = palette.of(condition);
        let style = if chosen == Some(index) {
            style.add_modifier(Modifier::REVERSED)
        } else {
            style
        };
        Row::new(cells(peer, has_air, board.strip(peer, strip))).style(style)
    });
    let mut header = vec![
        "peer".into(),
        right("to it", 7),
        right("from it", 7),
        "limited by".into(),
        right("lost", 7),
        "fades, 1 min".into(),
        right("queue", 7),
    ];
    header.extend(has_air.then(|| right("air", 4)));
    let mut widths = WIDTHS[..columns].to_vec();
    widths.insert(5, strip as u16);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let header = Row::new(header).style(bold);
    let table = Table::new(rows, widths.into_iter().map(Constraint::Length));
    frame.render_widget(table.header(header), area);
}

/// Returns the largest number of symbols that divides a minute and fits.
fn strip_width(room: u16) -> usize {
    let widths = [SECONDS, 30, 20, 15, 12, 10, 6];
    let fits = |width: &&usize| **width <= usize::from(room);
    widths.iter().find(fits).copied().unwrap_or_default()
}

fn cells(peer: &PeerSummary, has_air: bool, strip: String) -> Vec<String> {
    let recent = &peer.recent;
    let mut cells = vec![
        short::cut(&peer.name, NAME),
        right(&rate(recent.to_peer_bits_per_s), 7),
        right(&rate(recent.from_peer_bits_per_s), 7),
        short::limit(peer.limited_by).into(),
        right(&short::loss(peer), 7),
        strip,
        right(&short::span(peer.queue_delay_us), 7),
    ];
    if has_air {
        let share = peer.airtime_percent.map(|percent| format!("{percent} %"));
        cells.push(right(&share.unwrap_or_default(), 4));
    }
    cells
}

/// Returns a rate without its unit, which the help gives.
fn rate(bits_per_second: u64) -> String {
    short::rate(bits_per_second)
        .trim_end_matches("bit/s")
        .trim_end()
        .into()
}

fn right(text: &str, width: usize) -> String {
    format!("{text:>width$}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hosts::{LimitedBy, Registration};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::board::Key;
    use super::super::board::tests::{peer, summary};
    use super::*;

    /// Returns the lines of a screen of this size.
    fn screen(board: &Board, width: u16, height: u16) -> Vec<String> {
        let now = board
            .trouble
            .as_ref()
            .map_or_else(Instant::now, |(since, _)| *since + Duration::from_secs(7));
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let palette = Palette { has_colours: true };
        terminal
            .draw(|frame| draw(frame, board, now, palette))
            .unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y| {
            (0..width)
                .map(|x| buffer[(x, y)].symbol())
                .collect::<String>()
        };
        let lines = (0..height).map(line);
        lines.map(|line| line.trim_end().to_owned()).collect()
    }

    /// A gateway whose two peers share an air; the second one is in its second fade.
    fn board() -> Board {
        let (mut board, start) = (Board::default(), Instant::now());
        for second in 0..20_u64 {
            let mut peers = [1, 2, 3].map(peer);
            for peer in &mut peers[..2] {
                peer.airtime_percent = Some(50);
                peer.queue_delay_us = Some(12_300);
                peer.round_trip_us = Some(45_000);
                peer.recent.frames_sent = 1_000;
            }
            peers[0].recent.to_peer_bits_per_s = 5_731_000;
            peers[1].limited_by = LimitedBy::Air;
            peers[1].recent.frames_lost_on_air = 123;
            peers[1].faded_ms = if second < 8 { 0 } else { 4_000 };
            peers[1].fading_ms = second.saturating_sub(17) * 1_000;
            peers[2].is_connected = false;
            peers[2].limited_by = LimitedBy::PeerGone;
            peers[2].registration = Registration::Unknown;
            let now = start + Duration::from_secs(second);
            board.note(now, Ok(summary(peers.to_vec())));
        }
        board
    }

    #[test]
    fn a_terminal_of_usual_size_shows_everything() {
        let mut board = board();
        board.press(Key::Down(1));
        let lines = screen(&board, 80, 24);
        assert_eq!(
            lines[0],
            "lasthop 0.1.0 gateway, up 60 min; 2 of 3 mobile hosts connected"
        );
        let shown = |line: &str, parts: &[&str]| {
            for part in parts {
                assert!(line.contains(part), "'{part}' in:\n{}", lines.join("\n"));
            }
        };
        shown(
            &lines[1],
            &[
                "peer",
                "to it",
                "from it",
                "limited by",
                "lost",
                "fades",
                "queue",
                "air",
            ],
        );
        shown(
            &lines[2],
            &[
                "tablet1",
                "5.73 M",
                " 0 nothing",
                "0.0 %",
                "12.3 ms",
                "50 %",
            ],
        );
        shown(&lines[3], &["tablet2", "the air", "12.3 %", "50 %"]);
        shown(&lines[4], &["tablet3", "not heard", "-"]);
        shown(
            &lines[21..23].join(" "),
            &[
                "tablet1: connected 90 s",
                "round trip 45.0 ms",
                "not measured yet",
            ],
        );
        shown(&lines[23], &["q quit", "sort (by name)", "? help"]);
        assert!(lines[2..5].iter().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn a_wide_terminal_shows_each_second_of_the_fades() {
        let lines = screen(&board(), 140, 24);
        assert!(lines[3].contains("····████·········██"), "{}", lines[3]);
        assert!(!lines[4].contains('·'), "{}", lines[4]);
    }

    #[test]
    fn the_trouble_of_a_peer_is_told() {
        let mut board = Board::default();
        let mut peers = [1, 2].map(peer);
        peers[1].trouble = Some(hosts::Trouble {
            code: hosts::TroubleCode::UdpBlocked,
            words: "a network on the way lets no UDP through".into(),
        });
        board.note(Instant::now(), Ok(summary(peers.to_vec())));
        let lines = screen(&board, 80, 24);
        assert_eq!(
            lines[1],
            "tablet2: a network on the way lets no UDP through"
        );
    }

    #[test]
    fn a_daemon_that_has_ended_is_told() {
        let mut board = board();
        board.note(
            Instant::now(),
            Err("the daemon of /run/x.sock is dead".into()),
        );
        let lines = screen(&board, 80, 24);
        assert_eq!(lines[1], "for 7 s: the daemon of /run/x.sock is dead");
        assert!(lines[3].contains("tablet1"));
    }

    #[test]
    fn help_explains_every_column_and_can_be_left() {
        let mut board = board();
        board.press(Key::Help);
        let text = screen(&board, 80, 24).join("\n");
        for column in [
            "to it",
            "limited by",
            "lost",
            "fades",
            "queue",
            "air",
            "q ends",
        ] {
            assert!(text.contains(column), "{text}");
        }
        board.press(Key::Back);
        assert!(screen(&board, 80, 24).join("\n").contains("tablet1"));
    }

    #[test]
    fn of_many_peers_the_chosen_one_is_visible_and_any_size_is_drawn() {
        let mut board = Board::default();
        let peers = (1..=4_000).map(peer).collect();
        board.note(Instant::now(), Ok(summary(peers)));
        board.press(Key::Down(usize::MAX));
        // In the order of names.
        assert!(screen(&board, 80, 24)[20].contains("tablet999"));
        board.press(Key::Up(usize::MAX));
        assert!(screen(&board, 80, 24)[2].contains("tablet1 "));
        for (width, height) in [(1, 1), (20, 3), (79, 5), (300, 100)] {
            screen(&board, width, height);
        }
    }
}
