//! Room store.
