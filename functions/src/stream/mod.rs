mod actions;
pub mod changes;
pub mod relay;
pub mod sweep;
