//! The tree of commands: one per operation of the catalog, and those that the tool adds.

use std::sync::LazyLock;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, value_parser};

use crate::catalog::{Catalog, Field, Kind, Limits, Operation, Presence, Resource};
use crate::failure::EXIT_CODES;
use crate::{examples, output, time, value};

mod tools;

/// The operations of the OpenAPI document that the tool was built with.
pub static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let json = include_str!(concat!(env!("OUT_DIR"), "/catalog.json"));
    serde_json::from_str(json).expect("build.rs writes what this reads")
});

/// Shorter names of groups.
const ALIASES: [(&str, &str); 3] = [
    ("charging-sessions", "sessions"),
    ("charging-stations", "stations"),
    ("webhook-endpoints", "webhooks"),
];

/// Shorter or more common names of operations: group, command, other name.
const COMMAND_ALIASES: [(&str, &str, &str); 1] = [("events", "redeliver", "resend")];

/// The groups whose objects can be created from a CSV file.
pub const IMPORTS: [&str; 2] = ["drivers", "vehicles"];

/// The largest number of objects on a page, if the document does not say.
const PAGE: u64 = 100;

/// The ids of an operation's arguments, which are the field's flag after one of these.
pub const ARGUMENT: &str = "argument:";
pub const QUERY: &str = "query:";
pub const HEADER: &str = "header:";
pub const MEMBER: &str = "body:";

/// The id of `--dry-run` where the operation has none of its own.
pub const PREVIEW: &str = "preview";

/// The whole tree.
pub fn tree() -> Command {
    let mut root = Command::new("fleet")
        .version(env!("CARGO_PKG_VERSION"))
        .about("The command-line tool of the Fleet Charging Service")
        .long_about(
            "The command-line tool of the Fleet Charging Service: every operation of the API, and what helps to build on it.",
        )
        .after_help(after_help())
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(120)
        .args(connection())
        .args(form());
    for resource in &CATALOG.resources {
        root = root.subcommand(group(resource));
    }
    root.subcommand(tools::api())
        .subcommand(tools::watch())
        .subcommand(tools::listen())
        .subcommand(tools::mcp())
        .subcommand(tools::trigger_command())
        .subcommand(tools::logs())
        .subcommand(tools::clock())
        .subcommand(tools::docs())
        .subcommand(tools::doctor())
        .subcommand(tools::login())
        .subcommand(tools::profiles())
        .subcommand(tools::completion())
        .subcommand(Command::new("exit-codes").about("List the exit codes and what they mean"))
}

/// The operation with these names of a group and a command in the tree.
pub fn operation(group: &str, command: &str) -> Option<&'static Operation> {
    let mut resources = CATALOG.resources.iter();
    let resource = resources.find(|resource| resource.name == group)?;
    resource
        .operations
        .iter()
        .find(|operation| operation.command == command)
}

/// The largest number of objects on a page of an operation.
pub fn page_size(operation: &Operation) -> u64 {
    let limit = operation.query.iter().find(|field| field.flag == "limit");
    let most = limit.and_then(|field| field.limits.maximum);
    most.map_or(PAGE, |most| most as u64)
}

/// Returns a text with static lifetime: the tree is built only once.
pub fn forever(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn after_help() -> String {
    let codes = EXIT_CODES
        .iter()
        .map(|(code, meaning)| format!("  {code:>3}  {meaning}\n"));
    format!(
        "Times are written as {}.\n\nExit codes:\n{}\n\
         Try `fleet doctor`, then `fleet fleets create --help`.",
        time::FORMS,
        codes.collect::<String>()
    )
}

fn connection() -> Vec<Arg> {
    let heading = "Connection";
    vec![
        Arg::new("profile")
            .long("profile")
            .env("FLEET_PROFILE")
            .value_name("NAME")
            .help("The profile whose address and key are used")
            .help_heading(heading)
            .global(true),
        Arg::new("base-url")
            .long("base-url")
            .env("FLEET_API_URL")
            .value_name("URL")
            .help("The address of the service [default: that of the profile, or http://127.0.0.1:8787]")
            .help_heading(heading)
            .global(true),
        Arg::new("api-key")
            .long("api-key")
            .env("FLEET_API_KEY")
            .hide_env_values(true)
            .value_name("KEY")
            .help("The API key [default: that of the profile]. Other users can see arguments of a running command: prefer the variable")
            .help_heading(heading)
            .global(true),
        Arg::new("local-token")
            .long("local-token")
            .env("FLEET_LOCAL_TOKEN")
            .hide_env_values(true)
            .value_name("TOKEN")
            .help("The token of the local runner, for its clock, log and stations [default: that of the profile]")
            .help_heading(heading)
            .global(true),
        valued("max-retries", "N")
            .value_parser(value_parser!(u32).range(..=20))
            .default_value("5")
            .help("How often a request is repeated after 409 in flight, 429, 500, 502, 503, 504, a time-out or a lost connection")
            .help_heading(heading)
            .global(true),
        valued("timeout", "SECONDS")
            .value_parser(value_parser!(u64).range(1..=3600))
            .default_value("60")
            .help("How long one attempt may take; moving the clock of the local runner may take longer")
            .help_heading(heading)
            .global(true),
    ]
}

fn form() -> Vec<Arg> {
    let heading = "Output";
    let switch = |name: &'static str| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::SetTrue)
            .help_heading(heading)
            .global(true)
    };
    vec![
        valued("output", "FORM").short('o')
            .value_parser(PossibleValuesParser::new(output::OUTPUTS))
            .help("How the response is printed; jsonl is a line of JSON for each object [default: a table on a terminal, tab-separated text elsewhere]")
            .hide_possible_values(false)
            .help_heading(heading)
            .global(true),
        switch("json")
            .help("The same as --output json")
            .conflicts_with_all(["output", "json-lines", "get"]),
        switch("json-lines")
            .help("The same as --output jsonl")
            .conflicts_with_all(["output", "get"]),
        valued("get", "PATH")
            .action(ArgAction::Append)
            .value_delimiter(',')
            .help("Print only these members, such as `id` or `location.radius`, without a heading; with --output csv, these columns")
            .help_heading(heading)
            .global(true),
        switch("quiet")
            .short('q')
            .help("Print neither progress nor notes"),
        switch("verbose")
            .short('v')
            .help("Report each attempt on standard error"),
    ]
}

fn group(resource: &'static Resource) -> Command {
    let about = match resource.description.as_str() {
        "" => resource.name.as_str(),
        description => description.lines().next().unwrap_or_default(),
    };
    let mut group = Command::new(resource.name.as_str())
        .about(about)
        .subcommand_required(true)
        .arg_required_else_help(true);
    let alias = ALIASES.iter().find(|(name, _)| *name == resource.name);
    if let Some((_, alias)) = alias {
        group = group.visible_alias(*alias);
    }
    for operation in &resource.operations {
        let mut command = command(resource, operation);
        if operation.alias != operation.command && !operation.alias.is_empty() {
            command = command.alias(operation.alias.as_str());
        }
        let aliases = COMMAND_ALIASES.iter();
        for (_, _, alias) in
            aliases.filter(|(group, name, _)| *group == resource.name && *name == operation.command)
        {
            command = command.visible_alias(*alias);
        }
        group = group.subcommand(command);
    }
    if IMPORTS.contains(&resource.name.as_str()) {
        group = group.subcommand(tools::import(resource));
    }
    match resource.name.as_str() {
        "charging-stations" => group.subcommand(tools::import_stations()),
        "sites" => group.subcommand(tools::plan()),
        "vehicles" => group.subcommand(tools::import_departures()),
        _ => group,
    }
}

/// The command of an operation.
fn command(resource: &'static Resource, operation: &'static Operation) -> Command {
    let about = match operation.summary.as_str() {
        "" => operation.id.as_str(),
        summary => summary,
    };
    let (method, path) = (&operation.method, &operation.path);
    let mut command = Command::new(operation.command.as_str())
        .about(about)
        .long_about(forever(format!(
            "{about}\n\n{}\n\n{method} {path}",
            operation.description
        )))
        .override_usage(forever(usage(resource, operation)))
        .after_help(forever(examples::help(resource, operation)));
    for field in &operation.arguments {
        command = command.arg(
            Arg::new(forever(format!("{ARGUMENT}{}", field.flag)))
                .value_name(forever(field.flag.to_uppercase()))
                .value_parser(path_argument)
                .required(true)
                .help(field.description.as_str()),
        );
    }
    if let Some(body) = &operation.body {
        command = command.args(members(&body.fields));
    }
    for field in &operation.query {
        if operation.paged && field.flag == "limit" {
            continue;
        }
        command = command.arg(flag(QUERY, field, "Query"));
    }
    if operation.paged {
        command = command.args(paging());
    }
    for field in &operation.headers {
        command = command.arg(flag(HEADER, field, "Headers"));
    }
    let has_own = operation.query.iter().any(|field| field.flag == "dry-run");
    if operation.method == "GET" || has_own {
        command
    } else {
        command.arg(preview(PREVIEW))
    }
}

/// The flags of the members of a body.
fn members(fields: &'static [Field]) -> Vec<Arg> {
    let heading = "Members of the body";
    let mut members: Vec<Arg> = fields
        .iter()
        .map(|field| flag(MEMBER, field, heading))
        .collect();
    members.push(
        valued("body", "JSON")
            .help("The body as JSON, @FILE, or - for standard input; flags change its members")
            .help_heading(heading),
    );
    let nullable = fields.iter().filter(|field| field.nullable);
    let nullable: Vec<&str> = nullable.map(|field| field.flag.as_str()).collect();
    if !nullable.is_empty() {
        members.push(
            valued("unset", "MEMBER")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .value_parser(PossibleValuesParser::new(nullable))
                .help("Send null for these members")
                .help_heading(heading),
        );
    }
    members
}

/// The flags of a list.
fn paging() -> [Arg; 2] {
    [
        valued("limit", "N")
            .value_parser(value_parser!(u64).range(1..))
            .help("How many objects to list; more than a page are requested page by page [default: 10]")
            .help_heading("Query"),
        switch("all", "List every object, page by page")
            .conflicts_with("limit")
            .help_heading("Query"),
    ]
}

/// A flag without a value.
fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .action(ArgAction::SetTrue)
        .help(help)
}

/// A flag with a value, which the help shows under this name.
fn valued(name: &'static str, value: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value)
}

/// The flag that shows the request instead of sending it.
fn preview(id: &'static str) -> Arg {
    switch(id, "Print the request and do not send it")
        .long("dry-run")
        .help_heading("Output")
}

/// The first line of help: the arguments and flags that a request needs.
fn usage(resource: &Resource, operation: &Operation) -> String {
    let mut usage = format!("fleet {} {}", resource.name, operation.command);
    for field in &operation.arguments {
        usage += &format!(" <{}>", field.flag.to_uppercase());
    }
    let members = operation.body.iter().flat_map(|body| &body.fields);
    for field in members.chain(&operation.query) {
        if field.presence == Presence::Required {
            usage += &format!(" --{} <{}>", field.flag, value::placeholder(field));
        }
    }
    usage + " [OPTIONS]"
}

/// The id in a path. `.` and `..` would change the path.
fn path_argument(text: &str) -> Result<String, String> {
    match text {
        "" | "." | ".." => Err("not an id".into()),
        text => Ok(text.to_owned()),
    }
}

/// The flag of a field.
fn flag(place: &str, field: &'static Field, heading: &'static str) -> Arg {
    let mut arg = Arg::new(forever(format!("{place}{}", field.flag)))
        .long(field.flag.as_str())
        .value_name(value::placeholder(field))
        .value_parser(value::parser(field))
        .action(if field.list || field.kind == Kind::Pairs {
            ArgAction::Append
        } else {
            ArgAction::Set
        })
        .help(forever(help(field)))
        .help_heading(heading);
    let underscored = field.flag.replace('-', "_");
    if underscored != field.flag {
        arg = arg.alias(forever(underscored));
    }
    // Values of enums and paths of expansions do not contain commas.
    if field.list && (!field.values.is_empty() || field.flag == "expand") {
        arg = arg.value_delimiter(',');
    }
    match field.kind {
        Kind::Time | Kind::Json => arg.allow_hyphen_values(true),
        Kind::Integer | Kind::Number => arg.allow_negative_numbers(true),
        Kind::Boolean => arg.num_args(0..=1).default_missing_value("true"),
        Kind::Text | Kind::Pairs => arg,
    }
}

/// The help of a flag.
fn help(field: &Field) -> String {
    let mut notes = Vec::new();
    match field.presence {
        Presence::Required => notes.push("required".to_owned()),
        Presence::WithParent => {
            let parent = field.flag.rsplit_once('.').map_or("", |(parent, _)| parent);
            notes.push(format!("required with --{parent}"));
        }
        Presence::Optional => {}
    }
    let Limits {
        minimum,
        maximum,
        max_length,
        max_items,
        ..
    } = &field.limits;
    match (minimum, maximum) {
        (Some(least), Some(most)) => notes.push(format!("{least} to {most}")),
        (Some(least), None) => notes.push(format!("at least {least}")),
        (None, Some(most)) => notes.push(format!("at most {most}")),
        (None, None) => {}
    }
    if let Some(most) = max_length {
        notes.push(format!("at most {most} characters"));
    }
    if field.list || field.kind == Kind::Pairs {
        let most = max_items.map(|most| format!(", at most {most} times"));
        notes.push(format!("repeatable{}", most.unwrap_or_default()));
    }
    if let Some(default) = &field.default {
        notes.push(format!("default: {default}"));
    }
    let mut help = field.description.clone();
    if !notes.is_empty() {
        if !help.is_empty() {
            help.push(' ');
        }
        help += &format!("[{}]", notes.join("; "));
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_has_no_conflicting_names() {
        tree().debug_assert();
    }

    #[test]
    fn lengths_of_time_are_whole_seconds() {
        let seconds = tools::seconds;
        assert_eq!(seconds("30m"), Ok(1_800));
        assert_eq!(seconds("1h30m"), Ok(5_400));
        assert_eq!(seconds("2d"), Ok(172_800));
        for wrong in ["0s", "1ms", "1mo", "200y", "-5m", ""] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
