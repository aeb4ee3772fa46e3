//! The order of the parts of the code: each may import those before it and those beside it.

/// The parts of `shared/src`, from the lowest to the highest. All of `functions` comes after them.
const PARTS: &[&[&str]] = &[
    &[
        "backoff",
        "cache",
        "encryption",
        "environment",
        "error",
        "function_scope",
        "id",
        "money",
        "operation",
        "origin",
        "response",
        "scope",
        "size",
        "time",
        "version",
        "window",
    ],
    &["fields"],
    &["metrics", "models", "targets"],
    &["charging", "ocpi", "webhooks"],
    &["ports", "settings"],
    &["store"],
    &["deployment"],
    &["http"],
    &["app", "aws", "ocpi_client", "outbound", "stripe"],
];

/// How high a file is in the order; nothing for the root of a library, which only lists its modules.
///
/// # Errors
/// The file belongs to a part that has no place in the order.
pub fn height(file: &str) -> Result<Option<usize>, String> {
    if file.ends_with("/src/lib.rs") {
        return Ok(None);
    }
    let Some(part) = file.strip_prefix("shared/src/") else {
        return Ok(Some(PARTS.len()));
    };
    let part = part.split('/').next().unwrap_or_default();
    let part = part.trim_end_matches(".rs");
    match PARTS.iter().position(|beside| beside.contains(&part)) {
        Some(height) => Ok(Some(height)),
        None => Err(format!(
            "{file}: `{part}` has no place in infra/imports/src/order.rs"
        )),
    }
}
