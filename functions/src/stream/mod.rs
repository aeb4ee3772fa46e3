pub mod relay;
pub mod sweep;
