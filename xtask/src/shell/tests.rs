use std::process::Command;

use super::{Failure, Shell};

fn run(script: &str) -> Result<String, Failure> {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Shell::new(false).run(command)
}

#[test]
fn both_outputs_are_kept_in_their_order() {
    let output = run("echo one; echo two >&2; printf three").unwrap();
    assert_eq!(output, "one\ntwo\nthree\n");
}

#[test]
fn a_program_that_fails_leaves_its_output() {
    let Err(Failure::Exit { how, output, .. }) = run("echo why; exit 3") else {
        panic!("the failure was not seen");
    };
    assert_eq!((how.as_str(), output.as_str()), ("exit status: 3", "why\n"));
}

#[test]
fn bytes_that_are_no_text_do_not_stop_a_run() {
    assert_eq!(run(r"printf '\377\nnext\n'").unwrap(), "\u{fffd}\nnext\n");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let failure = Shell::new(false).run(Command::new("no-such-program-of-ours"));
    let message = failure.unwrap_err().to_string();
    assert!(
        message.starts_with("cannot run `no-such-program-of-ours`:"),
        "{message}"
    );
}
