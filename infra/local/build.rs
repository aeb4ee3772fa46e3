//! Lists the files of the web console, which are part of the executable.

#![allow(clippy::print_stdout)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The files and folders of `clients/console` that a browser may load.
const SERVED: &[&str] = &["icon.svg", "index.html", "src", "style.css", "vendor"];

/// Writes `files.rs`: the expression of an array with the path and the content of each file.
fn main() {
    let variable = |name| PathBuf::from(std::env::var_os(name).unwrap_or_default());
    let console = variable("CARGO_MANIFEST_DIR").join("../../clients/console");
    let mut array = String::from("&[\n");
    for served in SERVED {
        println!("cargo::rerun-if-changed={}", console.join(served).display());
        list(&console, served, &mut array);
    }
    array.push(']');
    std::fs::write(variable("OUT_DIR").join("files.rs"), array).expect("the folder of the build");
}

/// Lists a file, or those of a folder and of the folders in it. Declarations of TypeScript are not served.
fn list(console: &Path, path: &str, array: &mut String) {
    let file = console.join(path);
    if file.is_dir() {
        let entries = file.read_dir().expect("a folder of the console");
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("a file").file_name();
        let mut names: Vec<_> = entries.map(name).collect();
        names.sort();
        for name in names {
            let name = name.to_str().expect("a name in UTF-8");
            list(console, &format!("{path}/{name}"), array);
        }
    } else if !path.ends_with(".d.ts") {
        writeln!(
            array,
            "File {{ path: {path:?}, content: include_bytes!({file:?}) }},"
        )
        .expect("text");
    }
}
