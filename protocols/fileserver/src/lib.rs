//! A server of files in memory (NFS version 3 and MOUNT version 3, RFC 1813), for tests and for simulated hosts.
