//! The commands that the tool adds to those of the API's operations.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, value_parser};

use super::{CATALOG, forever, path_argument, preview, switch, valued};
use crate::catalog::Resource;
use crate::{time, trigger, watch};

fn csv_file() -> Arg {
    Arg::new("file")
        .value_name("FILE.csv")
        .required(true)
        .value_parser(value_parser!(std::path::PathBuf))
        .help("The CSV file, in UTF-8; - reads standard input")
        .value_hint(clap::ValueHint::FilePath)
}

/// A flag with the path of a file.
fn file_flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("FILE")
        .value_parser(value_parser!(std::path::PathBuf))
        .help(help)
        .value_hint(clap::ValueHint::FilePath)
}

pub(super) fn import(resource: &Resource) -> Command {
    let name = resource.name.as_str();
    let drivers = name == "drivers";
    let command = Command::new("import")
        .about(forever(format!("Create {name} from a CSV file")))
        .long_about(forever(format!(
            "Create {name} from a CSV file, one per line.\n\nThe first line names the members of the body of `fleet {name} create` \
             as its flags do: nested ones with dots (`information.make`), keys of metadata as `metadata.KEY`. An empty cell leaves its \
             member out. Several values in one cell are separated by semicolons.\n\nEvery line is checked before the first request. \
             The lines are created through batches (`POST /v1/batches`), which are written with their outcomes to a journal beside the \
             file, so that an interrupted import continues and nothing is created twice."
        )))
        .args(import_arguments(drivers));
    if drivers {
        let attach = valued("attach", "FLEET")
            .value_parser(path_argument)
            .help("Attach each driver to this fleet");
        return command
            .arg(attach)
            .after_help("Example:\n  fleet drivers import drivers.csv --attach flt_… --dry-run");
    }
    command.after_help("Example:\n  fleet vehicles import vehicles.csv --set fleet=flt_… --dry-run")
}

fn import_arguments(drivers: bool) -> [Arg; 9] {
    [
        csv_file(),
        switch(
            "dry-run",
            "Only check the file, and list every line that cannot be imported",
        ),
        valued("set", "MEMBER=VALUE")
            .action(ArgAction::Append)
            .help("A value for every line whose cell is empty or missing, such as fleet=flt_… [repeatable]"),
        switch(
            "skip-invalid",
            "Import the other lines if some cannot be imported; otherwise nothing is imported then",
        ),
        valued("concurrency", "N")
            .value_parser(value_parser!(u16).range(1..=64))
            .default_value("8")
            .help("How many requests are under way at a time; at most two of them create batches"),
        file_flag("journal", "The journal [default: FILE.csv.journal]"),
        switch(
            "upsert",
            if drivers {
                "Update the object that has the e-mail address of a line, and create one if there is none; lines that change nothing are not sent"
            } else {
                "Update the object that has the VIN of a line, and create one if there is none; lines that change nothing are not sent"
            },
        ),
        file_flag(
            "rejected",
            "Write the lines that were not imported here, with the reason in a last column; a corrected file can be imported as it is",
        ),
        switch(
            "retry-uncertain",
            "Repeat lines that were sent more than 23 hours ago without a known outcome; they may then exist twice",
        ),
    ]
}

pub(super) fn import_stations() -> Command {
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

pub(super) fn plan() -> Command {
    Command::new("plan")
        .about("Show when each vehicle of a site charges, what it costs, and who will be short")
        .arg(
            Arg::new("site")
                .value_name("SITE")
                .value_parser(path_argument)
                .required(true)
                .help("The id of the site"),
        )
        .after_help("Example:\n  fleet sites plan site_…")
}

pub(super) fn import_departures() -> Command {
    Command::new("import-departures")
        .about("Replace the future departures of vehicles by those of a CSV file")
        .long_about(
            "Replace the future departures of vehicles by those of a CSV file, one per line.\n\nEach line names a vehicle by one of the columns \
             `vehicle` (its id), `registration_plate` and `vin`, the moment `at`, such as 2027-01-15T06:00:00Z, and either `target_level` in \
             percent or `energy_wh`. `min_level` is what comes before the needs of all vehicles. Vehicles that the file does not name keep \
             their departures. The whole file is checked before the first departure is changed.",
        )
        .arg(csv_file())
        .arg(switch("dry-run", "Only check the form of the lines and find the vehicles; the service checks times and levels in the import"))
        .after_help("Example:\n  fleet vehicles import-departures departures.csv --dry-run")
}

pub(super) fn mcp() -> Command {
    Command::new("mcp")
        .about("Serve the API as tools for assistants, over standard input and output or HTTP")
        .long_about(
            "Serve the API as tools for assistants, over standard input and output, as the Model Context Protocol describes it.\n\nAn assistant \
             starts this command itself: enter `fleet mcp` where it asks for the command of a server. It acts with the API key of the profile, \
             so a restricted key restricts it. Tools that spend money or take something away do nothing until they are called with `confirm`.\n\nWith \
             --http, the tools are served at /mcp of an address of this machine, and each request has an API key as its bearer token.",
        )
        .arg(
            valued("http", "ADDRESS")
                .value_parser(value_parser!(std::net::SocketAddr))
                .help("Serve streamable HTTP at this address, such as 127.0.0.1:8790; with port 0, at any free one, which is printed"),
        )
}

pub(super) fn listen() -> Command {
    let types = CATALOG.event_types.iter().map(String::as_str);
    Command::new("listen")
        .about("Forward events to a receiver on this machine, signed as webhooks are")
        .long_about(
            "Forward events to a receiver on this machine, signed as webhooks are.\n\nThe tool reads the account's events from a polling \
             endpoint, which it makes at the first run with a set of event types, and sends each to the URL as a webhook delivery. It keeps \
             how far it has read of each set: after sleep, a restart or a lost network it goes on there and misses nothing. It signs with \
             a secret of its own, which it prints: verify with that secret during development, and with the secret of a webhook endpoint \
             in production. Each event is sent once; what `fleet events resend` asks for is sent again, and marked. An event arrives some \
             ten seconds after it has happened.",
        )
        .arg(
            valued("forward-to", "URL")
                .required_unless_present("print-secret")
                .value_hint(clap::ValueHint::Url)
                .help("Where events are sent, such as http://127.0.0.1:3000/webhooks"),
        )
        .arg(
            valued("events", "TYPE")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .value_parser(PossibleValuesParser::new(types))
                .help("Only events of these types"),
        )
        .arg(
            switch("print-secret", "Print the signing secret and end"),
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
            switch("from-now", "Begin with the events from now on, and not where the last run has ended"),
        )
        .arg(
            valued("count", "N")
                .value_parser(value_parser!(u64).range(1..))
                .help("End after this number of events [default: go on until Ctrl-C]"),
        )
        .after_help("Example:\n  fleet listen --forward-to http://127.0.0.1:3000/webhooks --events reservation.confirmed")
}

pub(super) fn trigger_command() -> Command {
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
            switch("list", "List the events that can be triggered, and what each needs"),
        )
        .arg(
            switch("advance-clock", "Permit moving the clock of the local runner, which some events need; this affects everything that runs there"),
        )
        .after_help("Example:\n  fleet trigger reservation.confirmed")
}

pub(super) fn logs() -> Command {
    Command::new("logs")
        .about("The requests that the local runner answered")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("tail")
                .about("Show the last requests of the local runner, and each new one")
                .arg(
                    valued("lines", "N")
                        .short('n')
                        .value_parser(value_parser!(u64))
                        .default_value("10")
                        .help("How many earlier requests to show"),
                )
                .arg(switch("no-follow", "End after the earlier requests"))
                .arg(switch("errors", "Only requests that failed: 400 and above"))
                .after_help("Example:\n  fleet logs tail --errors"),
        )
}

pub(super) fn clock() -> Command {
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
pub(super) fn seconds(text: &str) -> Result<u32, String> {
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

pub(super) fn doctor() -> Command {
    Command::new("doctor")
        .about("Check the configuration, address, key, clock and version")
        .after_help("Example:\n  fleet doctor")
}

pub(super) fn api() -> Command {
    Command::new("api")
        .about("Send any request, for what has no command of its own")
        .long_about(
            "Send any request with the key of the profile, for what has no command of its own. The request is repeated as those of other \
             commands are, and a POST or DELETE has an Idempotency-Key.",
        )
        .arg(Arg::new("method").value_name("METHOD").required(true).help("GET, POST or DELETE"))
        .arg(
            Arg::new("path")
                .value_name("PATH")
                .required(true)
                .help("From the root, such as /v1/fleets; it may have a query string"),
        )
        .arg(valued("body", "JSON").help("The body as JSON, @FILE, or - for standard input"))
        .arg(valued("query", "NAME=VALUE").action(ArgAction::Append).help("A parameter of the query [repeatable]"))
        .arg(valued("header", "NAME:VALUE").short('H').action(ArgAction::Append).help("A header [repeatable]"))
        .arg(valued("idempotency-key", "KEY").help("The Idempotency-Key [default: a random one]"))
        .arg(preview("dry-run"))
        .after_help("Examples:\n  fleet api GET '/v1/reservations?limit=5'\n  fleet api POST /v1/policies --body @policy.json --dry-run")
}

pub(super) fn watch() -> Command {
    Command::new("watch")
        .about("Repeat a command that reads until its response changes, or until a member has a value")
        .long_about(
            "Repeat a command that reads until its response changes, or until a member has a value. The response is printed at first, and \
             whenever it has changed. Of a list, the first page is read.",
        )
        .arg(
            valued("until", "PATH=VALUE")
                .value_parser(watch::condition)
                .help("End when this member has the value, or one of several values with commas between them [default: end at the first change]"),
        )
        .arg(
            valued("interval", "DURATION")
                .value_parser(seconds)
                .default_value("2s")
                .help("The pause between two requests"),
        )
        .arg(
            valued("for", "DURATION")
                .value_parser(seconds)
                .help("Give up after this time [default: go on until Ctrl-C]"),
        )
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .required(true)
                .num_args(1..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .help("The command, without `fleet`"),
        )
        .after_help("Examples:\n  fleet watch --until status=confirmed,failed reservations retrieve res_…\n  fleet watch events list --limit 1")
}

pub(super) fn docs() -> Command {
    Command::new("docs")
        .about("Print a guide, or the list of guides")
        .arg(
            Arg::new("topic")
                .value_name("TOPIC")
                .value_parser(path_argument)
                .help("A guide, such as webhooks or quickstart [default: the list]"),
        )
        .arg(switch("open", "Open the page in a browser"))
        .after_help("Examples:\n  fleet docs\n  fleet docs webhooks\n  fleet docs --open reference")
}

pub(super) fn login() -> Command {
    Command::new("login")
        .about("Check an API key from the console, and keep it as the default profile")
        .long_about(
            "Check an API key, and keep it as the default profile. Make the key in the console under Developers, API keys, and paste it here; \
             `cargo run` prints one. For a profile with a child account, use `fleet profiles add`.",
        )
        .arg(
            Arg::new("name")
                .value_name("NAME")
                .help("The name of the profile [default: that of the default profile, or `default`]"),
        )
        .after_help("Example:\n  fleet login --base-url http://127.0.0.1:8787")
}

pub(super) fn profiles() -> Command {
    let name = || Arg::new("name").value_name("NAME").required(true);
    Command::new("profiles")
        .about("Addresses and keys under names, in a file that only its owner can read")
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
                    valued("account", "ACCOUNT")
                        .help("The child account to act in"),
                )
                .arg(
                    switch("default", "Make it the default"),
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

pub(super) fn completion() -> Command {
    Command::new("completion")
        .about("Print the completion script of a shell")
        .arg(
            Arg::new("shell")
                .value_name("SHELL")
                .required(true)
                .value_parser(PossibleValuesParser::new(["bash", "zsh", "fish", "powershell"]))
                .help("The shell"),
        )
        .after_help(
            "Examples:\n  fleet completion bash >~/.local/share/bash-completion/completions/fleet\n  \
             fleet completion zsh >\"${fpath[1]}/_fleet\"\n  fleet completion fish >~/.config/fish/completions/fleet.fish\n  \
             fleet completion powershell >>$PROFILE",
        )
}
