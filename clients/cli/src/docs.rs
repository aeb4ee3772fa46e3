//! `fleet docs`: the guides of the service, as Markdown or in a browser.

use clap::ArgMatches;
use url::Url;

use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Runs the command.
///
/// # Errors
/// The service cannot be reached, or has no such page.
pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let topic = matches.get_one::<String>("topic").map(String::as_str);
    let page = match topic {
        None => "/docs".to_owned(),
        Some(topic) => format!("/docs/{topic}"),
    };
    let address = context.client.address(&page);
    if matches.get_flag("open") {
        return open(context, &address);
    }
    let source = match topic {
        None => "/llms.txt".to_owned(),
        Some(_) => format!("{page}.md"),
    };
    match context.client.text(&source).await? {
        Some(text) => output::print(text.trim_end()),
        None => Err(Failure::Local(format!(
            "{address}: there is no such guide; `fleet docs` lists them"
        ))),
    }
}

/// Opens an address in the browser of this machine, or prints it if there is no browser.
fn open(context: &Context, address: &Url) -> Result<(), Failure> {
    let (program, first) = match std::env::consts::OS {
        "macos" => ("open", None),
        "windows" => ("rundll32", Some("url.dll,FileProtocolHandler")),
        _ => ("xdg-open", None),
    };
    let mut command = std::process::Command::new(program);
    command.args(first).arg(address.as_str());
    let quiet = std::process::Stdio::null;
    if command.stdout(quiet()).stderr(quiet()).spawn().is_err() {
        context.note("This machine has no browser to open it with.");
    }
    output::print(address.as_str())
}
