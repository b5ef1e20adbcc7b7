use super::{Function, code_only, functions, words};

fn sizes(text: &str) -> Vec<(String, usize, usize)> {
    let tuple = |Function { name, line, lines }| (name, line, lines);
    functions(&code_only(text)).into_iter().map(tuple).collect()
}

#[test]
fn comments_and_literals_become_blanks_of_the_same_lines() {
    let text = "a /* b /* c */ d\n */ e // f\ng \"h \\\" i\" j 'k' l '\\'' m";
    let code = code_only(text);
    let left: Vec<_> = words(&code).map(|(_, word)| word).collect();
    assert_eq!(left, ["a", "e", "g", "j", "l", "m"]);
    assert_eq!(code.lines().count(), text.lines().count());
}

#[test]
fn raw_strings_end_at_their_own_mark() {
    let code = code_only(r###"a r#"b " c"# d br"\" e r##"f "# g"## h"###);
    let left: Vec<_> = words(&code).map(|(_, word)| word).collect();
    assert_eq!(left, ["a", "d", "e", "h"]);
}

#[test]
fn lifetimes_and_raw_names_are_code() {
    let code = code_only("fn f<'a>(x: &'a str, r#type: char) { g('\"', x) }");
    assert_eq!(code, "fn f<'a>(x: &'a str, r#type: char) { g(   , x) }");
}

#[test]
fn a_literal_without_end_reaches_to_the_end() {
    for text in ["\"a", "/* a", "r#\"a\"", "'\\", "// a", "'"] {
        assert_eq!(code_only(text).len(), text.len(), "{text}");
    }
}

#[test]
fn a_function_reaches_from_its_name_to_its_closing_brace() {
    let text = "/// fn nothing() {}\npub fn one() {\n    \"}\";\n}\n\nfn two() {}\n";
    assert_eq!(sizes(text), [("one".into(), 2, 3), ("two".into(), 6, 1)]);
}

#[test]
fn inner_functions_are_counted_by_themselves_too() {
    let text = "fn outer(\n    x: [u8; 4],\n) -> u8 {\n    fn inner() {\n    }\n    if x { 1 } else { 2 }\n}\n";
    assert_eq!(
        sizes(text),
        [("outer".into(), 1, 7), ("inner".into(), 4, 2)]
    );
}

#[test]
fn declarations_types_and_macros_have_no_body() {
    let text =
        "trait T { fn a(&self) -> [u8; 4]; }\ntype F = fn(u8) -> u8;\nmacro! { fn $name() {} }";
    assert_eq!(sizes(text), []);
}
