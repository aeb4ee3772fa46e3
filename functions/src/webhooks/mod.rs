pub mod deliver;
