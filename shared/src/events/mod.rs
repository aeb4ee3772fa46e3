//! Events on their way out: the relay that reads the table's stream, signatures, allowed targets, and delivery.

pub mod deliver;
pub mod relay;
pub mod signature;
pub mod targets;
