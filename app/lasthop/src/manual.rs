//! The man pages and the shell completions, made from the command line itself for packages.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::failure::Failure;
use crate::help::{Block, blocks};

/// The internal command.
pub(crate) const COMMAND: &str = "manual";

const MANUAL: &str = "lasthop";
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Fish, Shell::Zsh];

/// Writes all of it into a folder: `man1/*.1`, and a file of completions for each shell.
pub(crate) fn run(folder: Option<OsString>) -> Result<(), Failure> {
    let folder = folder.ok_or_else(|| Failure::setting("name a folder for the manual"))?;
    let folder = Path::new(&folder);
    let failed = |error: io::Error| {
        let folder = folder.display();
        Failure::setting(format!("cannot write the manual to {folder}: {error}"))
    };
    let pages = folder.join("man1");
    fs::create_dir_all(&pages).map_err(failed)?;
    let mut command = crate::command_line().disable_help_subcommand(true);
    command.build();
    write_pages(&command, &pages).map_err(failed)?;
    for shell in SHELLS {
        let mut command = crate::command_line();
        let name = command.get_name().to_owned();
        let made = clap_complete::generate_to(shell, &mut command, name, folder);
        made.map_err(failed)?;
    }
    Ok(())
}

/// Returns the commands below one that help shows.
fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    let commands = command.get_subcommands();
    commands.filter(|command| !command.is_hide_set())
}

/// Writes the page of a command, and of each one below it.
fn write_pages(command: &Command, folder: &Path) -> io::Result<()> {
    for command in visible(command) {
        write_pages(command, folder)?;
    }
    let source = concat!("lasthop ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).manual(MANUAL).source(source);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(text) = command.get_after_help() {
        write_notes(&mut page, &blocks(&text.to_string()))?;
    }
    fs::write(folder.join(man.get_filename()), page)
}

/// Writes the text after the options. A paragraph that ends with a colon is the heading of what follows.
fn write_notes(page: &mut dyn Write, blocks: &[Block]) -> io::Result<()> {
    let mut roff = Roff::new();
    if !matches!(blocks.first(), Some(Block::Paragraph(words)) if words.ends_with(':')) {
        roff.control("SH", ["NOTES"]);
    }
    for (at, block) in blocks.iter().enumerate() {
        match block {
            Block::Paragraph(words) => match words.strip_suffix(':') {
                Some(heading) if at == 0 => drop(roff.control("SH", [&*heading.to_uppercase()])),
                _ => drop(roff.control("PP", []).text([roman(words)])),
            },
            Block::List(entries) => {
                for entry in entries {
                    roff.control("TP", []).text([bold(&entry.term)]);
                    roff.text([roman(&entry.meaning)]);
                }
            }
        }
    }
    roff.to_writer(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds the name of a command's page, and those of all below it.
    fn add_names(command: &Command, above: &str, names: &mut Vec<String>) {
        let name = format!("{above}{}", command.get_name());
        for command in visible(command) {
            add_names(command, &format!("{name}-"), names);
        }
        names.push(name);
    }

    #[test]
    fn there_is_a_page_for_each_command_with_every_option() {
        let folder = tempfile::tempdir().unwrap();
        run(Some(folder.path().into())).unwrap();
        let mut commands = Vec::new();
        add_names(&crate::command_line(), "", &mut commands);
        let pages = fs::read_dir(folder.path().join("man1")).unwrap().count();
        assert_eq!(pages, commands.len());
        assert!(commands.len() > 30, "{commands:?}");
        let page = |name: &str| {
            let path = folder.path().join(format!("man1/{name}.1"));
            fs::read_to_string(path).unwrap()
        };
        for name in &commands {
            assert!(page(name).contains(".SH SYNOPSIS"), "{name}");
        }
        let up = page("lasthop-gateway-up");
        for text in [
            "\\-\\-endpoint",
            "\\-\\-mobile",
            ".SH EXAMPLES",
            "51830",
            "\\fBlasthop gateway down\\fR",
        ] {
            assert!(up.contains(text), "{text}: {up}");
        }
        assert!(!page("lasthop-gateway").contains("detached"));
    }

    #[test]
    fn shells_complete_every_command_and_option() {
        let folder = tempfile::tempdir().unwrap();
        run(Some(folder.path().into())).unwrap();
        for file in ["lasthop.bash", "lasthop.fish", "_lasthop"] {
            let text = fs::read_to_string(folder.path().join(file)).unwrap();
            for word in ["invite", "expires", "unmount", "resume"] {
                assert!(text.contains(word), "{file}: {word}");
            }
            assert!(!text.contains("network-helper"), "{file}");
        }
    }
}
