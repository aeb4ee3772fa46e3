//! Field types that several resources use.

pub mod address;
pub mod card;
pub mod cycle;
pub mod metadata;
pub mod party;
pub mod patch;
pub mod schema;
pub mod text;
