//! The check that bytes are results of a procedure.

use crate::mount::{ExportList, MountAnswer, MountList};
use crate::portmap::{self, Port};
use crate::value::Numbered;
use crate::{Answer, Limits, Procedure, Value, mount};

/// Returns true if `results` are well-formed results of a procedure of NFS, MOUNT or GETPORT, of any content: this
/// distinguishes a complete reply from one that was cut on its way. All bytes pass as results of other procedures.
pub fn are_results(procedure: rpc::Procedure, results: &[u8]) -> bool {
    match (procedure.program, procedure.version) {
        (crate::PROGRAM, crate::VERSION) => {
            Procedure::of(procedure.number).is_none_or(|asked| of_nfs(asked, results))
        }
        (mount::PROGRAM, mount::VERSION) => {
            mount::Procedure::of(procedure.number).is_none_or(|asked| of_mount(asked, results))
        }
        _ if procedure == portmap::GET_PORT => is::<Port>(results),
        _ => true,
    }
}

fn is<'r, V: Value<'r>>(results: &'r [u8]) -> bool {
    V::decode(results, &Limits::USUAL).is_ok()
}

fn of_nfs(asked: Procedure, results: &[u8]) -> bool {
    match asked {
        Procedure::Null => is::<()>(results),
        Procedure::GetAttributes => is::<Answer<'_, crate::GetAttributes>>(results),
        Procedure::SetAttributes => is::<Answer<'_, crate::SetAttributes>>(results),
        Procedure::LookUp => is::<Answer<'_, crate::LookUp<'_>>>(results),
        Procedure::Access => is::<Answer<'_, crate::Access>>(results),
        Procedure::ReadLink => is::<Answer<'_, crate::ReadLink>>(results),
        Procedure::Read => is::<Answer<'_, crate::Read>>(results),
        Procedure::Write => is::<Answer<'_, crate::Write<'_>>>(results),
        Procedure::Create => is::<Answer<'_, crate::Create<'_>>>(results),
        Procedure::MakeDirectory => is::<Answer<'_, crate::MakeDirectory<'_>>>(results),
        Procedure::MakeSymbolicLink => is::<Answer<'_, crate::MakeSymbolicLink<'_>>>(results),
        Procedure::MakeNode => is::<Answer<'_, crate::MakeNode<'_>>>(results),
        Procedure::Remove => is::<Answer<'_, crate::Remove<'_>>>(results),
        Procedure::RemoveDirectory => is::<Answer<'_, crate::RemoveDirectory<'_>>>(results),
        Procedure::Rename => is::<Answer<'_, crate::Rename<'_>>>(results),
        Procedure::Link => is::<Answer<'_, crate::Link<'_>>>(results),
        Procedure::ReadDirectory => is::<Answer<'_, crate::ReadDirectory>>(results),
        Procedure::ReadDirectoryPlus => is::<Answer<'_, crate::ReadDirectoryPlus>>(results),
        Procedure::FileSystemStatus => is::<Answer<'_, crate::FileSystemStatus>>(results),
        Procedure::FileSystemInfo => is::<Answer<'_, crate::FileSystemInfo>>(results),
        Procedure::PathConfiguration => is::<Answer<'_, crate::PathConfiguration>>(results),
        Procedure::Commit => is::<Answer<'_, crate::Commit>>(results),
    }
}

fn of_mount(asked: mount::Procedure, results: &[u8]) -> bool {
    match asked {
        mount::Procedure::Mount => is::<MountAnswer>(results),
        mount::Procedure::Dump => is::<MountList<'_>>(results),
        mount::Procedure::Export => is::<ExportList<'_>>(results),
        mount::Procedure::Null | mount::Procedure::Unmount | mount::Procedure::UnmountAll => {
            is::<()>(results)
        }
    }
}
