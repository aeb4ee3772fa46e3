//! The signed meter values of a CDR (`signed_data`), as they were received, in the XML that S.A.F.E.'s transparency software reads.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Returns the signed values of CDRs as one XML file; `None` if they have no signed value. The texts are those that were received.
pub fn transparency_file<'a>(cdrs: impl Iterator<Item = &'a Value>) -> Option<String> {
    let values: String = cdrs.flat_map(values_of).collect();
    let file = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<values>\n{values}</values>\n");
    (!values.is_empty()).then_some(file)
}

fn values_of(cdr: &Value) -> Vec<String> {
    let data = &cdr["signed_data"];
    let format = data["encoding_method"].as_str().unwrap_or_default();
    let key = data["public_key"].as_str();
    let values = data["signed_values"].as_array();
    let written = |signed: &Value| {
        let text = signed["signed_data"].as_str()?;
        let context = context_of(signed["nature"].as_str().unwrap_or_default());
        Some(format!(
            "  <value transactionId=\"{}\"{context}>\n    <signedData format=\"{}\" encoding=\"{}\">{}</signedData>\n{}  </value>\n",
            escaped(cdr["id"].as_str().unwrap_or_default()),
            escaped(format),
            encoding_of(text),
            escaped(text),
            key.map_or_else(String::new, public_key),
        ))
    };
    values.into_iter().flatten().filter_map(written).collect()
}

/// Returns the point of the transaction at which a value was measured: OCPI has `Start`, `End` or `Intermediate`.
fn context_of(nature: &str) -> &'static str {
    match nature.to_ascii_lowercase().as_str() {
        "start" => " context=\"Transaction.Begin\"",
        "end" => " context=\"Transaction.End\"",
        _ => "",
    }
}

/// Returns the encoding of a text. OCPI has signed data as base64; some networks send the plain text of OCMF.
fn encoding_of(text: &str) -> &'static str {
    let is_base64 = STANDARD.decode(text.trim()).is_ok();
    if is_base64 { "base64" } else { "plain" }
}

fn public_key(key: &str) -> String {
    let is_hex = key.bytes().all(|byte| byte.is_ascii_hexdigit());
    let encoding = if is_hex { "hex" } else { "base64" };
    let key = escaped(key);
    format!("    <publicKey encoding=\"{encoding}\">{key}</publicKey>\n")
}

/// Escapes a text within an element or an attribute. Line breaks become references, because an XML reader would change them.
fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            '\n' | '\r' | '\t' => written.push_str(&format!("&#{};", u32::from(letter))),
            // XML has no form for other control characters.
            control if control < ' ' || matches!(control, '\u{fffe}' | '\u{ffff}') => {}
            other => written.push(other),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn signed_values_are_written_as_they_were_received() {
        let plain = "OCMF|{\"FV\":\"1.0\",\"GI\":\"A&B <C>\"}|{\"SD\":\"3045\"}";
        let encoded = STANDARD.encode(plain);
        let cdr = json!({"id": "CDR1", "signed_data": {"encoding_method": "OCMF", "public_key": "3059AB",
            "signed_values": [{"nature": "Start", "plain_data": "x", "signed_data": plain},
                {"nature": "End", "plain_data": "x", "signed_data": encoded}]}});
        let file = transparency_file([&cdr].into_iter()).unwrap();
        let want = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<values>\n  \
             <value transactionId=\"CDR1\" context=\"Transaction.Begin\">\n    \
             <signedData format=\"OCMF\" encoding=\"plain\">OCMF|{{&quot;FV&quot;:&quot;1.0&quot;,&quot;GI&quot;:&quot;A&amp;B &lt;C&gt;&quot;}}|{{&quot;SD&quot;:&quot;3045&quot;}}</signedData>\n    \
             <publicKey encoding=\"hex\">3059AB</publicKey>\n  </value>\n  \
             <value transactionId=\"CDR1\" context=\"Transaction.End\">\n    \
             <signedData format=\"OCMF\" encoding=\"base64\">{encoded}</signedData>\n    \
             <publicKey encoding=\"hex\">3059AB</publicKey>\n  </value>\n</values>\n"
        );
        assert_eq!(file, want);
    }

    #[test]
    fn cdrs_without_signed_values_have_no_file() {
        let none = json!({"id": "CDR1"});
        let odd = json!({"id": 1, "signed_data": {"signed_values": [{"signed_data": 7}, null]}});
        assert_eq!(transparency_file([&none, &odd].into_iter()), None);
    }
}
