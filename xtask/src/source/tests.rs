use super::{code_only, functions, structs, words};

fn sizes(text: &str) -> Vec<(String, usize, usize)> {
    let functions = functions(&code_only(text)).into_iter();
    functions
        .map(|function| (function.name, function.line, function.lines))
        .collect()
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

/// Returns the number of parameters of the first function of a text, and of tuples among them.
fn parameters(text: &str) -> (usize, usize) {
    let function = &functions(&code_only(text))[0];
    (function.parameters, function.tuples)
}

#[test]
fn parameters_are_counted_and_tuples_among_them() {
    assert_eq!(parameters("fn f() {}"), (0, 0));
    assert_eq!(parameters("fn f(&mut self, a: u8,) {}"), (2, 0));
    let generic =
        "fn f<T: Fn(u8, u8) -> u8>(a: HashMap<u8, (u8, u8)>, b: impl Fn(u8, u8) -> (u8, u8)) {}";
    assert_eq!(parameters(generic), (2, 0));
    let tuples = "fn f((a, b): (u8, u8), c: &'a mut (u8, A::B), d: (), e: (u8), g: &(u8,)) {}";
    assert_eq!(parameters(tuples), (5, 3));
}

#[test]
fn the_fields_of_structs_are_counted() {
    let text = "struct A;\nstruct B(u8, u8);\nstruct C<'a, T: Fn(u8) -> u8> {\n    \
                pub(crate) a: (u8, &'a u8),\n    b: HashMap<u8, T>,\n}\nstruct D where u8: Copy {}";
    let found: Vec<_> = structs(&code_only(text))
        .into_iter()
        .map(|found| (found.name, found.line, found.fields))
        .collect();
    assert_eq!(found, [("C".into(), 3, 2), ("D".into(), 7, 0)]);
}

#[test]
fn formats_are_known_by_what_they_derive() {
    let text = "#[derive(Debug, Serialize)]\nstruct A {}\n/// Serialize\nstruct B {}";
    let found = structs(&code_only(text));
    assert_eq!([found[0].is_format, found[1].is_format], [true, false]);
}
