//! Reduces the OpenAPI document to the catalog that the executable contains.

#[path = "src/catalog.rs"]
#[allow(dead_code)]
mod catalog;
#[path = "build/reader.rs"]
mod reader;

use std::path::Path;

const DOCUMENT: &str = "../../api/openapi.json";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for file in [
        DOCUMENT,
        "build.rs",
        "build/reader.rs",
        "build/names.rs",
        "src/catalog.rs",
    ] {
        println!("cargo:rerun-if-changed={file}");
    }
    let document = std::fs::read_to_string(DOCUMENT)
        .map_err(|error| format!("the OpenAPI document {DOCUMENT} cannot be read: {error}"))?;
    let catalog = reader::read(&serde_json::from_str(&document)?)?;
    let folder = std::env::var("OUT_DIR")?;
    let file = Path::new(&folder).join("catalog.json");
    std::fs::write(file, serde_json::to_string(&catalog)?)?;
    Ok(())
}
