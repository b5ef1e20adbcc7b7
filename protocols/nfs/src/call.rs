//! Calls of any procedure, as a server receives them.

use crate::{
    Access, Commit, Create, CreateHow, FileSystemInfo, FileSystemStatus, GetAttributes,
    Idempotency, Limits, Link, LookUp, MakeDirectory, MakeNode, MakeSymbolicLink, Malformed,
    PathConfiguration, Procedure, Read, ReadDirectory, ReadDirectoryPlus, ReadLink, Remove,
    RemoveDirectory, Rename, SetAttributes, Value, Write,
};

/// Defines [`Call`] from its variants, which have the names of the procedures.
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
            /// If the bytes are malformed: the error, and its place.
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

            /// Returns the procedure.
            pub fn procedure(&self) -> Procedure {
                match self {
                    $(Self::$procedure(_) => Procedure::$procedure,)*
                }
            }

            /// Appends the encoded arguments.
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
    /// Returns the effect of a second execution, as [`Procedure::idempotency`], but with regard to the arguments: a
    /// creation with a verifier is safe to repeat, and a guard that matched does not match again.
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
