pub(crate) mod actions;
pub mod change;
pub mod changes;
pub mod overdue;
pub mod record;
pub mod relay;
pub mod sweep;
