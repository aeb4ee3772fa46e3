pub mod deliver;
pub mod plan;
