//! The operator as a program of its own: `cargo run -p cpo -- --help`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use cpo::{Cpo, Options, time};

/// A charge point operator on this machine that speaks OCPI 2.2.1.
#[derive(Debug, Parser)]
#[command(name = "cpo", about)]
struct Arguments {
    /// The port to listen on; 0 selects any free port.
    #[arg(long, default_value_t = 8790)]
    port: u16,
    /// Keep the state in this file, the registration included.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Follow the clock at this URL, such as http://127.0.0.1:8787/_local/clock, instead of the system's. The variable
    /// FLEET_LOCAL_TOKEN has the token of that service's runner.
    #[arg(long, value_name = "URL")]
    clock: Option<String>,
    /// Register at the eMSP with this versions URL.
    #[arg(long, value_name = "URL", requires = "token")]
    register: Option<String>,
    /// The token A that the eMSP has issued.
    #[arg(long, value_name = "TOKEN", requires = "register")]
    token: Option<String>,
}

fn main() -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.to_string()),
    };
    match runtime.block_on(run(Arguments::parse())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

async fn run(arguments: Arguments) -> Result<(), String> {
    let clock = match arguments.clock {
        Some(url) => {
            let token = std::env::var("FLEET_LOCAL_TOKEN").unwrap_or_default();
            time::follow(cpo::http()?, url, token)
        }
        None => time::system(),
    };
    let cpo = Cpo::start(Options {
        port: Some(arguments.port),
        file: arguments.state,
        clock,
        report: Arc::new(|line| print(&format!("{} {}", line.at, line.text))),
        by_itself: true,
        controlled_at_port: true,
        scripted: false,
    });
    let cpo = cpo.await?;
    print(&format!(
        "versions {}\ntoken A  {}",
        cpo.versions_url(),
        cpo.token_a()
    ));
    if let (Some(url), Some(token)) = (&arguments.register, &arguments.token) {
        cpo.register(url, token).await?;
    }
    tokio::signal::ctrl_c()
        .await
        .map_err(|error| error.to_string())?;
    cpo.stop().await;
    Ok(())
}

fn print(line: &str) {
    // The error is ignored: if standard output is closed, there is no reader.
    drop(writeln!(std::io::stdout(), "{line}"));
}

fn failed(error: &str) -> ExitCode {
    // The error is ignored: without standard error, the exit code is the only report.
    drop(writeln!(std::io::stderr(), "error: {error}"));
    ExitCode::FAILURE
}
