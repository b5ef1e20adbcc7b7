//! Calls to a server and their answers (ONC RPC version 2, RFC 5531).

pub mod xdr;
