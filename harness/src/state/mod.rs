//! Room state.
