//! Answers to calls that are not executed.

use ::nfs::{self as nfs, Answer, BadName, Malformed, Procedure, Status, Value};
use rpc::xdr;

/// Defines [`encode`] from the requests.
macro_rules! refusals {
    ($($procedure:ident($request:ty)),* $(,)?) => {
        /// Appends the answer that `procedure` failed, without further data.
        pub(super) fn encode(procedure: Procedure, status: Status, results: &mut Vec<u8>) {
            match procedure {
                Procedure::Null => {}
                $(Procedure::$procedure => {
                    let rest = Default::default();
                    Answer::<$request>::Failed { status, rest }.encode(results);
                })*
            }
        }
    };
}

refusals! {
    GetAttributes(nfs::GetAttributes),
    SetAttributes(nfs::SetAttributes),
    LookUp(nfs::LookUp<'_>),
    Access(nfs::Access),
    ReadLink(nfs::ReadLink),
    Read(nfs::Read),
    Write(nfs::Write<'_>),
    Create(nfs::Create<'_>),
    MakeDirectory(nfs::MakeDirectory<'_>),
    MakeSymbolicLink(nfs::MakeSymbolicLink<'_>),
    MakeNode(nfs::MakeNode<'_>),
    Remove(nfs::Remove<'_>),
    RemoveDirectory(nfs::RemoveDirectory<'_>),
    Rename(nfs::Rename<'_>),
    Link(nfs::Link<'_>),
    ReadDirectory(nfs::ReadDirectory),
    ReadDirectoryPlus(nfs::ReadDirectoryPlus),
    FileSystemStatus(nfs::FileSystemStatus),
    FileSystemInfo(nfs::FileSystemInfo),
    PathConfiguration(nfs::PathConfiguration),
    Commit(nfs::Commit),
}

/// Returns the status for malformed arguments for which the file system has an error; `None` for others.
pub(super) fn status(procedure: Procedure, malformed: Malformed) -> Option<Status> {
    match malformed {
        Malformed::Name { fault, .. } => Some(match fault {
            BadName::TooLong { .. } => Status::NameTooLong,
            _ => Status::InvalidArgument,
        }),
        Malformed::Representation(xdr::Malformed::TooLong {
            what: "name" | "path",
            ..
        }) => Some(Status::NameTooLong),
        Malformed::Representation(xdr::Malformed::Unknown { what: "node", .. }) => {
            (procedure == Procedure::MakeNode).then_some(Status::BadType)
        }
        _ => None,
    }
}
