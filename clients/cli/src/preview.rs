//! `--dry-run` of commands whose operation has none: the request is printed instead of sent.

use serde_json::{Map, Value, json};

use crate::client::Request;
use crate::context::Context;
use crate::examples::quote;
use crate::failure::Failure;
use crate::output::{self, Form};

/// Prints a request: as a curl command for people, as an object with `method`, `url`, `headers` and `body` otherwise.
///
/// # Errors
/// Standard output cannot be written.
pub fn print(context: &Context, request: &Request) -> Result<(), Failure> {
    let url = context.client.url(request).to_string();
    let headers = context.client.headers(request);
    let Request { method, body, .. } = request;
    if !matches!(context.form, Form::Text { .. }) {
        let headers: Map<String, Value> = headers
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        return context
            .form
            .object(&json!({"method": method, "url": url, "headers": headers, "body": body}));
    }
    let mut words = vec![format!("curl -X {method} {}", quote(&url))];
    words.push(r#"-H "Authorization: Bearer $FLEET_API_KEY""#.into());
    words.extend(headers.map(|(name, value)| format!("-H {}", quote(&format!("{name}: {value}")))));
    if let Some(body) = body {
        words.push("-H 'Content-Type: application/json'".into());
        words.push(format!("-d {}", quote(&body.to_string())));
    }
    output::print(&words.join(" \\\n  "))
}
