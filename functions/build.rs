//! Leaves the tables for unwinding out of what Lambda loads. They are a tenth of the executable, and nothing reads them: a panic aborts
//! there. No setting of a profile does that.

#![allow(clippy::print_stdout)]

fn main() {
    println!("cargo::rerun-if-changed=no-unwinding-tables.ld");
    let variable = |name| std::env::var(name).unwrap_or_default();
    if variable("PROFILE") == "release" && variable("CARGO_CFG_TARGET_OS") == "linux" {
        let folder = variable("CARGO_MANIFEST_DIR");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{folder}/no-unwinding-tables.ld");
    }
}
