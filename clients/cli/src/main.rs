//! The executable.

use std::process::ExitCode;
use std::time::Duration;

use clap::ArgMatches;
use fleet::commands::{self, CATALOG};
use fleet::context::Context;
use fleet::failure::{EXIT_CODES, Failure, INTERRUPTED};
use fleet::{
    api, completion, depot, docs, doctor, import, listen, local, mcp, operation, output, profiles,
    trigger, watch,
};

/// How long the end of a command waits for the threads that read and write for it. A thread that reads standard input may wait forever.
const LAST_WAIT: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    let mut tree = commands::tree();
    let matches = match tree.try_get_matches_from_mut(std::env::args_os()) {
        Ok(matches) => matches,
        Err(error) => return failed(&Failure::Usage(error), false),
    };
    let output = matches.get_one::<String>("output");
    let json = matches.get_flag("json") || output.is_some_and(|output| output == "json");
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return failed(&Failure::local(error), json),
    };
    let ended = runtime.block_on(async {
        tokio::select! {
            // The signal is polled first, so that its handler is there before the command begins.
            biased;
            _ = tokio::signal::ctrl_c() => Ok(INTERRUPTED),
            ended = run(&matches, &mut tree) => ended.map(|()| 0),
        }
    });
    runtime.shutdown_timeout(LAST_WAIT);
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(failure) => failed(&failure, json),
    }
}

/// Reports a failure on standard error.
fn failed(failure: &Failure, json: bool) -> ExitCode {
    match failure {
        Failure::BrokenPipe | Failure::Interrupted => {}
        // Help and the version are printed on standard output. If that is closed, there is no reader.
        Failure::Usage(error) => drop(error.print()),
        Failure::Refused(refusal) if json => {
            eprintln!("{}", output::json_text(&refusal.body.to_string()));
        }
        failure => {
            let label = if output::is_coloured(&std::io::stderr()) {
                "\x1b[1;31merror:\x1b[0m"
            } else {
                "error:"
            };
            eprintln!("{label} {}", output::visible(&failure.to_string()));
        }
    }
    ExitCode::from(failure.exit_code())
}

async fn run(matches: &ArgMatches, tree: &mut clap::Command) -> Result<(), Failure> {
    let Some((name, matches)) = matches.subcommand() else {
        return Ok(());
    };
    match name {
        "completion" => return completion::run(matches, tree),
        "exit-codes" => {
            let line = |(code, meaning): (u8, &str)| format!("{code:>3}  {meaning}");
            return output::print(&EXIT_CODES.map(line).join("\n"));
        }
        "profiles" => return profiles::run(matches).await,
        "doctor" => return doctor::run(matches).await,
        "login" => return profiles::login(matches).await,
        _ => {}
    }
    let context = Context::read(matches)?;
    match (name, matches.subcommand()) {
        ("api", _) => api::run(&context, matches).await,
        ("docs", _) => docs::run(&context, matches).await,
        ("watch", _) => watch::run(context, matches, tree).await,
        ("mcp", _) => mcp::run(context, matches).await,
        ("listen", _) => listen::run(&context, matches).await,
        ("trigger", _) => trigger::run(&context, matches).await,
        ("logs", Some(("tail", matches))) => local::tail(&context, matches).await,
        ("clock", Some(("show", _))) => local::show_clock(&context).await,
        ("clock", Some(("advance", matches))) => local::advance(&context, matches).await,
        ("charging-stations", Some(("import", matches))) => {
            local::import_stations(&context, matches).await
        }
        ("sites", Some(("plan", matches))) => depot::plan(&context, matches).await,
        ("vehicles", Some(("import-departures", matches))) => {
            depot::import_departures(&context, matches).await
        }
        (group, Some(("import", matches))) => import::run(&context, group, matches).await,
        (group, Some((command, matches))) => {
            let found = CATALOG
                .resources
                .iter()
                .find(|resource| resource.name == group);
            let operation = found.and_then(|resource| {
                let mut operations = resource.operations.iter();
                operations.find(|operation| operation.command == command)
            });
            let operation = operation.ok_or_else(|| Failure::local("no such command"))?;
            let command = tree
                .find_subcommand_mut(group)
                .and_then(|group| group.find_subcommand_mut(command));
            let command = command.ok_or_else(|| Failure::local("no such command"))?;
            operation::run(&context, operation, matches, command).await
        }
        _ => Err(Failure::local("no such command")),
    }
}
