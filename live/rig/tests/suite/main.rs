//! Processes of a rig; hosts and links are tested by all who build from them.

use std::process::Command;

use rig::Process;
use rustix::process::Signal;

fn shell(folder: &tempfile::TempDir, script: &str) -> Process {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Process::start(command, "shell", folder.path(), None).expect("there is a shell")
}

#[test]
fn a_process_that_has_ended_is_an_error_with_its_own_last_words() {
    let folder = tempfile::tempdir().unwrap();
    for words in ["first", "second"] {
        let mut process = shell(&folder, &format!("echo error: {words} >&2; exit 3"));
        assert_eq!(process.wait().unwrap().code(), Some(3));
        let reason = process.check().unwrap_err().to_string();
        assert_eq!(reason, format!("the shell has ended: {words}"));
    }
}

#[test]
fn a_process_outlives_the_thread_that_asked_for_it_and_ends_when_it_is_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = std::thread::scope(|scope| {
        let starter = scope.spawn(|| shell(&folder, "exec sleep 60"));
        starter.join().unwrap()
    });
    process.check().unwrap();
    assert!(process.usage().memory_peak.get() > 0);
    let status = process.end().unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    assert_eq!(signal, Some(Signal::TERM.as_raw()));
}
