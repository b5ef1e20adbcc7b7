//! A process's changes of the system are reverted when it ends, or when the next one starts after a crash.

use std::fs;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use edges::namespace::Namespace;
use edges::nat::Masquerade;
use edges::netlink::{IpVersion, MAIN_TABLE, Netlink, Route, RouteKind, Rule};
use edges::sysctl;
use edges::undo::standing::{self, Change};
use edges::undo::{UndoError, UndoLog, UndoStep};

use crate::support::{net, privileged};

/// Returns the state of the namespace, for comparison.
fn state() -> (Vec<String>, Vec<Route>, Vec<Rule>, String) {
    let mut netlink = Netlink::open().unwrap();
    let links = netlink
        .links()
        .unwrap()
        .into_iter()
        .map(|link| link.name)
        .collect();
    let routes = netlink.routes(MAIN_TABLE).unwrap();
    (
        links,
        routes,
        netlink.rules().unwrap(),
        sysctl::read("net/ipv4/ip_forward").unwrap(),
    )
}

/// Makes every kind of change except address translation.
fn change_everything(log: &mut UndoLog) {
    log.create_veth("near", "far").unwrap();
    log.add_address("near", net("10.1.0.1/24")).unwrap();
    log.netlink().set_up("near").unwrap();
    log.netlink().set_up("far").unwrap();
    log.add_route(&Route::to(net("10.2.0.0/16")).through("near"))
        .unwrap();
    log.add_route(&Route::to(net("10.3.0.0/16")).through("lo"))
        .unwrap();
    log.add_rule(&Rule {
        mark: Some(1),
        ..Rule::to_table(IpVersion::V4, 100)
    })
    .unwrap();
    log.set_sysctl("net/ipv4/ip_forward", "1").unwrap();
    log.set_sysctl("net/ipv4/ip_forward", "1").unwrap();
}

fn in_new_namespace(test: impl FnOnce(&Path) + Send) {
    if !privileged() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    Namespace::create()
        .unwrap()
        .run(|| test(folder.path()))
        .unwrap();
}

fn undo_file(folder: &Path) -> PathBuf {
    let inode = Namespace::current().unwrap().id().inode;
    folder.join(format!("test-{inode}.undo"))
}

/// Makes the file that of a killed process: no process has its number.
fn crash(log: UndoLog, file: &Path) {
    let text = fs::read_to_string(file).unwrap();
    let own = format!("\"pid\":{}", std::process::id());
    assert!(text.contains(&own), "{text}");
    fs::write(file, text.replace(&own, "\"pid\":4294967295")).unwrap();
    std::mem::forget(log);
}

#[test]
fn everything_is_taken_back_on_undo_and_on_drop() {
    in_new_namespace(|folder| {
        let before = state();
        for explicit in [true, false] {
            let (mut log, recoveries) = UndoLog::open(folder, "test").unwrap();
            assert!(recoveries.is_empty());
            change_everything(&mut log);
            assert_eq!(log.steps().count(), 6);
            assert_ne!(state(), before);
            if explicit {
                log.undo().unwrap();
            } else {
                drop(log);
            }
            assert_eq!(state(), before);
            assert!(!undo_file(folder).exists());
        }
    });
}

#[test]
fn the_next_start_undoes_what_a_killed_process_left() {
    in_new_namespace(|folder| {
        let before = state();
        let (mut log, _) = UndoLog::open(folder, "test").unwrap();
        change_everything(&mut log);
        crash(log, &undo_file(folder));
        assert_ne!(state(), before);
        // Any instance recovers.
        let (log, recoveries) = UndoLog::open(folder, "other").unwrap();
        assert_eq!(state(), before);
        assert_eq!(recoveries.len(), 1);
        assert_eq!((recoveries[0].undone, recoveries[0].warnings.len()), (6, 0));
        assert!(!undo_file(folder).exists());
        drop(log);
    });
}

fn tables() -> String {
    let listed = Command::new("nft").args(["list", "tables"]).output();
    String::from_utf8(listed.unwrap().stdout).unwrap()
}

/// Without a table, this host itself would answer segments for the addresses that it translates.
#[test]
fn tables_of_a_killed_process_stand_until_its_successor_has_its_own() {
    in_new_namespace(|folder| {
        let [kept, old] = ["kept", "old"].map(|instance| Masquerade {
            instance: instance.into(),
            inner_link: "near".into(),
            ipv4: vec!["10.7.0.0/24".parse().unwrap()],
            ipv6: Vec::new(),
        });
        let (mut log, _) = UndoLog::open(folder, "test").unwrap();
        log.install_nat(&kept).unwrap();
        log.install_nat(&old).unwrap();
        crash(log, &undo_file(folder));
        let (mut log, _) = UndoLog::open(folder, "test").unwrap();
        assert!(tables().contains("lasthop_kept") && tables().contains("lasthop_old"));
        log.install_nat(&kept).unwrap();
        log.remove_left_tables().unwrap();
        assert!(tables().contains("lasthop_kept") && !tables().contains("lasthop_old"));
        crash(log, &undo_file(folder));
        // Nothing of another instance stays.
        let (_log, _) = UndoLog::open(folder, "other").unwrap();
        assert_eq!(tables(), "");
    });
}

/// Not a test: the process that [`kill_9_leaves_nothing_for_long`] kills.
#[test]
#[ignore = "started by another test"]
fn changes_everything_and_waits() {
    let folder = std::env::var_os("UNDO_FOLDER").unwrap();
    let (mut log, _) = UndoLog::open(Path::new(&folder), "test").unwrap();
    change_everything(&mut log);
    println!("\nready");
    std::thread::park();
}

#[test]
fn kill_9_leaves_nothing_for_long() {
    in_new_namespace(|folder| {
        let before = state();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "undo::changes_everything_and_waits",
                "--exact",
                "--ignored",
                "--nocapture",
            ])
            .env("UNDO_FOLDER", folder)
            .stdout(Stdio::piped());
        let mut child = Namespace::current().unwrap().spawn(command).unwrap();
        let output = std::io::BufReader::new(child.stdout.take().unwrap());
        assert!(output.lines().any(|line| line.unwrap() == "ready"));
        let refused = UndoLog::open(folder, "test").err().unwrap();
        assert!(matches!(refused, UndoError::Running { pid, .. } if pid == child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_ne!(state(), before);
        let (_log, recoveries) = UndoLog::open(folder, "test").unwrap();
        assert_eq!(state(), before);
        assert_eq!((recoveries[0].undone, recoveries[0].warnings.len()), (6, 0));
    });
}

#[test]
fn a_living_process_keeps_its_changes_and_its_name() {
    in_new_namespace(|folder| {
        let (mut log, _) = UndoLog::open(folder, "test").unwrap();
        change_everything(&mut log);
        let during = state();
        let refused = UndoLog::open(folder, "test").err().unwrap();
        assert!(matches!(refused, UndoError::Running { pid, .. } if pid == std::process::id()));
        let (other, recoveries) = UndoLog::open(folder, "other").unwrap();
        assert!(recoveries.is_empty());
        drop(other);
        assert_eq!(state(), during);
    });
}

#[test]
fn a_torn_file_warns_with_its_path_and_its_whole_steps_are_taken() {
    in_new_namespace(|folder| {
        let before = state();
        let (mut log, _) = UndoLog::open(folder, "test").unwrap();
        change_everything(&mut log);
        let file = undo_file(folder);
        crash(log, &file);
        let mut bytes = fs::read(&file).unwrap();
        bytes.extend(b"{\"step\":{\"do\":\"delete_li");
        bytes.extend([0xff, 0, 0xfe]);
        fs::write(&file, bytes).unwrap();
        let (_log, recoveries) = UndoLog::open(folder, "test").unwrap();
        assert_eq!(state(), before);
        assert_eq!(recoveries[0].undone, 6);
        let [warning] = &recoveries[0].warnings[..] else {
            panic!("{recoveries:?}")
        };
        assert!(warning.contains(file.to_str().unwrap()), "{warning}");
    });
}

#[test]
fn garbage_is_told_and_steps_that_fail_are_kept_for_the_end() {
    in_new_namespace(|folder| {
        let file = undo_file(folder);
        fs::write(&file, [0u8, 159, 146, 150, 10, 123, 125, 10]).unwrap();
        let (log, recoveries) = UndoLog::open(folder, "test").unwrap();
        assert_eq!((recoveries.len(), recoveries[0].undone), (1, 0));
        assert!(!recoveries[0].warnings.is_empty());
        drop(log);

        // A recovery must not be led out of /proc/sys.
        let evil = r#"{"step":{"do":"restore_sysctl","name":"net/../../../tmp/x","value":"1"}}"#;
        fs::write(&file, evil).unwrap();
        let (log, recoveries) = UndoLog::open(folder, "test").unwrap();
        assert_eq!(recoveries[0].undone, 0);
        assert_eq!(log.steps().count(), 1);
        assert!(matches!(log.undo(), Err(UndoError::Incomplete { .. })));
        assert!(file.exists());
        fs::remove_file(&file).unwrap();
    });
}

#[test]
fn a_change_that_fails_is_not_undone_later() {
    in_new_namespace(|folder| {
        let mut netlink = Netlink::open().unwrap();
        netlink.create_veth("near", "far").unwrap();
        let (mut log, _) = UndoLog::open(folder, "test").unwrap();
        assert!(log.create_veth("near", "far").is_err());
        log.undo().unwrap();
        assert!(netlink.link("near").is_ok(), "another's link was deleted");
    });
}

#[test]
fn a_step_can_be_taken_early_and_only_once() {
    in_new_namespace(|folder| {
        let (mut log, _) = UndoLog::open(folder, "test").unwrap();
        let route = Route::to(net("10.3.0.0/16")).through("lo");
        log.add_route(&route).unwrap();
        let step = UndoStep::RemoveRoute {
            route: route.clone(),
        };
        log.take_step(&step).unwrap();
        assert_eq!(log.steps().count(), 0);
        log.netlink().add_route(&route).unwrap();
        log.take_step(&step).unwrap();
        log.undo().unwrap();
        assert!(
            Netlink::open()
                .unwrap()
                .routes(MAIN_TABLE)
                .unwrap()
                .contains(&route)
        );
    });
}

#[test]
fn a_folder_that_others_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    in_new_namespace(|folder| {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(
            UndoLog::open(folder, "test"),
            Err(UndoError::UnsafeFolder(_))
        ));
        let deep = folder.join("a/b");
        assert!(matches!(
            UndoLog::open(&deep, "../x"),
            Err(UndoError::InvalidInstance(_))
        ));
        let (_log, _) = UndoLog::open(&deep, "test").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&deep), mode(&undo_file(&deep))), (0o755, 0o600));
    });
}

/// A helper takes the changes back in place of their maker, and leaves them alone if another one has done so.
#[test]
fn a_log_that_was_handed_over_is_undone_once() {
    in_new_namespace(|folder| {
        let before = state();
        let (mut log, _) = UndoLog::open(folder, "test").unwrap();
        change_everything(&mut log);
        let path = log.path().to_owned();
        let taken = UndoLog::take_over(&path).unwrap();
        let late = UndoLog::take_over(&path).unwrap();
        log.hand_over();
        assert_ne!(state(), before, "nothing is undone by handing over");
        let mut calls = 0;
        taken.undo_own(|| calls += 1).unwrap();
        assert_eq!((state(), calls), (before.clone(), 1));
        assert!(!path.exists());

        // The file of the next process is not ours.
        let (mut next, _) = UndoLog::open(folder, "test").unwrap();
        next.set_sysctl("net/ipv4/ip_forward", "1").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let own = format!("\"pid\":{}", std::process::id());
        fs::write(&path, text.replace(&own, "\"pid\":4294967295")).unwrap();
        late.undo_own(|| panic!("it belongs to another one"))
            .unwrap();
        assert_ne!(state(), before);
        drop(next);
        assert_eq!(state(), before);
    });
}

fn unreachable(destination: &str) -> Change {
    let route = Route {
        kind: RouteKind::Unreachable,
        ..Route::to(net(destination))
            .in_table(100)
            .with_metric(u32::MAX)
    };
    Change::Route(route)
}

fn rule_to(version: IpVersion) -> Change {
    Change::Rule(Rule {
        priority: Some(32_000),
        ..Rule::to_table(version, 100)
    })
}

#[test]
fn standing_changes_outlive_their_maker_until_they_are_lifted() {
    in_new_namespace(|folder| {
        let rules = || Netlink::open().unwrap().rules().unwrap();
        let routes = || Netlink::open().unwrap().routes(100).unwrap();
        let before = (rules(), routes());
        let both = [
            unreachable("0.0.0.0/0"),
            unreachable("::/0"),
            rule_to(IpVersion::V6),
        ];
        standing::stand(folder, "test", &both).unwrap();
        let made = (rules(), routes());
        assert_eq!((made.0.len(), made.1.len()), (before.0.len() + 1, 2));
        // A log of the same instance neither finds nor takes them, and a repetition changes nothing.
        let (log, recoveries) = UndoLog::open(folder, "test").unwrap();
        assert!(recoveries.is_empty());
        log.undo().unwrap();
        standing::stand(folder, "test", &both).unwrap();
        assert_eq!((rules(), routes()), made);
        // Others take their place; one that cannot be made leaves all as it was.
        standing::stand(folder, "test", &[both[1].clone()]).unwrap();
        assert_eq!((rules().len(), routes().len()), (before.0.len(), 1));
        let impossible = Change::Route(Route::to(net("10.9.0.0/16")).through("nowhere"));
        let refused = standing::stand(folder, "test", &[rule_to(IpVersion::V4), impossible]);
        assert!(refused.is_err());
        assert_eq!((rules().len(), routes().len()), (before.0.len(), 1));
        // Those of a living process are not abandoned.
        let (log, _) = UndoLog::open(folder, "test").unwrap();
        assert!(standing::lift_abandoned(folder).unwrap().is_empty());
        drop(log);
        let lifted = standing::lift_abandoned(folder).unwrap();
        assert_eq!((lifted.len(), lifted[0].undone), (1, 1));
        assert_eq!((rules(), routes()), before);
        assert_eq!(standing::lift(folder, "test").unwrap(), 0);
    });
}

/// A log of a process that runs for months does not grow without end.
#[test]
fn a_long_log_is_shortened() {
    in_new_namespace(|folder| {
        let (mut log, _) = UndoLog::open(folder, "test").unwrap();
        let route = Route::to(net("10.3.0.0/16")).through("lo");
        let rule = |mark| Rule {
            mark: Some(mark),
            ..Rule::to_table(IpVersion::V4, 100)
        };
        log.netlink().set_up("lo").unwrap();
        log.add_route(&route).unwrap();
        for mark in 1..600 {
            log.add_rule(&rule(mark)).unwrap();
            log.take_step(&UndoStep::RemoveRule { rule: rule(mark) })
                .unwrap();
        }
        let lines = fs::read_to_string(undo_file(folder))
            .unwrap()
            .lines()
            .count();
        assert!(lines < 600, "{lines}");
        assert_eq!(log.steps().count(), 1);
        log.add_rule(&rule(1)).unwrap();
        crash(log, &undo_file(folder));
        let (log, recoveries) = UndoLog::open(folder, "test").unwrap();
        assert_eq!((recoveries[0].undone, recoveries[0].warnings.len()), (2, 0));
        log.undo().unwrap();
    });
}
