//! The trait of all values on the wire, and the basic values.

use rpc::xdr::{Reader, Writer};

use crate::{Limits, Malformed};

/// A value that both ends write and read. Parts of variable length are borrowed for `'a` from the bytes that it was
/// read from, or from the caller that writes it.
pub trait Value<'a>: Sized {
    /// Reads the value, which has the name `what` in errors.
    ///
    /// # Errors
    /// If the bytes are malformed: the error, and its place.
    fn read(
        what: &'static str,
        reader: &mut Reader<'a>,
        limits: &Limits,
    ) -> Result<Self, Malformed>;

    /// Writes the value.
    fn write(&self, out: &mut Writer<'_>);

    /// Reads `bytes` that contain this value and nothing else.
    ///
    /// # Errors
    /// If the bytes are malformed, or bytes are left: the error, and its place.
    fn decode(bytes: &'a [u8], limits: &Limits) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let value = Self::read("message", &mut reader, limits)?;
        reader.finish()?;
        Ok(value)
    }

    /// Appends the encoded value.
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.write(&mut Writer::new(bytes));
    }
}

/// The empty value, of no bytes.
impl Value<'_> for () {
    fn read(_: &'static str, _: &mut Reader<'_>, _: &Limits) -> Result<Self, Malformed> {
        Ok(())
    }

    fn write(&self, _: &mut Writer<'_>) {}
}

/// Implements [`Value`] for types that have methods of the same name in `Reader` and `Writer`.
macro_rules! basics {
    ($($kind:ident)*) => {$(
        impl Value<'_> for $kind {
            fn read(
                what: &'static str,
                reader: &mut Reader<'_>,
                _limits: &Limits,
            ) -> Result<Self, Malformed> {
                Ok(reader.$kind(what)?)
            }

            fn write(&self, out: &mut Writer<'_>) {
                out.$kind(*self);
            }
        }
    )*};
}

basics!(u32 u64 bool);

impl<'a, T: Value<'a>> Value<'a> for Option<T> {
    fn read(
        what: &'static str,
        reader: &mut Reader<'a>,
        limits: &Limits,
    ) -> Result<Self, Malformed> {
        let present = reader.bool(what)?;
        present.then(|| T::read(what, reader, limits)).transpose()
    }

    fn write(&self, out: &mut Writer<'_>) {
        out.optional(self.as_ref(), |out, value| value.write(out));
    }
}

/// An enumeration with a number for each variant.
pub trait Numbered: Copy + 'static {
    /// All variants.
    const ALL: &'static [Self];

    /// Returns the number on the wire.
    fn number(self) -> u32;

    /// Returns the variant of `number`, or none.
    fn of(number: u32) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|value| value.number() == number)
    }
}

/// Reads the number of a variant.
pub(crate) fn read_numbered<T: Numbered>(
    what: &'static str,
    reader: &mut Reader<'_>,
) -> Result<T, Malformed> {
    let at = reader.at();
    let number = reader.u32(what)?;
    T::of(number).ok_or_else(|| Reader::unknown(what, at, number).into())
}

/// Implements [`Value`] for an enumeration of numbers; all variants are listed.
macro_rules! numbers {
    ($name:ident { $($variant:ident),* $(,)? }) => {
        impl $crate::value::Numbered for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),*];

            fn number(self) -> u32 {
                self as u32
            }
        }

        impl $crate::Value<'_> for $name {
            fn read(
                what: &'static str,
                reader: &mut rpc::xdr::Reader<'_>,
                _limits: &$crate::Limits,
            ) -> Result<Self, $crate::Malformed> {
                $crate::value::read_numbered(what, reader)
            }

            fn write(&self, out: &mut rpc::xdr::Writer<'_>) {
                out.u32(*self as u32);
            }
        }
    };
}

/// Implements [`Value`] for a structure: its fields in the order of the wire.
macro_rules! fields {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::Value<'_> for $name {
            fields!(@body '_ $($field)*);
        }
    };
    ($name:ident<$life:lifetime> { $($field:ident),* $(,)? }) => {
        impl<$life> $crate::Value<$life> for $name<$life> {
            fields!(@body $life $($field)*);
        }
    };
    (@body $life:lifetime $($field:ident)*) => {
        fn read(
            _what: &'static str,
            reader: &mut rpc::xdr::Reader<$life>,
            limits: &$crate::Limits,
        ) -> Result<Self, $crate::Malformed> {
            Ok(Self {
                $($field: $crate::Value::read(stringify!($field), reader, limits)?,)*
            })
        }

        fn write(&self, out: &mut rpc::xdr::Writer<'_>) {
            $(self.$field.write(out);)*
        }
    };
}

/// Defines a [`Value`] of eight bytes that only their creator interprets.
macro_rules! verifier {
    ($(#[$documentation:meta])* $name:ident) => {
        $(#[$documentation])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(pub [u8; 8]);

        impl $crate::Value<'_> for $name {
            fn read(
                what: &'static str,
                reader: &mut rpc::xdr::Reader<'_>,
                _limits: &$crate::Limits,
            ) -> Result<Self, $crate::Malformed> {
                Ok(Self(reader.fixed(what)?))
            }

            fn write(&self, out: &mut rpc::xdr::Writer<'_>) {
                out.fixed(&self.0);
            }
        }
    };
}

/// Defines a [`Value`] of a set of bits; unknown bits are kept.
macro_rules! bits {
    ($(#[$documentation:meta])* $name:ident {
        $($(#[$bit_documentation:meta])* $bit:ident = $value:literal,)*
    }) => {
        $(#[$documentation])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name {
            /// Bits of the set.
            pub bits: u32,
        }

        fields!($name { bits });

        impl $name {
            $($(#[$bit_documentation])* pub const $bit: Self = Self { bits: $value };)*

            /// Returns the union with `others`.
            pub const fn with(self, others: Self) -> Self {
                Self {
                    bits: self.bits | others.bits,
                }
            }

            /// Returns true if all of `others` are in the set.
            pub const fn contain(self, others: Self) -> bool {
                self.bits & others.bits == others.bits
            }
        }
    };
}

pub(crate) use {bits, fields, numbers, verifier};
