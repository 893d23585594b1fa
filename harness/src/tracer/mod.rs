//! Room tracer.
