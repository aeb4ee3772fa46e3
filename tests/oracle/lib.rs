//! See `tests/tariffs.rs`.
