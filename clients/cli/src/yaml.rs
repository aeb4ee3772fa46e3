//! JSON values as YAML 1.2, in block style. YAML includes JSON, so text that could be parsed as another type is written as in JSON.

use serde_json::Value;

/// Formats a value as a document.
pub fn written(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

/// Adds a value as lines, each indented by this number of spaces.
fn block(value: &Value, indent: usize, out: &mut String) {
    let margin = " ".repeat(indent);
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                *out += &format!("{margin}{}:", text(name));
                if is_block(member) {
                    out.push('\n');
                    block(member, indent + 2, out);
                } else {
                    *out += &format!(" {}\n", scalar(member))
                }
            }
        }
        Value::Array(elements) if !elements.is_empty() => {
            for element in elements {
                let mut lines = String::new();
                block(element, indent + 2, &mut lines);
                // The hyphen is in the indentation of the element's first line.
                lines.replace_range(indent..=indent, "-");
                *out += &lines;
            }
        }
        value => *out += &format!("{margin}{}\n", scalar(value)),
    }
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(elements) => !elements.is_empty(),
        _ => false,
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(value) => text(value),
        value => value.to_string(),
    }
}

/// Formats a text without quotation marks if it can only be parsed as text, otherwise with them.
fn text(text: &str) -> String {
    const OTHERS: [&str; 8] = ["true", "false", "null", "yes", "no", "on", "off", "y"];
    let lower = text.to_lowercase();
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-./@".contains(c))
        && !OTHERS.contains(&lower.as_str())
        && lower != "n";
    if is_plain {
        return text.to_owned();
    }
    let quoted = Value::from(text).to_string();
    // These characters are permitted in JSON, but not in YAML.
    let escaped = quoted.chars().map(|c| match c {
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
            format!("\\u{:04x}", u32::from(c))
        }
        c => c.to_string(),
    });
    escaped.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_written_in_blocks() {
        let value = json!({"id": "flt_1", "a": {"b": [1, {"c": null, "d": []}], "e": {}}, "nested": [[1, 2], ["x"]]});
        let want = "id: flt_1\na:\n  b:\n    - 1\n    - c: null\n      d: []\n  e: {}\nnested:\n  - - 1\n    - 2\n  - - x\n";
        assert_eq!(written(&value), want);
    }

    #[test]
    fn text_that_could_be_something_else_is_quoted() {
        for other in [
            "",
            "no",
            "N",
            "1.5",
            "2027-01-15T09:00:00Z",
            "a: b",
            "# x",
            "- x",
            "~",
            "a b",
            "x:",
            "ä",
            "a\nb",
        ] {
            assert_eq!(text(other), Value::from(other).to_string(), "{other}");
        }
        for plain in ["Ada", "ada@fleet.example", "res_1", "Europe/London"] {
            assert_eq!(text(plain), plain);
        }
        assert_eq!(text("\u{85}"), "\"\\u0085\"");
    }
}
