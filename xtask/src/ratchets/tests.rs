use std::fs;

use super::{Sizes, UNFINISHED, compare, measure, parse, run, sources};
use xtask::shell::{Failure, Shell};

/// Returns the findings of the rules in one file, with this list of exceptions.
fn findings(path: &str, text: &str, exceptions: &str) -> Vec<String> {
    let mut sizes = Sizes::new();
    measure(path, text, &mut sizes);
    compare(&sizes, &parse(exceptions).unwrap())
}

fn function_of(lines: usize) -> String {
    format!("fn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2))
}

#[test]
fn what_is_within_every_limit_passes() {
    let text = format!("// {}\n{}", "x".repeat(117), function_of(70));
    assert_eq!(findings("base/a.rs", &text, ""), [""; 0]);
}

#[test]
fn a_long_function_is_found_with_its_name_and_line() {
    let text = format!("\n{}", function_of(71));
    let expected = "base/a.rs::long (line 2): 71 lines in a function; at most 70";
    assert_eq!(findings("base/a.rs", &text, ""), [expected]);
}

#[test]
fn a_long_file_is_found() {
    let found = findings("base/a.rs", &"mod a;\n".repeat(501), "");
    assert_eq!(
        found,
        ["base/a.rs (line 1): 501 lines in a file; at most 500"]
    );
}

#[test]
fn a_wide_line_and_a_tab_are_found() {
    let text = format!("mod a;\n// {}\n\tmod b;\n", "x".repeat(118));
    let found = findings("base/a.rs", &text, "");
    assert_eq!(
        found[0],
        "base/a.rs (line 2): 121 columns in a line; at most 120"
    );
    assert_eq!(
        found[1],
        "base/a.rs (line 3): 1 control characters (tabs too); at most 0"
    );
}

#[test]
fn unfinished_work_is_found_in_comments_too() {
    for word in UNFINISHED {
        let found = findings("base/a.rs", &format!("// {word}: later\n"), "");
        assert_eq!(
            found,
            ["base/a.rs (line 1): 1 notes of unfinished work; at most 0"]
        );
    }
}

#[test]
fn banned_code_is_found_in_code_alone() {
    let text = "// unsafe dbg!\nfn a() {\n    dbg!(\"unsafe\");\n}\n";
    let found = findings("base/a.rs", text, "");
    assert_eq!(found, ["base/a.rs (line 3): 1 debugging prints; at most 0"]);
}

#[test]
fn unsafe_code_has_one_home() {
    let text = "unsafe fn a() {}\nunsafe fn b() {}\n";
    assert_eq!(findings("live/edges/src/a.rs", text, ""), [""; 0]);
    let found = findings("live/runtime/src/a.rs", text, "");
    assert!(found[0].contains("2 uses of unsafe outside live/edges"));
}

#[test]
fn an_exception_excuses_its_own_size_and_no_more() {
    let list = "# a reason\nfunction 80 base/a.rs::long # another\n";
    assert_eq!(findings("base/a.rs", &function_of(80), list), [""; 0]);
    let grown = findings("base/a.rs", &function_of(81), list);
    assert_eq!(
        grown,
        ["base/a.rs::long (line 1): 81 lines in a function; at most 80"]
    );
}

#[test]
fn an_exception_must_follow_what_it_excuses_down() {
    let list = "function 80 base/a.rs::long";
    let entry = "xtask/ratchets.txt: 'function 80 base/a.rs::long'";
    let shrunk = findings("base/a.rs", &function_of(75), list);
    assert_eq!(shrunk, [format!("{entry} may shrink; write 75")]);
    let stale = [format!("{entry} is no longer needed; remove it")];
    assert_eq!(findings("base/a.rs", &function_of(70), list), stale);
    assert_eq!(findings("base/b.rs", &function_of(70), list), stale);
}

#[test]
fn an_exception_that_cannot_be_read_is_named_with_its_line() {
    for entry in [
        "function base/a.rs",
        "functions 80 base/a.rs",
        "file many base/a.rs",
    ] {
        let error = parse(&format!("\n{entry}\n")).unwrap_err();
        assert!(
            error.starts_with("xtask/ratchets.txt:2: cannot read"),
            "{error}"
        );
    }
}

#[test]
fn a_violation_planted_in_a_tree_fails_the_step() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let shell = Shell::quiet(folder.path());
    write("xtask/ratchets.txt", "");
    write("base/src/lib.rs", "fn a() {}\n");
    write("target/debug/generated.rs", &function_of(200));
    write(".hidden/a.rs", &function_of(200));
    assert_eq!(sources(folder.path()).unwrap(), ["base/src/lib.rs"]);
    assert_eq!(run(&shell).unwrap().note, "1 files, 0 exceptions");

    write("base/src/planted.rs", &function_of(200));
    let Err(Failure::Found(found)) = run(&shell) else {
        panic!("the planted function was not found");
    };
    assert!(found.contains("base/src/planted.rs::long"));
}
