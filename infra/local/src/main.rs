//! `cargo run`: the whole service as one process, with nothing else to install.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use functions::app::payment_providers;
use local::{Options, Running, SECRET_KEY};

fn main() -> ExitCode {
    let options = Options {
        payments: payment_providers(None),
        ..Options::parse()
    };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env();
    let filter = filter.unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .init();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    runtime.block_on(async {
        let json = options.json;
        let terminated = match terminated() {
            Ok(terminated) => terminated,
            Err(error) => return failed(&error),
        };
        let running = match Running::start(options).await {
            Ok(running) => running,
            Err(error) => return failed(&error),
        };
        if let Some(imported) = &running.imported {
            drop(writeln!(std::io::stderr(), "{imported}"));
        }
        if let Err(error) = introduce(&running, json) {
            return failed(&error);
        }
        let stopped = tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted,
            () = terminated => Ok(()),
        };
        match stopped {
            Ok(()) => running.stop().await,
            Err(error) => return failed(&error),
        }
        ExitCode::SUCCESS
    })
}

/// The signal with which service managers end a process, from the moment of this call on.
#[cfg(unix)]
fn terminated() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminated = signal(SignalKind::terminate())?;
    Ok(async move {
        terminated.recv().await;
    })
}

#[cfg(not(unix))]
fn terminated() -> std::io::Result<impl Future<Output = ()>> {
    Ok(std::future::pending())
}

/// Reports why the service did not start, in the format in which wrong options are reported.
fn failed(error: &dyn std::fmt::Display) -> ExitCode {
    // The error is ignored: without standard error, the exit code is the only report.
    drop(writeln!(std::io::stderr(), "error: {error}"));
    ExitCode::FAILURE
}

/// Prints the address of the service and the commands to use it.
fn introduce(running: &Running, json: bool) -> std::io::Result<()> {
    let (url, key, account) = (&running.base_url, &running.api_key, &running.account);
    let token = &running.token;
    let mut out = std::io::stdout().lock();
    if json {
        let (store, table) = (&running.store_url, &running.table);
        let access_key = &running.access_key;
        let line = serde_json::json!({"base_url": url, "token": token, "api_key": key, "account": account, "store": store,
            "store_access_key": access_key, "table": table, "network": running.network()});
        writeln!(out, "{line}")?;
    } else {
        let store = &running.store_url;
        write!(
            out,
            r#"Fleet Charging Service

  console  {url}/?token={token}
  URL      {url}
  token    {token}
  test key {key}
  account  {account}
  table    {table} at {store}

Open the first address in a browser: it signs the browser in. {url}/docs has the guides and the reference. Try:

curl -s '{url}/v1/charging_stations?limit=2' -H 'Authorization: Bearer {key}'
curl -s '{url}/v1/fleets' -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -d '{{"name":"Night shift","email":"ops@fleet.example","address":{{"line1":"1 Bow Road","city":"London","postal_code":"E3 4LH","country":"GB"}}}}'
curl -s '{url}/_local/clock' -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' -d '{{"advance_seconds":1800}}'

The README goes on from here to a reservation and its bill. The clients take the address, the key and the token from this environment:

export FLEET_API_URL={url} FLEET_API_KEY={key} FLEET_LOCAL_TOKEN={token}

A webhook endpoint with the address {url}/_local/inbox is shown here, delivery by delivery. Ctrl-C ends the service.

"#,
            table = running.table,
        )?;
        if let Some(network) = running.network() {
            write!(
                out,
                "A charging network is connected ({network}). What happens there is shown here. Its charge points:\n\n\
                 curl -s '{url}/_local/network' -H 'Authorization: Bearer {token}'\n\
                 curl -s '{url}/_local/network/next_command' -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' -d '{{\"behaviour\":\"reject\"}}'\n\n"
            )?;
        }
        if let Some(access_key) = &running.access_key {
            write!(
                out,
                "cargo-lambda and other clients reach the table with this environment until the service ends:\n\n\
                 export AWS_ENDPOINT_URL_DYNAMODB={store} AWS_ACCESS_KEY_ID={access_key} \
                 AWS_SECRET_ACCESS_KEY={SECRET_KEY}\n\n"
            )?;
        }
    }
    out.flush()
}
