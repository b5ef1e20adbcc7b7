//! Calls and replies of file servers.

use nfs::checks::CookieCheck;
use nfs::mount::{ExportList, MountAnswer, MountList};
use nfs::portmap::{GetPort, Port};
use nfs::url::Url;
use nfs::{Answer, Call, Limits, Numbered, Outcome, Path, Procedure, Value};

use crate::outcome::note;

/// Checks that every value that can be decoded as one of the types is the same after encoding and decoding.
macro_rules! there_and_back {
    ($bytes:ident: $($type:ty),* $(,)?) => {$(
        match <$type>::decode($bytes, &Limits::USUAL) {
            Ok(value) => {
                note(&stringify!($type));
                note(&value);
                let mut again = Vec::new();
                value.encode(&mut again);
                assert_eq!(<$type>::decode(&again, &Limits::USUAL), Ok(value));
            }
            Err(error) => {
                note(&error);
                assert!(!error.to_string().is_empty());
            }
        }
    )*};
}

/// Reads a call of each procedure.
pub fn nfs_calls(bytes: &[u8]) {
    for &procedure in Procedure::ALL {
        if let Ok(call) = Call::read(procedure, bytes, &Limits::USUAL) {
            note(&procedure);
            let mut again = Vec::new();
            call.encode(&mut again);
            assert_eq!(
                Call::read(procedure, &again, &Limits::USUAL),
                Ok(call),
                "{procedure}"
            );
        }
    }
    there_and_back!(bytes: Path<'_>, GetPort);
}

/// Reads a reply to each procedure, and iterates over its lists.
pub fn nfs_answers(bytes: &[u8]) {
    there_and_back!(bytes:
        Answer<'_, nfs::GetAttributes>,
        Answer<'_, nfs::SetAttributes>,
        Answer<'_, nfs::LookUp<'_>>,
        Answer<'_, nfs::Access>,
        Answer<'_, nfs::ReadLink>,
        Answer<'_, nfs::Read>,
        Answer<'_, nfs::Write<'_>>,
        Answer<'_, nfs::Create<'_>>,
        Answer<'_, nfs::MakeDirectory<'_>>,
        Answer<'_, nfs::MakeSymbolicLink<'_>>,
        Answer<'_, nfs::MakeNode<'_>>,
        Answer<'_, nfs::Remove<'_>>,
        Answer<'_, nfs::RemoveDirectory<'_>>,
        Answer<'_, nfs::Rename<'_>>,
        Answer<'_, nfs::Link<'_>>,
        Answer<'_, nfs::ReadDirectory>,
        Answer<'_, nfs::ReadDirectoryPlus>,
        Answer<'_, nfs::FileSystemStatus>,
        Answer<'_, nfs::FileSystemInfo>,
        Answer<'_, nfs::PathConfiguration>,
        Answer<'_, nfs::Commit>,
        MountAnswer,
        MountList<'_>,
        ExportList<'_>,
        Port,
    );
    if let Ok(Outcome::Done(page)) = Answer::<nfs::ReadDirectoryPlus>::decode(bytes, &Limits::USUAL)
    {
        for entry in &page.entries {
            let _ = (
                entry.name.check(),
                entry.attributes.map(nfs::Attributes::checked),
            );
        }
        if let Ok(Some(cookie)) = page.next_cookie() {
            let _ = CookieCheck::default().go_on(cookie);
        }
    }
    if let Ok(exports) = ExportList::decode(bytes, &Limits::USUAL) {
        let groups = exports.iter().map(|export| export.groups.iter().count());
        assert!(groups.sum::<usize>() <= bytes.len() / 8);
    }
}

/// Reads an NFS URL; the text of the result must parse to the same URL.
pub fn nfs_url(bytes: &[u8]) {
    match Url::parse(bytes) {
        Ok(url) => {
            note(&"a URL");
            assert_eq!(Url::parse(url.to_string().as_bytes()), Ok(url));
        }
        Err(error) => {
            note(&error.to_string());
            assert!(error.at <= bytes.len() && !error.to_string().is_empty());
        }
    }
}
