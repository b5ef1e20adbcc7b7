//! The MOUNT program: from the path of the export, or of a directory below it, to a handle.

use ::nfs::mount::{Export, Flavors, MountList, Mounted, Procedure, Status};
use ::nfs::{List, Path, Value, write_list};
use rpc::message::Refusal;

use super::Programs;
use super::nfs::outcome;

/// Authentication flavours that the server accepts: `AUTH_UNIX` (user and group numbers), and `AUTH_NONE`.
const FLAVORS: [u32; 2] = [1, 0];

impl Programs {
    pub(super) fn serve_mount(
        &self,
        procedure: Procedure,
        arguments: &[u8],
        results: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        match procedure {
            Procedure::Mount => {
                let path = self.read::<Path<'_>>(arguments)?;
                outcome(self.mount(path), ()).encode(results);
            }
            Procedure::Unmount => {
                self.read::<Path<'_>>(arguments)?;
            }
            Procedure::Null | Procedure::UnmountAll => self.read(arguments)?,
            Procedure::Dump => {
                self.read::<()>(arguments)?;
                MountList::empty().encode(results);
            }
            Procedure::Export => {
                self.read::<()>(arguments)?;
                self.exports(results);
            }
        }
        Ok(())
    }

    fn mount(&self, path: Path<'_>) -> Result<Mounted, Status> {
        let export = self.config.export.trim_end_matches('/').as_bytes();
        let below = path.bytes().strip_prefix(export);
        let below = below.filter(|below| below.is_empty() || below.starts_with(b"/"));
        let found = self.storage.find(below.ok_or(Status::NoEntry)?);
        let number = found.map_err(|status| match status {
            ::nfs::Status::NotDirectory => Status::NotDirectory,
            _ => Status::NoEntry,
        })?;
        let directory = self.storage.directory(number);
        directory.map_err(|_| Status::NotDirectory)?;
        Ok(Mounted {
            root: self.storage.handle(number),
            flavors: Flavors::new(&FLAVORS).expect("two are not too many"),
        })
    }

    fn exports(&self, results: &mut Vec<u8>) {
        let path = Path::new(self.config.export.as_bytes());
        let export = Export {
            directory: path.expect("the configuration was checked"),
            groups: List::empty(),
        };
        write_list([export], 2 * ::nfs::PATH_MAX, results);
    }
}
