//! The tree of commands: one per operation of the catalog, and those that the tool adds.

use std::sync::LazyLock;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, value_parser};

use crate::catalog::{Catalog, Field, Kind, Limits, Operation, Presence, Resource};
use crate::failure::EXIT_CODES;
use crate::{examples, time, trigger, value};

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

/// Shorter or more usual names of operations: group, command, other name.
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
        .args(output());
    for resource in &CATALOG.resources {
        root = root.subcommand(group(resource));
    }
    root.subcommand(listen())
        .subcommand(mcp())
        .subcommand(trigger_command())
        .subcommand(logs())
        .subcommand(clock())
        .subcommand(doctor())
        .subcommand(profiles())
        .subcommand(completion())
        .subcommand(Command::new("exit-codes").about("List the exit codes and what they mean"))
}

/// The operation behind the names of a group and a command, as the tree has them.
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

/// A text that lives as long as the program: the tree is made once.
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
            .env("FLEET_BASE_URL")
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
        Arg::new("max-retries")
            .long("max-retries")
            .value_name("N")
            .value_parser(value_parser!(u32).range(..=20))
            .default_value("5")
            .help("How often a request is repeated after 409 in flight, 429, 500, 502, 503, 504, a time-out or a lost connection")
            .help_heading(heading)
            .global(true),
        Arg::new("timeout")
            .long("timeout")
            .value_name("SECONDS")
            .value_parser(value_parser!(u64).range(1..=3600))
            .default_value("60")
            .help("How long one attempt may take")
            .help_heading(heading)
            .global(true),
    ]
}

fn output() -> Vec<Arg> {
    let heading = "Output";
    let switch = |name: &'static str| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::SetTrue)
            .help_heading(heading)
            .global(true)
    };
    vec![
        switch("json")
            .help("Print the response as JSON")
            .conflicts_with_all(["json-lines", "get"]),
        switch("json-lines")
            .help("Print each object as one line of JSON")
            .conflicts_with("get"),
        Arg::new("get")
            .long("get")
            .value_name("PATH")
            .action(ArgAction::Append)
            .value_delimiter(',')
            .help("Print only these members, such as `id` or `location.radius`, without a heading")
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
        let aliases = COMMAND_ALIASES.iter();
        for (_, _, alias) in
            aliases.filter(|(group, name, _)| *group == resource.name && *name == operation.command)
        {
            command = command.visible_alias(*alias);
        }
        group = group.subcommand(command);
    }
    if IMPORTS.contains(&resource.name.as_str()) {
        group = group.subcommand(import(resource));
    }
    if resource.name == "charging-stations" {
        group = group.subcommand(import_stations());
    }
    group
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
        let nullable: Vec<&str> = body
            .fields
            .iter()
            .filter(|field| field.nullable)
            .map(|field| field.flag.as_str())
            .collect();
        for field in &body.fields {
            command = command.arg(flag(MEMBER, field, "Members of the body"));
        }
        command = command.arg(
            Arg::new("body")
                .long("body")
                .value_name("JSON")
                .help("The body as JSON, @FILE, or - for standard input; flags change its members")
                .help_heading("Members of the body"),
        );
        if !nullable.is_empty() {
            command = command.arg(
                Arg::new("unset")
                    .long("unset")
                    .value_name("MEMBER")
                    .action(ArgAction::Append)
                    .value_delimiter(',')
                    .value_parser(PossibleValuesParser::new(nullable))
                    .help("Send null for these members")
                    .help_heading("Members of the body"),
            );
        }
    }
    for field in &operation.query {
        if operation.paged && field.flag == "limit" {
            continue;
        }
        command = command.arg(flag(QUERY, field, "Query"));
    }
    if operation.paged {
        command = command
            .arg(
                Arg::new("limit")
                    .long("limit")
                    .value_name("N")
                    .value_parser(value_parser!(u64).range(1..))
                    .help("How many objects to list; more than a page are requested page by page [default: 10]")
                    .help_heading("Query"),
            )
            .arg(
                Arg::new("all")
                    .long("all")
                    .action(ArgAction::SetTrue)
                    .conflicts_with("limit")
                    .help("List every object, page by page")
                    .help_heading("Query"),
            );
    }
    for field in &operation.headers {
        command = command.arg(flag(HEADER, field, "Headers"));
    }
    command
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
        .action(match field.list || field.kind == Kind::Pairs {
            true => ArgAction::Append,
            false => ArgAction::Set,
        })
        .help(forever(help(field)))
        .help_heading(heading);
    let underscored = field.flag.replace('-', "_");
    if underscored != field.flag {
        arg = arg.alias(forever(underscored));
    }
    // Values of enums have no commas, and neither have paths of expansions.
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

/// What help says about a field.
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

fn import(resource: &Resource) -> Command {
    let name = resource.name.as_str();
    let drivers = name == "drivers";
    let mut command = Command::new("import")
        .about(forever(format!("Create {name} from a CSV file")))
        .long_about(forever(format!(
            "Create {name} from a CSV file, one per line.\n\nThe first line names the members of the body of `fleet {name} create` \
             as its flags do: nested ones with dots (`information.make`), keys of metadata as `metadata.KEY`. An empty cell leaves its \
             member out. Several values in one cell are separated by semicolons.\n\nEvery line is checked before the first request. \
             What was done is noted in a journal beside the file, so that an interrupted import goes on where it was, and each line \
             has an Idempotency-Key of its own, made from its content, so that nothing is created twice."
        )))
        .arg(
            Arg::new("file")
                .value_name("FILE.csv")
                .required(true)
                .value_parser(value_parser!(std::path::PathBuf))
                .help("The CSV file, in UTF-8")
                .value_hint(clap::ValueHint::FilePath),
        )
        .arg(
            Arg::new("dry-run")
                .long("dry-run")
                .action(ArgAction::SetTrue)
                .help("Only check the file, and list every line that cannot be imported"),
        )
        .arg(
            Arg::new("set")
                .long("set")
                .value_name("MEMBER=VALUE")
                .action(ArgAction::Append)
                .help("A value for every line whose cell is empty or missing, such as fleet=flt_… [repeatable]"),
        )
        .arg(
            Arg::new("skip-invalid")
                .long("skip-invalid")
                .action(ArgAction::SetTrue)
                .help("Import the other lines if some cannot be imported; otherwise nothing is imported then"),
        )
        .arg(
            Arg::new("concurrency")
                .long("concurrency")
                .value_name("N")
                .value_parser(value_parser!(u16).range(1..=64))
                .default_value("8")
                .help("How many requests are under way at a time"),
        )
        .arg(
            Arg::new("journal")
                .long("journal")
                .value_name("FILE")
                .value_parser(value_parser!(std::path::PathBuf))
                .help("The journal [default: FILE.csv.journal]")
                .value_hint(clap::ValueHint::FilePath),
        )
        .arg(
            Arg::new("retry-uncertain")
                .long("retry-uncertain")
                .action(ArgAction::SetTrue)
                .help("Repeat lines that were sent more than 23 hours ago without a known outcome; they may then exist twice"),
        );
    if drivers {
        command = command.arg(
            Arg::new("attach")
                .long("attach")
                .value_name("FLEET")
                .value_parser(path_argument)
                .help("Attach each driver to this fleet"),
        );
    }
    let example = match drivers {
        true => "  fleet drivers import drivers.csv --attach flt_… --dry-run",
        false => "  fleet vehicles import vehicles.csv --set fleet=flt_… --dry-run",
    };
    command.after_help(format!("Example:\n{example}"))
}

fn import_stations() -> Command {
    let file = |name: &'static str| {
        Arg::new(name)
            .value_name("FILE")
            .value_parser(value_parser!(std::path::PathBuf))
            .value_hint(clap::ValueHint::FilePath)
    };
    Command::new("import")
        .about("Load stations into the local runner from a file of OCPI 2.2.1 Location objects")
        .long_about(
            "Load stations into the local runner (`cargo run`) from a file of OCPI 2.2.1 Location objects: a JSON array, an OCPI \
             response with `data`, or one object. Locations that cannot be used are listed with the reason. On AWS an operator \
             invokes the function `import-stations` instead; infra/README.md describes it.",
        )
        .arg(file("file").required(true).help("The locations"))
        .arg(
            file("tariffs")
                .long("tariffs")
                .help("OCPI Tariff objects, which give the connectors their prices"),
        )
        .after_help("Example:\n  fleet stations import locations.json --tariffs tariffs.json")
}

fn mcp() -> Command {
    Command::new("mcp")
        .about("Serve the API as tools for assistants, over standard input and output")
        .long_about(
            "Serve the API as tools for assistants, over standard input and output, as the Model Context Protocol describes it.\n\nAn assistant \
             starts this command itself: enter `fleet mcp` where it asks for the command of a server. It acts with the API key of the profile, \
             so a restricted key restricts it. Tools that spend money or take something away do nothing until they are called with `confirm`.",
        )
}

fn listen() -> Command {
    let types = CATALOG.event_types.iter().map(String::as_str);
    Command::new("listen")
        .about("Forward events to a receiver on this machine, signed as webhooks are")
        .long_about(
            "Forward events to a receiver on this machine, signed as webhooks are.\n\nThe tool reads the account's events from a polling \
             endpoint, which it makes at the first run, and sends each to the URL as a webhook delivery. It keeps how far it has read: after \
             sleep, a restart or a lost network it goes on there and misses nothing. It signs with a secret of its own, which it prints: \
             verify with that secret during development, and with the secret of a webhook endpoint in production. Each event is sent \
             once; what `fleet events resend` asks for is sent again, and marked. An event arrives some ten seconds after it has happened.",
        )
        .arg(
            Arg::new("forward-to")
                .long("forward-to")
                .value_name("URL")
                .required_unless_present("print-secret")
                .value_hint(clap::ValueHint::Url)
                .help("Where events are sent, such as http://127.0.0.1:3000/webhooks"),
        )
        .arg(
            Arg::new("events")
                .long("events")
                .value_name("TYPE")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .value_parser(PossibleValuesParser::new(types))
                .help("Only events of these types"),
        )
        .arg(
            Arg::new("print-secret")
                .long("print-secret")
                .action(ArgAction::SetTrue)
                .help("Print the signing secret and end"),
        )
        .arg(
            Arg::new("secret")
                .long("secret")
                .env("FLEET_WEBHOOK_SECRET")
                .hide_env_values(true)
                .value_name("WHSEC")
                .help("Sign with this secret [default: one that is made once and kept in the configuration]"),
        )
        .arg(
            Arg::new("from-now")
                .long("from-now")
                .action(ArgAction::SetTrue)
                .help("Begin with the events from now on, and not where the last run has ended"),
        )
        .arg(
            Arg::new("count")
                .long("count")
                .value_name("N")
                .value_parser(value_parser!(u64).range(1..))
                .help("End after so many events [default: go on until Ctrl-C]"),
        )
        .after_help("Example:\n  fleet listen --forward-to http://127.0.0.1:3000/webhooks --events reservation.confirmed")
}

fn trigger_command() -> Command {
    let types = trigger::EVENTS.iter().map(|event| event.name);
    Command::new("trigger")
        .about("Make an event happen in test mode, by creating the objects that lead to it")
        .long_about(
            "Make an event happen in test mode, by creating the objects that lead to it through the API, as an integration would. \
             The command waits until the event is there. The objects stay; their names begin with `Triggered`.",
        )
        .arg(
            Arg::new("event")
                .value_name("EVENT")
                .required_unless_present("list")
                .value_parser(PossibleValuesParser::new(types))
                .hide_possible_values(true)
                .help("The type of the event"),
        )
        .arg(
            Arg::new("list")
                .long("list")
                .action(ArgAction::SetTrue)
                .help("List the events that can be triggered, and what each needs"),
        )
        .arg(
            Arg::new("advance-clock")
                .long("advance-clock")
                .action(ArgAction::SetTrue)
                .help("Permit moving the clock of the local runner, which some events need; this affects everything that runs there"),
        )
        .after_help("Example:\n  fleet trigger reservation.confirmed")
}

fn logs() -> Command {
    Command::new("logs")
        .about("The requests that the local runner answered")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("tail")
                .about("Show the last requests of the local runner, and each new one")
                .arg(
                    Arg::new("lines")
                        .long("lines")
                        .short('n')
                        .value_name("N")
                        .value_parser(value_parser!(u64))
                        .default_value("10")
                        .help("How many earlier requests to show"),
                )
                .arg(
                    Arg::new("no-follow")
                        .long("no-follow")
                        .action(ArgAction::SetTrue)
                        .help("End after the earlier requests"),
                )
                .arg(
                    Arg::new("errors")
                        .long("errors")
                        .action(ArgAction::SetTrue)
                        .help("Only requests that failed: 400 and above"),
                )
                .after_help("Example:\n  fleet logs tail --errors"),
        )
}

fn clock() -> Command {
    Command::new("clock")
        .about("The clock of the local runner")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(Command::new("show").about("Show what time it is for the service"))
        .subcommand(
            Command::new("advance")
                .about("Move the clock forward, doing everything that falls due on the way")
                .arg(
                    Arg::new("duration")
                        .value_name("DURATION")
                        .required(true)
                        .value_parser(seconds)
                        .help("How far, such as 30m, 1h30m or 2d"),
                )
                .after_help("Example:\n  fleet clock advance 30m"),
        )
}

/// A length of time in whole seconds.
fn seconds(text: &str) -> Result<u32, String> {
    let span = time::duration(text)?;
    let total = span.total((
        jiff::Unit::Second,
        jiff::SpanRelativeTo::days_are_24_hours(),
    ));
    let total = total.map_err(|_| "write it in days, hours, minutes and seconds")?;
    match total {
        total if total < 1.0 => Err("at least one second".into()),
        total if total > f64::from(u32::MAX) => Err("too long".into()),
        total => Ok(total as u32),
    }
}

fn doctor() -> Command {
    Command::new("doctor")
        .about("Check the configuration, address, key, clock and version")
        .after_help("Example:\n  fleet doctor")
}

fn profiles() -> Command {
    let name = || Arg::new("name").value_name("NAME").required(true);
    Command::new("profiles")
        .about("Addresses and keys under names, in a file that nobody else can read")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("add")
                .about("Add a profile, or change it; the first one becomes the default")
                .long_about(
                    "Add a profile, or change it. The first one becomes the default. The address is --base-url, and the key \
                     FLEET_API_KEY, --api-key, or what is typed or piped in. For the local runner, its token is FLEET_LOCAL_TOKEN, \
                     --local-token, or what is typed in after the key.",
                )
                .arg(name().help("Its name, such as local, test or live"))
                .arg(
                    Arg::new("account")
                        .long("account")
                        .value_name("ACCOUNT")
                        .help("The child account to act in"),
                )
                .arg(
                    Arg::new("default")
                        .long("default")
                        .action(ArgAction::SetTrue)
                        .help("Make it the default"),
                )
                .after_help(
                    "Example:\n  fleet profiles add local --base-url http://127.0.0.1:8787",
                ),
        )
        .subcommand(Command::new("list").about("List the profiles"))
        .subcommand(
            Command::new("use")
                .about("Make a profile the default")
                .arg(name().help("The profile")),
        )
        .subcommand(
            Command::new("remove")
                .about("Remove a profile")
                .arg(name().help("The profile")),
        )
}

fn completion() -> Command {
    Command::new("completion")
        .about("Print the completion script of a shell")
        .arg(
            Arg::new("shell")
                .value_name("SHELL")
                .required(true)
                .value_parser(PossibleValuesParser::new(["bash", "zsh", "fish"]))
                .help("The shell"),
        )
        .after_help(
            "Examples:\n  fleet completion bash >~/.local/share/bash-completion/completions/fleet\n  \
             fleet completion zsh >\"${fpath[1]}/_fleet\"\n  fleet completion fish >~/.config/fish/completions/fleet.fish",
        )
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
        assert_eq!(seconds("30m"), Ok(1_800));
        assert_eq!(seconds("1h30m"), Ok(5_400));
        assert_eq!(seconds("2d"), Ok(172_800));
        for wrong in ["0s", "1ms", "1mo", "200y", "-5m", ""] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
