//! `fleet api`: sends any request, for operations without a command.

use clap::ArgMatches;

use crate::client::Request;
use crate::context::Context;
use crate::failure::Failure;
use crate::{preview, request};

/// Runs the command.
///
/// # Errors
/// If the path, a parameter or the body is malformed, or the request fails.
pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let request = read(matches).await?;
    if matches.get_flag("dry-run") {
        return preview::print(context, &request);
    }
    context.needs_key()?;
    let response = context.client.send(&request).await?;
    let printed = context.form.page(&response.body);
    printed.map_err(|failure| failure.after(&request.method, &response.body))
}

async fn read(matches: &ArgMatches) -> Result<Request, Failure> {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let path = text("path").unwrap_or_default();
    let path = format!("/{}", path.trim_start_matches('/'));
    let (path, query) = path.split_once('?').unwrap_or((&path, ""));
    let mut request = Request {
        method: text("method").unwrap_or_default().to_uppercase(),
        path: path.to_owned(),
        ..Request::default()
    };
    let query = url::form_urlencoded::parse(query.as_bytes());
    request.query.extend(query.into_owned());
    request.query.extend(pairs(matches, "query", '=')?);
    request.headers.extend(pairs(matches, "header", ':')?);
    if let Some(key) = text("idempotency-key") {
        request = request.once(key);
    }
    if let Some(source) = text("body") {
        request.body = Some(request::whole_body(&source).await?);
    }
    Ok(request)
}

/// The values of a flag whose values consist of a name and a value.
fn pairs(
    matches: &ArgMatches,
    flag: &str,
    separator: char,
) -> Result<Vec<(String, String)>, Failure> {
    let values = matches.get_many::<String>(flag).into_iter().flatten();
    let pairs = values.map(|text| {
        let pair = text.split_once(separator);
        let pair = pair.ok_or_else(|| {
            Failure::Local(format!("--{flag} {text}: write it as NAME{separator}VALUE"))
        });
        pair.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
    });
    pairs.collect()
}
