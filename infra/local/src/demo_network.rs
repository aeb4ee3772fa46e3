//! `--network`: a charging network on this machine, the program of `infra/cpo`, which speaks OCPI with the service over HTTP.
//!
//! Its clock is that of the service, and moving the clock waits until the network has sent everything that was due. All other
//! communication between the two is OCPI. At the first start the service registers with the network as an operator would (`connect`).
//! The network's state, including the registration, is in the data folder; at a later start the network sends the service its new
//! address and token (PUT of the credentials).

use std::io::Write as _;
use std::sync::Arc;

use cpo::{Cpo, Line, NAME};
use functions::App;
use functions::networks::manage::{self, Manage, Managed};
use kernel::{Error, Mode, Result};
use models::ports::Clock;
use ocpi::network::NetworkStatus;
use ocpi::versions::OwnUrls;

use crate::clock::LocalClock;
use crate::files::{self, Folder};
use crate::options::Options;

/// The path of the actions of a person at the charge points.
pub const ROUTE: &str = "/_local/network";

/// Starts the network if the options require it. It does not exchange anything with the service yet.
///
/// # Errors
/// Its file cannot be read, or there is no free port.
pub async fn start(
    options: &Options,
    folder: &Folder,
    clock: Arc<LocalClock>,
) -> Result<Option<Cpo>> {
    if !options.network {
        return Ok(None);
    }
    let prints = options.prints();
    let options = cpo::Options {
        port: None,
        file: folder.path().map(|folder| folder.join(files::NETWORK)),
        clock: Arc::new(move || clock.now().into()),
        report: Arc::new(move |line| {
            if prints {
                print(line);
            }
        }),
        by_itself: !options.by_hand,
        controlled_at_port: false,
        scripted: false,
    };
    let started = Cpo::start(options).await.map(Some);
    started.map_err(|why| Error::internal(format!("--network: {why}")))
}

fn print(line: &Line) {
    // The error is ignored: if standard output is closed, there is no reader.
    drop(writeln!(
        std::io::stdout(),
        "{} {NAME}: {}",
        line.at,
        line.text
    ));
}

/// Connects the service, which is at `base_url`, with the network.
///
/// # Errors
/// The exchange of credentials fails.
pub async fn connect(app: &App, network: &Cpo, base_url: &str) -> Result<()> {
    if network.is_connected() && network.renew(&OwnUrls(base_url).versions()).await.is_ok() {
        return Ok(());
    }
    // One of the two has lost its state.
    network.forget();
    let mode = Mode::Test;
    if let Managed::Networks { data } = manage::handle(app, Manage::List { mode }, None).await? {
        let known = data.into_iter().map(|listed| listed.network);
        let known = known
            .filter(|network| network.name == NAME && network.status != NetworkStatus::Revoked);
        for network in known.map(|network| network.id) {
            manage::handle(app, Manage::Revoke { mode, network }, None).await?;
        }
    }
    let connect = Manage::Connect {
        mode,
        name: NAME.to_owned(),
        url: network.versions_url(),
        token: network.token_a(),
    };
    manage::handle(app, connect, Some(base_url)).await.map(drop)
}
