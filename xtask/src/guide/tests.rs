use std::fs;

use super::check;
use super::page::Page;
use xtask::shell::Shell;

/// Returns the findings in a repository of these files, by path and text.
fn findings(files: &[(&str, &str)]) -> Vec<String> {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let result = check(root.path());
    let text = result.map_or_else(|failure| failure.to_string(), |_| String::new());
    text.lines().map(Into::into).collect()
}

const SUMMARY: (&str, &str) = (
    "docs/SUMMARY.md",
    "- [A](guide/a.md)\n- [Terms](terms.md)\n",
);
const TERMS: (&str, &str) = (
    "docs/terms.md",
    "# Terms\n\n## A `hop`, or two\n\n## Hop\n\n## Hop\n",
);

#[test]
fn pages_in_the_summary_with_links_that_lead_somewhere_pass() {
    let a = "![p](../p.svg) [b](../terms.md#a-hop-or-two), [c](#here)\n\n[d](../terms.md#hop-1)\n\n# Here\n\n\
             [web](https://lasthop.example/x.md)\n\n```\n[code](nowhere.md)\n```\n";
    let readme = "[the guide](docs/guide/), [a](docs/guide/a.md#here)";
    let files = [
        SUMMARY,
        TERMS,
        ("docs/guide/a.md", a),
        ("docs/p.svg", ""),
        ("README.md", readme),
    ];
    assert_eq!(findings(&files), [""; 0]);
}

#[test]
fn a_page_that_the_summary_lacks_or_names_twice_is_found() {
    let twice = "- [A](guide/a.md)\n- [A](guide/a.md)\n";
    let files = [("docs/SUMMARY.md", twice), TERMS, ("docs/guide/a.md", "")];
    let expected = [
        "docs/SUMMARY.md names more than once docs/guide/a.md",
        "docs/SUMMARY.md does not name docs/terms.md",
    ];
    assert_eq!(findings(&files), expected);
}

#[test]
fn a_link_that_leads_nowhere_is_found_with_its_line() {
    let a = "\n[1](b.md)\n[2](../terms.md#none)\n[3](#none)\n[4](../../README.md)\n[5](../guide)\n[6](../../../x)\n";
    let readme = "![7](docs/p.svg)";
    let files = [
        SUMMARY,
        TERMS,
        ("docs/guide/a.md", a),
        ("README.md", readme),
    ];
    let expected = [
        "README.md:1: there is no file docs/p.svg",
        "docs/guide/a.md:2: there is no file docs/guide/b.md",
        "docs/guide/a.md:3: docs/terms.md has no heading #none",
        "docs/guide/a.md:4: docs/guide/a.md has no heading #none",
        "docs/guide/a.md:5: README.md is not in the book",
        "docs/guide/a.md:6: docs/guide is not in the book",
        "docs/guide/a.md:7: there is no file ../x",
    ];
    assert_eq!(findings(&files), expected);
}

#[test]
fn a_summary_that_names_no_file_and_a_missing_summary_are_found() {
    let expected = ["docs/SUMMARY.md:1: there is no file docs/guide/a.md"];
    assert_eq!(findings(&[SUMMARY, TERMS]), expected);
    assert_eq!(findings(&[TERMS]), ["there is no docs/SUMMARY.md"]);
}

#[test]
fn a_link_in_a_table_or_a_reference_is_a_link() {
    let page = Page::parse("| a |\n|---|\n| [x](x.md) |\n\n[y][z]\n\n[z]: z.md\n");
    let targets: Vec<_> = page.links.iter().map(|link| &*link.target).collect();
    assert_eq!(targets, ["x.md", "z.md"]);
}

#[test]
fn the_pages_of_this_repository_pass() {
    check(&Shell::new(false).root).unwrap();
}
