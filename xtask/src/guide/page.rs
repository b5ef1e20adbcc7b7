//! What a page of Markdown links to, and what can be linked to in it.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A link or a picture of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Its line, from 1.
    pub(super) line: usize,
    /// What it names: a path relative to the page, a heading after `#`, or an address.
    pub(super) target: String,
}

/// The parts of a page that links need.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Its links and pictures, in order.
    pub(super) links: Vec<Link>,
    /// The names of its headings in links, without `#`.
    pub(super) fragments: BTreeSet<String>,
}

impl Page {
    /// Reads a page.
    pub(super) fn parse(text: &str) -> Self {
        let mut page = Self::default();
        let mut heading = None;
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(Link {
                        line: 1 + text[..range.start].matches('\n').count(),
                        target: dest_url.into_string(),
                    });
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    page.add_heading(&heading.take().unwrap_or_default());
                }
                Event::Text(words) | Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                _ => {}
            }
        }
        page
    }

    /// Adds the name that mdBook and GitHub give a heading; a second one of the same name gets a number.
    fn add_heading(&mut self, heading: &str) {
        let kept = |c: char| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            _ => c.is_alphanumeric().then_some(c),
        };
        let name: String = heading.to_lowercase().chars().filter_map(kept).collect();
        let numbered = (1..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone())
            .chain(numbered)
            .find(|name| !self.fragments.contains(name));
        self.fragments.extend(free);
    }
}
