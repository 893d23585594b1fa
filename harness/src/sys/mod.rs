//! The cellar: ptrace, seccomp, namespaces, process memory and sockets of other processes. The only `unsafe` of the house.
//!
//! It knows no noun of killpoint: numbers, file descriptors and bytes go in and out.

#[cfg(test)]
pub mod descriptors;
pub mod diag;
pub mod guest;
pub mod launch;
pub mod memory;
pub mod namespace;
pub mod ptrace;
pub mod seccomp;
pub mod signal;
pub mod socket;
