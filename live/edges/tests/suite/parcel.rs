//! Parcels with sockets of the kernel.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use edges::parcel::{Parcel, pass};
use edges::process::allow_open_files;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::FdFlags;
use socket2::SockRef;

use crate::support::skip;

/// Time after which a test fails.
const LONG: Duration = Duration::from_secs(30);
/// Far more than a message carries.
const MANY: u64 = 5_000;

/// Returns both ends of a connection; the second one is reset when it is dropped.
fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    near.set_read_timeout(Some(LONG)).unwrap();
    SockRef::from(&far)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
    (near, far)
}

/// Returns files that can be told apart by [`number`].
fn numbered(count: u64) -> Vec<OwnedFd> {
    let file = |number| eventfd(number as u32 + 1, EventfdFlags::CLOEXEC).unwrap();
    (0..count).map(file).collect()
}

fn number(file: &OwnedFd) -> u64 {
    let mut bytes = [0; 8];
    rustix::io::read(file, &mut bytes).unwrap();
    u64::from_ne_bytes(bytes) - 1
}

fn assert_numbered(files: &[OwnedFd], count: u64) {
    assert!(files.iter().map(number).eq(0..count));
}

/// Fails if the connection has something to say: data, an end, or a reset.
fn assert_silent(stream: &TcpStream) {
    stream.set_nonblocking(true).unwrap();
    let error = (&mut &*stream).read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    stream.set_nonblocking(false).unwrap();
}

#[test]
fn connections_outlive_the_parcel_that_carries_them() {
    let mut ends = Vec::new();
    let mut files = Vec::new();
    for _ in 0..10 {
        let (near, mut far) = connection();
        far.write_all(b"before, ").unwrap();
        ends.push(near);
        files.push(far.into());
    }
    let state: Vec<u8> = (0..3_000_000_u32)
        .map(|index| (index % 251) as u8)
        .collect();
    let parcel = Parcel::pack(&state, files).unwrap();
    for (index, near) in ends.iter_mut().enumerate() {
        let mut bytes = [0; 8];
        near.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"before, ");
        assert_silent(near);
        near.write_all(format!("to {index}").as_bytes()).unwrap();
    }

    let (unpacked, files) = parcel.unpack().unwrap();
    assert!(unpacked == state);
    assert_eq!(files.len(), ends.len());
    for (index, (mut near, far)) in ends.into_iter().zip(files).enumerate() {
        assert!(
            rustix::io::fcntl_getfd(&far)
                .unwrap()
                .contains(FdFlags::CLOEXEC)
        );
        let mut far = TcpStream::from(far);
        let mut bytes = [0; 4];
        far.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, format!("to {index}").as_bytes());
        far.write_all(b"and after").unwrap();
        far.shutdown(std::net::Shutdown::Write).unwrap();
        let mut text = String::new();
        near.read_to_string(&mut text).unwrap();
        assert_eq!(text, "and after");
    }
}

#[test]
fn a_parcel_holds_thousands_of_files_in_their_order() {
    let needed = 2 * MANY + 1_000;
    let allowed = allow_open_files(needed).unwrap();
    if allowed < needed {
        skip(&format!("only {allowed} files may be open"));
        return;
    }
    let parcel = Parcel::pack(b"state", numbered(MANY)).unwrap();
    let (state, files) = parcel.unpack().unwrap();
    assert_eq!(state, b"state");
    assert_numbered(&files, MANY);
}

#[test]
fn a_parcel_may_be_empty_or_fill_its_messages() {
    for count in [0, 1, 249, 250, 251, 500] {
        let (state, files) = Parcel::pack(&[], numbered(count))
            .unwrap()
            .unpack()
            .unwrap();
        assert_eq!(state, b"");
        assert_numbered(&files, count);
    }
}

#[test]
fn connections_of_a_dropped_parcel_are_reset() {
    let (mut near, far) = connection();
    let parcel = Parcel::pack(b"state", vec![far.into()]).unwrap();
    assert_silent(&near);
    drop(parcel);
    let error = near.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

/// A supervisor takes a descriptor with an end or an error for one that is not needed any more.
#[test]
fn a_parcel_looks_open_until_it_is_unpacked() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let events = |parcel: &Parcel| {
        let mut polled = [PollFd::new(parcel, PollFlags::empty())];
        poll(&mut polled, Some(&Timespec::default())).unwrap();
        polled[0].revents()
    };
    let parcel = Parcel::pack(b"state", Vec::new()).unwrap();
    let copy = copy(&parcel);
    assert_eq!(events(&copy), PollFlags::empty());
    parcel.unpack().unwrap();
    assert!(events(&copy).contains(PollFlags::HUP));
}

#[test]
fn a_copy_of_a_parcel_that_was_unpacked_is_empty() {
    let parcel = Parcel::pack(b"state", numbered(3)).unwrap();
    let copy = copy(&parcel);
    parcel.unpack().unwrap();
    let error = copy.unpack().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    assert!(error.to_string().contains("unpacked before"), "{error}");
}

/// Returns a parcel with a copy of the descriptor, as a supervisor has it.
fn copy(parcel: &Parcel) -> Parcel {
    let (ours, theirs) = UnixStream::pair().unwrap();
    pass(&ours, &[0], &[parcel.as_fd()]).unwrap();
    Parcel::receive(&theirs).unwrap().unwrap()
}

#[test]
fn a_parcel_goes_to_another_process() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_read_timeout(Some(LONG)).unwrap();
    let (near, far) = connection();
    let successor = std::thread::spawn(move || {
        let parcel = Parcel::receive(&theirs).unwrap().unwrap();
        let (state, files) = parcel.unpack().unwrap();
        // The other one has ended.
        assert!(Parcel::receive(&theirs).unwrap().is_none());
        (state, files)
    });
    let parcel = Parcel::pack(b"state", vec![far.into()]).unwrap();
    parcel.send(&ours).unwrap();
    drop(ours);
    let (state, files) = successor.join().unwrap();
    assert_eq!((state.as_slice(), files.len()), (&b"state"[..], 1));
    assert_silent(&near);
}

/// The test runs itself again, as the process that inherits.
#[test]
fn a_parcel_is_inherited_once() {
    const INHERITS: &str = "LASTHOP_TEST_INHERITS";
    if std::env::var_os(INHERITS).is_some() {
        assert!(Parcel::inherited("others").is_none());
        let parcel = Parcel::inherited("streams").unwrap();
        assert!(Parcel::inherited("streams").is_none());
        let flags = rustix::io::fcntl_getfd(&parcel).unwrap();
        assert!(flags.contains(FdFlags::CLOEXEC));
        let (state, files) = parcel.unpack().unwrap();
        assert_eq!(state, b"state");
        assert_numbered(&files, 3);
        return;
    }
    let parcel = Parcel::pack(b"state", numbered(3)).unwrap();
    let script = r#"LISTEN_PID=$$ exec "$0" --exact parcel::a_parcel_is_inherited_once 4<&0"#;
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(INHERITS, "1")
        .env("LISTEN_FDS", "2")
        .env("LISTEN_FDNAMES", "others:streams")
        .stdin(parcel.as_fd().try_clone_to_owned().unwrap())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
    // It took what was in the parcel.
    assert_eq!(
        parcel.unpack().unwrap_err().kind(),
        ErrorKind::UnexpectedEof
    );
}

#[test]
fn a_parcel_to_nobody_is_an_error() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(theirs);
    let parcel = Parcel::pack(b"state", Vec::new()).unwrap();
    let error = parcel.send(&ours).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}

#[test]
fn what_comes_instead_of_a_parcel_is_an_error() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    theirs
        .set_read_timeout(Some(Duration::from_millis(1)))
        .unwrap();
    let kind = || Parcel::receive(&theirs).unwrap_err().kind();
    assert_eq!(kind(), ErrorKind::WouldBlock);
    ours.write_all(b"x").unwrap();
    assert_eq!(kind(), ErrorKind::InvalidData);
}

#[test]
fn a_message_has_a_limit_of_files() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let files = vec![ours.as_fd(); 1_000];
    let error = pass(&ours, &[0], &files).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}
