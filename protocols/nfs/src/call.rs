//! Calls of any procedure, as a server gets them.

use crate::{
    Access, Commit, Create, CreateHow, FileSystemInfo, FileSystemStatus, GetAttributes,
    Idempotency, Limits, Link, LookUp, MakeDirectory, MakeNode, MakeSymbolicLink, Malformed,
    PathConfiguration, Procedure, Read, ReadDirectory, ReadDirectoryPlus, ReadLink, Remove,
    RemoveDirectory, Rename, SetAttributes, Value, Write,
};

/// Defines [`Call`] from its variants, which are called as the procedure is.
macro_rules! calls {
    ($($procedure:ident($request:ty)),* $(,)?) => {
        /// The arguments of any procedure.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Call<'a> {
            $(
                #[doc = concat!("Those of [`Procedure::", stringify!($procedure), "`].")]
                $procedure($request),
            )*
        }

        impl<'a> Call<'a> {
            /// Reads the `arguments` of `procedure`.
            ///
            /// # Errors
            /// [`Malformed`] says what is wrong, and where.
            pub fn read(
                procedure: Procedure,
                arguments: &'a [u8],
                limits: &Limits,
            ) -> Result<Self, Malformed> {
                match procedure {
                    $(Procedure::$procedure => {
                        Value::decode(arguments, limits).map(Self::$procedure)
                    })*
                }
            }

            /// The procedure.
            pub fn procedure(&self) -> Procedure {
                match self {
                    $(Self::$procedure(_) => Procedure::$procedure,)*
                }
            }

            /// Appends the arguments' bytes.
            pub fn encode(&self, bytes: &mut Vec<u8>) {
                match self {
                    $(Self::$procedure(request) => request.encode(bytes),)*
                }
            }
        }

        $(
            impl<'a> From<$request> for Call<'a> {
                fn from(request: $request) -> Self {
                    Self::$procedure(request)
                }
            }
        )*
    };
}

impl Call<'_> {
    /// What a second execution does, as [`Procedure::idempotency`], but with a look at the arguments: to
    /// create with a verifier is safe to repeat, and a guard that matched does not match again.
    pub fn idempotency(&self) -> Idempotency {
        match self {
            Self::Create(Create {
                how: CreateHow::Exclusive(_),
                ..
            }) => Idempotency::Overwrites,
            Self::SetAttributes(SetAttributes { guard: Some(_), .. }) => Idempotency::Once,
            other => other.procedure().idempotency(),
        }
    }
}

calls! {
    Null(()),
    GetAttributes(GetAttributes),
    SetAttributes(SetAttributes),
    LookUp(LookUp<'a>),
    Access(Access),
    ReadLink(ReadLink),
    Read(Read),
    Write(Write<'a>),
    Create(Create<'a>),
    MakeDirectory(MakeDirectory<'a>),
    MakeSymbolicLink(MakeSymbolicLink<'a>),
    MakeNode(MakeNode<'a>),
    Remove(Remove<'a>),
    RemoveDirectory(RemoveDirectory<'a>),
    Rename(Rename<'a>),
    Link(Link<'a>),
    ReadDirectory(ReadDirectory),
    ReadDirectoryPlus(ReadDirectoryPlus),
    FileSystemStatus(FileSystemStatus),
    FileSystemInfo(FileSystemInfo),
    PathConfiguration(PathConfiguration),
    Commit(Commit),
}
