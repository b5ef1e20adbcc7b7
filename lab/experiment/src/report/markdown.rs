//! Markdown as HTML that fits into a page and loads nothing.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// Returns the text as HTML. Its headings are below those of the page, pictures become their descriptions, and HTML
/// within it is shown as text.
pub(super) fn to_html(text: &str) -> String {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
        Event::Start(Tag::Heading { level, .. }) => Some(Event::Start(Tag::Heading {
            level: lowered(level),
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        })),
        Event::End(TagEnd::Heading(level)) => Some(Event::End(TagEnd::Heading(lowered(level)))),
        other => Some(other),
    });
    let mut page = String::new();
    html::push_html(&mut page, events);
    page
}

fn lowered(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H4,
        HeadingLevel::H2 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

#[cfg(test)]
mod tests {
    use super::to_html;

    #[test]
    fn nothing_is_fetched_and_nothing_runs() {
        let html = to_html(
            "# A\n![a plot](https://example.org/a.png) <script>x</script> *b*\n\n|c|\n|-|\n|d|",
        );
        assert!(
            html.contains("<h4>A</h4>") && html.contains("<em>b</em>"),
            "{html}"
        );
        assert!(
            html.contains("a plot") && html.contains("<td>d</td>"),
            "{html}"
        );
        assert!(
            !html.contains("<script>") && !html.contains("src="),
            "{html}"
        );
    }
}
