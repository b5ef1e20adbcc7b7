//! The texts after the options of `--help`, laid out for the width of the terminal.
//!
//! They are written as blocks: paragraphs, and lists of lines that begin with two spaces, each with a term, a gap of
//! two spaces or more, and its meaning. A line that is indented more continues the one before.

use clap::Command;
use rustix::termios::tcgetwinsize;

/// Width if the output is no terminal and `COLUMNS` does not set it, and the widest that is used: longer lines are hard
/// to read.
const USUAL: usize = 100;
const WIDEST: usize = 120;
/// Narrowest width for which lines are made.
const NARROWEST: usize = 40;
/// Indentation of a list, and of a meaning below its term.
const INDENT: usize = 2;
const BELOW: usize = 6;
/// Narrowest column of meanings beside their terms.
const LEAST_COLUMN: usize = 34;
/// Indentation from which on a line continues the one before.
const CONTINUED: usize = 6;

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Block {
    Paragraph(String),
    List(Vec<Entry>),
}

/// A line of a list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) term: String,
    /// May be empty.
    pub(crate) meaning: String,
}

/// Returns the width of help.
pub(crate) fn width() -> usize {
    let size = tcgetwinsize(rustix::stdio::stdout()).map(|size| size.ws_col);
    let terminal = size.ok().filter(|columns| *columns > 0).map(usize::from);
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    let width = terminal.or_else(told).unwrap_or(USUAL);
    width.clamp(NARROWEST, WIDEST)
}

/// Returns the command and all below it with help of this width.
pub(crate) fn fit(command: Command, width: usize) -> Command {
    let text = command.get_after_help().map(ToString::to_string);
    let command = match text {
        Some(text) => command.after_help(layout(&blocks(&text), width)),
        None => command,
    };
    let command = command.term_width(width);
    command.mut_subcommands(|command| fit(command, width))
}

/// Returns the blocks of a text.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut is_new = true;
    for line in text.lines() {
        let words = line.trim();
        let indent = line.len() - line.trim_start().len();
        match (blocks.last_mut(), indent) {
            _ if words.is_empty() => {
                is_new = true;
                continue;
            }
            (Some(Block::Paragraph(text)), 0) if !is_new => join(text, words),
            (_, 0) => blocks.push(Block::Paragraph(words.into())),
            (Some(Block::List(entries)), CONTINUED..) if !is_new => {
                if let Some(entry) = entries.last_mut() {
                    join(&mut entry.meaning, words);
                }
            }
            (Some(Block::List(entries)), _) if !is_new => entries.push(entry(words)),
            _ => blocks.push(Block::List(vec![entry(words)])),
        }
        is_new = false;
    }
    blocks
}

fn join(text: &mut String, words: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(words);
}

fn entry(words: &str) -> Entry {
    let (term, meaning) = words.split_once("  ").unwrap_or((words, ""));
    Entry {
        term: term.into(),
        meaning: meaning.trim().into(),
    }
}

/// Lays blocks out. A list follows its heading directly.
fn layout(blocks: &[Block], width: usize) -> String {
    let mut text = String::new();
    let mut is_heading = true;
    for block in blocks {
        if !is_heading {
            text.push('\n');
        }
        match block {
            Block::Paragraph(words) => write(&mut text, "", words, width),
            Block::List(entries) => list(&mut text, entries, width),
        }
        is_heading = matches!(block, Block::Paragraph(words) if words.ends_with(':'));
    }
    text.truncate(text.trim_end().len());
    text
}

fn list(text: &mut String, entries: &[Entry], width: usize) {
    let explained = entries.iter().filter(|entry| !entry.meaning.is_empty());
    let longest = explained.map(|entry| entry.term.chars().count()).max();
    let column = INDENT + longest.unwrap_or(0) + 2;
    let is_beside = column + LEAST_COLUMN <= width;
    let indented = |columns: usize| " ".repeat(columns);
    for Entry { term, meaning } in entries {
        if is_beside && !meaning.is_empty() {
            let start = format!("{:column$}", format!("{}{term}", indented(INDENT)));
            let mut lines = String::new();
            write(&mut lines, &indented(column), meaning, width);
            text.push_str(&start);
            text.push_str(lines.get(column..).unwrap_or_default());
            continue;
        }
        write(text, &indented(INDENT), term, width);
        if !meaning.is_empty() {
            write(text, &indented(BELOW), meaning, width);
        }
    }
}

/// Adds lines of at most `width` columns, unless a word is longer.
fn write(text: &mut String, indent: &str, words: &str, width: usize) {
    let mut column = 0;
    for word in words.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            text.push('\n');
            column = 0;
        }
        let space = if column == 0 { indent } else { " " };
        text.push_str(space);
        text.push_str(word);
        column += space.len() + length;
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Examples:
  lasthop nod             one that
                          goes on
  lasthop --long-option   two

A paragraph
of two lines.
Also this.

  a list of its own";

    #[test]
    fn a_text_has_paragraphs_and_lists() {
        let [heading, list, paragraph, own] = &blocks(TEXT)[..] else {
            panic!("{:?}", blocks(TEXT));
        };
        assert_eq!(*heading, Block::Paragraph("Examples:".into()));
        let entry = |term: &str, meaning: &str| Entry {
            term: term.into(),
            meaning: meaning.into(),
        };
        let entries = [
            entry("lasthop nod", "one that goes on"),
            entry("lasthop --long-option", "two"),
        ];
        assert_eq!(*list, Block::List(entries.into()));
        let words = "A paragraph of two lines. Also this.";
        assert_eq!(*paragraph, Block::Paragraph(words.into()));
        assert_eq!(*own, Block::List(vec![entry("a list of its own", "")]));
    }

    #[test]
    fn meanings_stand_beside_their_terms_if_there_is_room() {
        let wide = "\
Examples:
  lasthop nod            one that goes on
  lasthop --long-option  two

A paragraph of two lines. Also this.

  a list of its own";
        assert_eq!(layout(&blocks(TEXT), 60), wide);
        let narrow = "\
Examples:
  lasthop nod
      one that goes on
  lasthop --long-option
      two

A paragraph of two lines. Also
this.

  a list of its own";
        assert_eq!(layout(&blocks(TEXT), 30), narrow);
    }

    #[test]
    fn every_help_fits_its_width() {
        fn check(command: &mut Command, width: usize) {
            let help = command.render_long_help().to_string();
            // A word may be longer, and clap leaves the usage as it is.
            let is_breakable = |line: &&str| {
                !line.starts_with("Usage:") && line.trim().split(' ').nth(1).is_some()
            };
            for line in help.lines().filter(is_breakable) {
                let length = line.chars().count();
                assert!(length <= width, "{}: {line}", command.get_name());
            }
            for command in command.get_subcommands_mut() {
                check(command, width);
            }
        }
        for width in [60, 120] {
            let mut command = fit(crate::command_line(), width);
            command.build();
            check(&mut command, width);
        }
    }
}
