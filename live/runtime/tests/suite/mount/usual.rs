//! Everyday operations of programs.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::process::Command;

use machine::RandomStream;

use super::rig::{Rig, Setup};

/// Returns bytes that no other block has.
fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; length];
    RandomStream::named(seed, "content").fill(&mut bytes);
    bytes
}

#[test]
fn content_arrives_as_it_was_written() {
    let Some(rig) = Rig::usual() else { return };
    let content = bytes(3_000_001, 1);
    fs::write(rig.path("file"), &content).unwrap();
    assert_eq!(
        rig.served.lock().stored("file").unwrap(),
        content,
        "closing makes it safe"
    );
    assert!(fs::read(rig.path("file")).unwrap() == content);
    let file = File::open(rig.path("file")).unwrap();
    let mut part = vec![0; 70_000];
    file.read_exact_at(&mut part, 1_234_567).unwrap();
    assert!(part[..] == content[1_234_567..1_304_567]);
    assert_eq!(file.read_at(&mut part, 3_000_001).unwrap(), 0);
}

#[test]
fn files_change_in_the_middle_and_at_their_ends() {
    let Some(rig) = Rig::usual() else { return };
    let path = rig.path("file");
    fs::write(&path, b"0123456789").unwrap();
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    file.seek(SeekFrom::Start(3)).unwrap();
    file.write_all(b"abc").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"012abc6789");
    file.set_len(5).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"012ab");
    file.set_len(8).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"012ab\0\0\0");
    let mut end = OpenOptions::new().append(true).open(&path).unwrap();
    end.write_all(b"+").unwrap();
    file.write_at(b"-", 9).unwrap();
    end.write_all(b"++").unwrap();
    drop((end, file));
    assert_eq!(fs::read(&path).unwrap(), b"012ab\0\0\0+-++");
    fs::write(&path, b"shorter").unwrap();
    assert_eq!(rig.served.lock().stored("file").unwrap(), b"shorter");
}

#[test]
fn another_clients_lines_are_not_overwritten_by_appending() {
    let Some(rig) = Rig::new(Setup::without_memory()) else {
        return;
    };
    let path = rig.path("log");
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .unwrap();
    file.write_all(b"ours\n").unwrap();
    file.sync_all().unwrap();
    rig.written_by_another("log", b"theirs is longer\n");
    // The kernel writes at the end of the file that it knows.
    file.write_all(b"ours again\n").unwrap();
    drop(file);
    assert_eq!(fs::read(&path).unwrap(), b"theirs is longer\nours again\n");
}

#[test]
fn names_are_made_moved_and_removed() {
    let Some(rig) = Rig::usual() else { return };
    fs::create_dir_all(rig.path("a/b")).unwrap();
    fs::write(rig.path("a/b/file"), b"content").unwrap();
    fs::hard_link(rig.path("a/b/file"), rig.path("a/second")).unwrap();
    let (first, second) = (
        fs::metadata(rig.path("a/b/file")).unwrap(),
        fs::metadata(rig.path("a/second")).unwrap(),
    );
    assert_eq!((first.ino(), first.nlink()), (second.ino(), 2));
    symlink("b/file", rig.path("a/link")).unwrap();
    assert_eq!(fs::read(rig.path("a/link")).unwrap(), b"content");
    assert_eq!(
        fs::read_link(rig.path("a/link")).unwrap().to_str(),
        Some("b/file")
    );
    fs::rename(rig.path("a/b"), rig.path("c")).unwrap();
    assert_eq!(fs::read(rig.path("c/file")).unwrap(), b"content");
    let kinds = [
        (
            fs::remove_dir(rig.path("c")).unwrap_err().kind(),
            ErrorKind::DirectoryNotEmpty,
        ),
        (
            fs::create_dir(rig.path("c")).unwrap_err().kind(),
            ErrorKind::AlreadyExists,
        ),
        (
            fs::read(rig.path("a/link")).unwrap_err().kind(),
            ErrorKind::NotFound,
        ),
        (
            fs::metadata(rig.path("a/second/x")).unwrap_err().kind(),
            ErrorKind::NotADirectory,
        ),
        (
            File::create(rig.path(&"n".repeat(256))).unwrap_err().kind(),
            ErrorKind::InvalidFilename,
        ),
    ];
    for (is, wanted) in kinds {
        assert_eq!(is, wanted);
    }
    fs::remove_dir_all(rig.path("a")).unwrap();
    assert_eq!(fs::read_dir(rig.point()).unwrap().count(), 1);
}

#[test]
fn attributes_are_kept() {
    let Some(rig) = Rig::usual() else { return };
    let path = rig.path("file");
    let file = File::create_new(&path).unwrap();
    assert_eq!(
        File::create_new(&path).unwrap_err().kind(),
        ErrorKind::AlreadyExists
    );
    fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    std::os::unix::fs::chown(&path, Some(1_000), Some(1_001)).unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::new(1_111_111_111, 222_222_222);
    file.set_modified(time).unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!(metadata.mode(), 0o100_640);
    assert_eq!((metadata.uid(), metadata.gid()), (1_000, 1_001));
    assert_eq!(metadata.modified().unwrap(), time);
    assert!(Command::new("touch").arg(&path).status().unwrap().success());
    let seconds = fs::metadata(&path).unwrap().mtime();
    // By the server's clock, which is decades before ours.
    assert!(
        (1_000_000_000..1_100_000_000).contains(&seconds),
        "{seconds}"
    );
    let root = fs::metadata(rig.point()).unwrap();
    assert!(root.is_dir() && root.ino() != 0);
}

#[test]
fn a_file_that_is_open_can_be_removed() {
    let Some(rig) = Rig::usual() else { return };
    let path = rig.path("file");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .unwrap();
    file.write_all(b"still here").unwrap();
    fs::remove_file(&path).unwrap();
    assert!(!path.exists());
    file.write_all(b", and more").unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let mut content = String::new();
    file.read_to_string(&mut content).unwrap();
    assert_eq!(content, "still here, and more");
}

#[test]
fn large_directories_are_listed_whole() {
    let Some(rig) = Rig::usual() else { return };
    for number in 0..1_000 {
        rig.served
            .lock()
            .add_file(&format!("many/a file with a longer name {number}"), b"x")
            .unwrap();
    }
    for _ in 0..2 {
        let mut names: Vec<_> = fs::read_dir(rig.path("many"))
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name(), entry.file_type().unwrap().is_file()))
            .collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 1_000);
        assert!(names.iter().all(|(_, is_file)| *is_file));
    }
    let nodes = rig.system.waiting().nodes;
    assert!(nodes <= 1_010, "{nodes} nodes for 1,002 files");
    fs::remove_dir_all(rig.path("many")).unwrap();
    assert_eq!(fs::read_dir(rig.point()).unwrap().count(), 0);
}

#[test]
fn what_servers_have_not_is_refused_as_usual() {
    let Some(rig) = Rig::usual() else { return };
    let file = File::create(rig.path("file")).unwrap();
    let errno = rustix::io::Errno::OPNOTSUPP;
    let flags = rustix::fs::FallocateFlags::empty();
    assert_eq!(rustix::fs::fallocate(&file, flags, 0, 10), Err(errno));
    let set = rustix::fs::setxattr(
        rig.path("file"),
        "user.x",
        b"1",
        rustix::fs::XattrFlags::empty(),
    );
    assert_eq!(set, Err(errno));
    let space = rustix::fs::statvfs(rig.point()).unwrap();
    assert_eq!(space.f_blocks * space.f_frsize, 256 << 20);
    assert_eq!(space.f_namemax, 255);
}

#[test]
fn programs_that_are_there_anyway_work() {
    let Some(rig) = Rig::usual() else { return };
    let script = "set -e
        mkdir -p source/x/y
        for i in 1 2 3 4 5 6 7 8; do seq $((i * 1000)) > source/x/y/file$i; done
        ln -s file1 source/x/y/link
        tar cf all.tar source
        mkdir copy
        tar xf all.tar -C copy
        diff -r source copy/source
        cp -a source second
        mv second third
        echo one >> third/x/y/file1
        test $(wc -l < third/x/y/file1) = 1001
        sed -i s/1/one/ third/x/y/file1
        rm -r source copy third all.tar
        test -z \"$(ls -A)\"";
    let outcome = Command::new("sh")
        .arg("-c")
        .arg(script)
        .current_dir(rig.point())
        .output()
        .unwrap();
    assert!(
        outcome.status.success(),
        "{}",
        String::from_utf8_lossy(&outcome.stderr)
    );
}

#[test]
fn locks_hold_on_this_host() {
    use rustix::fs::{FlockOperation, fcntl_lock, flock};
    let Some(rig) = Rig::usual() else { return };
    let first = File::create(rig.path("file")).unwrap();
    let second = File::open(rig.path("file")).unwrap();
    flock(&first, FlockOperation::LockExclusive).unwrap();
    let refused = flock(&second, FlockOperation::NonBlockingLockExclusive);
    assert_eq!(refused, Err(rustix::io::Errno::WOULDBLOCK));
    flock(&first, FlockOperation::Unlock).unwrap();
    flock(&second, FlockOperation::NonBlockingLockExclusive).unwrap();
    fcntl_lock(&first, FlockOperation::NonBlockingLockExclusive).unwrap();
}

#[test]
fn new_empty_files_have_the_time_of_their_making() {
    let Some(rig) = Rig::usual() else { return };
    let reference = rig.path("reference");
    fs::write(&reference, b"x").unwrap();
    let (before, exclusive) = (fs::metadata(&reference).unwrap(), rig.path("exclusive"));
    File::create_new(&exclusive).unwrap();
    let made = fs::metadata(&exclusive).unwrap();
    let difference = made.mtime() - before.mtime();
    assert!((0..1_000).contains(&difference), "{difference} s later");
    assert!((0..1_000).contains(&(made.atime() - before.atime())));
}
