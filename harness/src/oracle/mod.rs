//! Room oracle.
