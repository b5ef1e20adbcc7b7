//! The commands in a page of Markdown, with the output that the page shows.

/// The lines around a block of commands: one that is shown, and one that only prepares the hosts for it.
const BLOCKS: [[&str; 2]; 2] = [["```console", "```"], ["<!-- console", "-->"]];
/// What follows the name of a host before a command.
const PROMPT: &str = "# ";

/// A command of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Its line, from 1.
    pub(super) line: usize,
    pub(super) host: String,
    pub(super) command: String,
    /// The lines of output below it.
    pub(super) shown: Vec<String>,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Step(Step),
}

/// A page, whose shown output can be replaced.
#[derive(Debug)]
pub(super) struct Page(Vec<Part>);

impl Page {
    /// Reads a page.
    pub(super) fn parse(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut end = None;
        for (line, text) in (1..).zip(text.lines()) {
            if end.is_none_or(|end| text == end) {
                let block = BLOCKS.iter().find(|[begin, _]| text == *begin);
                end = block.filter(|_| end.is_none()).map(|[_, end]| *end);
                parts.push(Part::Text(text.into()));
                continue;
            }
            match (command(text), parts.last_mut()) {
                (Some((host, command)), _) => parts.push(Part::Step(Step {
                    line,
                    host: host.into(),
                    command: command.into(),
                    shown: Vec::new(),
                })),
                (None, Some(Part::Step(step))) => step.shown.push(text.into()),
                (None, _) => panic!("line {line}: a block begins with a command: {text}"),
            }
        }
        Self(parts)
    }

    /// Returns true if it has commands.
    pub(super) fn has_steps(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Step(_)))
    }

    /// Returns its commands, in order.
    pub(super) fn steps_mut(&mut self) -> impl Iterator<Item = &mut Step> {
        self.0.iter_mut().filter_map(|part| match part {
            Part::Step(step) => Some(step),
            Part::Text(_) => None,
        })
    }

    /// Returns its text.
    pub(super) fn text(&self) -> String {
        let lines = self.0.iter().map(|part| match part {
            Part::Text(line) => format!("{line}\n"),
            Part::Step(step) => {
                let command = format!("{}{PROMPT}{}", step.host, step.command);
                let lines = std::iter::once(&command).chain(&step.shown);
                lines.flat_map(|line| [line, "\n"]).collect()
            }
        });
        lines.collect()
    }
}

/// Returns host and command of a line, if it is one with a command.
fn command(line: &str) -> Option<(&str, &str)> {
    let (host, command) = line.split_once(PROMPT)?;
    let is_name = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_name.then_some((host, command))
}

#[test]
fn a_page_is_taken_apart_and_put_together() {
    let text = "# T\n\n```text\nno# c\n```\n\n```console\nm# a -b\none\n# two\ng# c\n```\n\n\
         <!-- console\nm# d\n…\n-->\nend\n";
    let mut page = Page::parse(text);
    assert_eq!(page.text(), text);
    let steps: Vec<_> = page.steps_mut().collect();
    let [first, second, third] = &steps[..] else {
        panic!("{steps:?}")
    };
    assert_eq!(
        (first.line, &*first.host, &*first.command),
        (8, "m", "a -b")
    );
    assert_eq!(first.shown, ["one", "# two"]);
    assert_eq!((&*second.host, second.shown.len()), ("g", 0));
    assert_eq!(
        (&*third.command, &third.shown[..]),
        ("d", &["…".to_owned()][..])
    );
}
