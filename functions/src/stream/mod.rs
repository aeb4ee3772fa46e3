pub(crate) mod actions;
pub mod change;
pub mod changes;
pub mod record;
pub mod relay;
pub mod sweep;
