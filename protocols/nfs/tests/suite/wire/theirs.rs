//! The conversion of our values to those of the other implementation.

use nfs::{
    Attributes, AttributesBefore, Device, FileHandle, FileType, ListedName, Name, NewAttributes,
    Numbered, Outcome, Path, Place, SetTime, Stability, Status, Time, WeakCacheData,
};
use nfs3_types::nfs3::{
    Nfs3Option, Nfs3Result, diropargs3, fattr3, filename3, ftype3, nfs_fh3, nfspath3, nfsstat3,
    nfstime3, sattr3, set_atime, set_mtime, specdata3, stable_how, wcc_attr, wcc_data,
};
use nfs3_types::xdr_codec::{Opaque, Pack, Unpack};

/// The value of the other implementation for one of ours.
pub(crate) trait Theirs {
    type Type: Pack + Unpack;

    fn theirs(&self) -> Self::Type;
}

impl<T: Theirs> Theirs for Option<T> {
    type Type = Nfs3Option<T::Type>;

    fn theirs(&self) -> Self::Type {
        match self {
            Some(value) => Nfs3Option::Some(value.theirs()),
            None => Nfs3Option::None,
        }
    }
}

/// Numbers are numbers.
macro_rules! same {
    ($($number:ty)*) => {$(
        impl Theirs for $number {
            type Type = Self;

            fn theirs(&self) -> Self {
                *self
            }
        }
    )*};
}

same!(u32 u64 bool);

/// Returns their value of a number without a name.
pub(crate) fn by_number<T: Unpack>(number: u32) -> T {
    let bytes = number.to_be_bytes();
    T::unpack(&mut &bytes[..]).expect("they know it").0
}

impl Theirs for FileHandle {
    type Type = nfs_fh3;

    fn theirs(&self) -> nfs_fh3 {
        nfs_fh3 {
            data: Opaque::owned(self.bytes().to_vec()),
        }
    }
}

impl Theirs for Name<'static> {
    type Type = filename3<'static>;

    fn theirs(&self) -> filename3<'static> {
        filename3(Opaque::borrowed(self.bytes()))
    }
}

impl Theirs for ListedName<'static> {
    type Type = filename3<'static>;

    fn theirs(&self) -> filename3<'static> {
        let mut bytes = Vec::new();
        nfs::Value::encode(self, &mut bytes);
        filename3(Opaque::unpack(&mut &bytes[..]).expect("a name").0)
    }
}

impl Theirs for Path<'static> {
    type Type = nfspath3<'static>;

    fn theirs(&self) -> nfspath3<'static> {
        nfspath3(Opaque::borrowed(self.bytes()))
    }
}

impl Theirs for Place<'static> {
    type Type = diropargs3<'static>;

    fn theirs(&self) -> diropargs3<'static> {
        diropargs3 {
            dir: self.directory.theirs(),
            name: self.name.theirs(),
        }
    }
}

impl Theirs for Time {
    type Type = nfstime3;

    fn theirs(&self) -> nfstime3 {
        nfstime3 {
            seconds: self.seconds,
            nseconds: self.nanoseconds,
        }
    }
}

impl Theirs for Device {
    type Type = specdata3;

    fn theirs(&self) -> specdata3 {
        specdata3 {
            specdata1: self.major,
            specdata2: self.minor,
        }
    }
}

impl Theirs for FileType {
    type Type = ftype3;

    fn theirs(&self) -> ftype3 {
        match self {
            Self::Regular => ftype3::NF3REG,
            Self::Directory => ftype3::NF3DIR,
            Self::BlockDevice => ftype3::NF3BLK,
            Self::CharacterDevice => ftype3::NF3CHR,
            Self::SymbolicLink => ftype3::NF3LNK,
            Self::Socket => ftype3::NF3SOCK,
            Self::Pipe => ftype3::NF3FIFO,
        }
    }
}

impl Theirs for Attributes {
    type Type = fattr3;

    fn theirs(&self) -> fattr3 {
        fattr3 {
            type_: self.kind.theirs(),
            mode: self.mode,
            nlink: self.links,
            uid: self.user,
            gid: self.group,
            size: self.size,
            used: self.used,
            rdev: self.device.theirs(),
            fsid: self.file_system,
            fileid: self.file_id,
            atime: self.times.accessed.theirs(),
            mtime: self.times.modified.theirs(),
            ctime: self.times.changed.theirs(),
        }
    }
}

impl Theirs for AttributesBefore {
    type Type = wcc_attr;

    fn theirs(&self) -> wcc_attr {
        wcc_attr {
            size: self.size,
            mtime: self.modified.theirs(),
            ctime: self.changed.theirs(),
        }
    }
}

impl Theirs for WeakCacheData {
    type Type = wcc_data;

    fn theirs(&self) -> wcc_data {
        wcc_data {
            before: self.before.theirs(),
            after: self.after.theirs(),
        }
    }
}

impl Theirs for NewAttributes {
    type Type = sattr3;

    fn theirs(&self) -> sattr3 {
        sattr3 {
            mode: self.mode.theirs(),
            uid: self.user.theirs(),
            gid: self.group.theirs(),
            size: self.size.theirs(),
            atime: match self.accessed {
                SetTime::Keep => set_atime::DONT_CHANGE,
                SetTime::ServerTime => set_atime::SET_TO_SERVER_TIME,
                SetTime::To(time) => set_atime::SET_TO_CLIENT_TIME(time.theirs()),
            },
            mtime: match self.modified {
                SetTime::Keep => set_mtime::DONT_CHANGE,
                SetTime::ServerTime => set_mtime::SET_TO_SERVER_TIME,
                SetTime::To(time) => set_mtime::SET_TO_CLIENT_TIME(time.theirs()),
            },
        }
    }
}

impl Theirs for Stability {
    type Type = stable_how;

    fn theirs(&self) -> stable_how {
        match self {
            Self::Unstable => stable_how::UNSTABLE,
            Self::DataStable => stable_how::DATA_SYNC,
            Self::FileStable => stable_how::FILE_SYNC,
        }
    }
}

impl Theirs for Status {
    type Type = nfsstat3;

    fn theirs(&self) -> nfsstat3 {
        let theirs: nfsstat3 = by_number(self.number());
        // Their name of it is in ours.
        assert!(
            self.to_string().contains(&format!("({theirs:?})")),
            "{self}"
        );
        theirs
    }
}

/// Returns their form of an answer.
pub(crate) fn result<D, F, T, E>(
    ours: &Outcome<D, F>,
    done: impl FnOnce(&D) -> T,
    failed: impl FnOnce(&F) -> E,
) -> Nfs3Result<T, E> {
    match ours {
        Outcome::Done(value) => Nfs3Result::Ok(done(value)),
        Outcome::Failed { status, rest } => Nfs3Result::Err((status.theirs(), failed(rest))),
    }
}
