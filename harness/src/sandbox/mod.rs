//! Room sandbox.
