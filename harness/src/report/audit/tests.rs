//! Texts of audits as snapshots, and the checked-in schema.
