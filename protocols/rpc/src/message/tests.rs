//! Messages there and back, the bytes of the standard, and bytes that are none.

use std::borrow::Cow;

use proptest::prelude::*;

use super::{
    AuthStatus, Call, CallError, Credentials, CredentialsError, Identity, Procedure, Refusal,
    Reply, SystemCredentials, transaction,
};

const REFUSALS: [Refusal; 7] = [
    Refusal::ProgramUnavailable,
    Refusal::ProgramMismatch { low: 2, high: 3 },
    Refusal::ProcedureUnavailable,
    Refusal::GarbageArguments,
    Refusal::SystemError,
    Refusal::RpcMismatch { low: 2, high: 2 },
    Refusal::Authentication(AuthStatus::TOO_WEAK),
];

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes);
    bytes
}

fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn null_call(credentials: &Credentials) -> Call<'_> {
    Call {
        xid: 7,
        procedure: Procedure {
            program: 100_003,
            version: 3,
            number: 0,
        },
        credentials: Cow::Borrowed(credentials),
        arguments: &[],
    }
}

fn user(groups: Vec<u32>) -> Identity {
    Identity {
        user: 1_000,
        group: 100,
        groups,
    }
}

/// RFC 5531 §9 and appendix A, written out.
#[test]
fn a_call_has_the_bytes_of_the_standard() {
    let call = written(|out| null_call(&Credentials::None).write(out));
    assert_eq!(call, words(&[7, 0, 2, 100_003, 3, 0, 0, 0, 0, 0]));
    let credentials = SystemCredentials::new(9, "pc", user(vec![4, 5])).unwrap();
    let call = written(|out| null_call(&Credentials::System(credentials)).write(out));
    let name = u32::from_be_bytes(*b"pc\0\0");
    let credentials = [1, 32, 9, 2, name, 1_000, 100, 2, 4, 5];
    let mut expected = words(&[7, 0, 2, 100_003, 3, 0]);
    expected.extend(words(&credentials));
    expected.extend(words(&[0, 0]));
    assert_eq!(call, expected);
}

#[test]
fn a_reply_has_the_bytes_of_the_standard() {
    let bytes = |outcome| written(|out| Reply { xid: 7, outcome }.write(out));
    assert_eq!(
        bytes(Ok(&[1, 2, 3, 4])),
        words(&[7, 1, 0, 0, 0, 0, 0x0102_0304])
    );
    let expected: [&[u32]; 7] = [
        &[7, 1, 0, 0, 0, 1],
        &[7, 1, 0, 0, 0, 2, 2, 3],
        &[7, 1, 0, 0, 0, 3],
        &[7, 1, 0, 0, 0, 4],
        &[7, 1, 0, 0, 0, 5],
        &[7, 1, 1, 0, 2, 2],
        &[7, 1, 1, 1, 5],
    ];
    for (refusal, expected) in REFUSALS.into_iter().zip(expected) {
        let bytes = bytes(Err(refusal));
        assert_eq!(bytes, words(expected), "{refusal}");
        let outcome = Err(refusal);
        assert_eq!(Reply::parse(&bytes), Ok(Reply { xid: 7, outcome }));
    }
}

#[test]
fn what_is_no_reply_says_what_and_where() {
    let text = |numbers: &[u32]| Reply::parse(&words(numbers)).unwrap_err().to_string();
    assert_eq!(
        text(&[7]),
        "no reply: `message type` at byte 4: 0 bytes where it needs 4"
    );
    assert_eq!(
        text(&[7, 0]),
        "no reply: `message type` at byte 4: 0 means nothing"
    );
    assert_eq!(
        text(&[7, 1, 2]),
        "no reply: `reply status` at byte 8: 2 means nothing"
    );
    assert_eq!(
        text(&[7, 1, 0, 0, 401, 0]),
        "no reply: `verifier` at byte 16: a length of 401, at most 400 allowed"
    );
    assert_eq!(
        text(&[7, 1, 0, 0, 0, 6]),
        "no reply: `accept status` at byte 20: 6 means nothing"
    );
    assert_eq!(
        text(&[7, 1, 0, 0, 0, 2, 2]),
        "no reply: `highest version` at byte 28: 0 bytes where it needs 4"
    );
    assert_eq!(
        text(&[7, 1, 1, 2]),
        "no reply: `reject status` at byte 12: 2 means nothing"
    );
    assert_eq!(
        text(&[7, 1, 0, 0, 0, 3, 9]),
        "no reply: 4 bytes follow the end at byte 24"
    );
}

#[test]
fn a_verifier_may_have_400_bytes_of_any_flavor() {
    let mut bytes = words(&[7, 1, 0, 6, 400]);
    bytes.extend([9; 400]);
    bytes.extend(words(&[0, 42]));
    let reply = Reply::parse(&bytes).unwrap();
    assert_eq!(reply.outcome, Ok(&words(&[42])[..]));
}

#[test]
fn a_server_refuses_what_it_cannot_act_on() {
    let refusal = |numbers: &[u32]| {
        let error = Call::parse(&words(numbers)).unwrap_err();
        (error.answer().map(|reply| reply.outcome), error.to_string())
    };
    let (answer, text) = refusal(&[7, 0, 3]);
    assert_eq!(answer, Some(Err(Refusal::RpcMismatch { low: 2, high: 2 })));
    assert_eq!(
        text,
        "call 0x00000007 has version 3 of RPC where only 2 is spoken"
    );
    let bad = Some(Err(Refusal::Authentication(AuthStatus::BAD_CREDENTIALS)));
    let (answer, text) = refusal(&[7, 0, 2, 1, 1, 0, 6, 0, 0, 0]);
    assert_eq!(answer, bad);
    assert_eq!(
        text,
        "call 0x00000007, within its credentials: `flavor` at byte 0: 6 means nothing"
    );
    let (answer, text) = refusal(&[7, 0, 2, 1, 1, 0, 1, 20, 0, 0, 0, 0, 17, 0, 0]);
    assert_eq!(answer, bad);
    assert_eq!(
        text,
        "call 0x00000007, within its credentials: `groups` at byte 16: a length of 17, at most 16 allowed"
    );
    assert_eq!(refusal(&[7, 1]).0, None);
    assert!(matches!(Call::parse(&[1, 2]), Err(CallError::Malformed(_))));
}

#[test]
fn credentials_that_cannot_be_sent_are_refused() {
    let new = |name: &str, groups| SystemCredentials::new(0, name, user(groups));
    assert!(new(&"n".repeat(255), vec![1; 16]).is_ok());
    assert_eq!(
        new(&"n".repeat(256), vec![]),
        Err(CredentialsError::Machine(256))
    );
    assert_eq!(new("", vec![1; 17]), Err(CredentialsError::Groups(17)));
}

proptest! {
    #[test]
    fn calls_come_back(
        numbers in any::<[u32; 7]>(),
        machine in "[a-z.]{0,255}",
        groups in proptest::collection::vec(any::<u32>(), 0..=16),
        named in any::<bool>(),
        arguments in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let [xid, program, version, number, stamp, user, group] = numbers;
        let identity = Identity { user, group, groups };
        let system = SystemCredentials::new(stamp, &machine, identity).unwrap();
        let credentials = if named { Credentials::System(system) } else { Credentials::None };
        let procedure = Procedure { program, version, number };
        let call = Call { xid, procedure, credentials: Cow::Owned(credentials), arguments: &arguments };
        let bytes = written(|out| call.write(out));
        prop_assert_eq!(transaction(&bytes), Some(xid));
        prop_assert_eq!(Call::parse(&bytes), Ok(call));
        for end in 0..bytes.len() - arguments.len() {
            prop_assert!(Call::parse(&bytes[..end]).is_err());
        }
    }

    #[test]
    fn no_bytes_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..120), small in any::<bool>()) {
        if small {
            // Mostly small numbers, so that more of them mean something.
            bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = if at % 4 == 3 { *byte % 8 } else { 0 });
        }
        let _ = Reply::parse(&bytes).map_err(|error| error.to_string());
        let _ = Call::parse(&bytes).map_err(|error| error.to_string());
    }
}
