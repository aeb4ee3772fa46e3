//! The service on this machine: the functions, with a clock, a queue and a scheduler in the same process and files in the data folder.

use std::net::SocketAddr;
use std::sync::Arc;

use cpo::Pace;
use functions::app::{App, Ports};
use functions::documents::write::write;
use functions::networks::import_stations::Imported;
use kernel::{Mode, Result, Tenant};

use crate::backlog::Backlog;
use crate::clock::LocalClock;
use crate::credentials::{SavedAccount, Secrets, random};
use crate::database::Database;
use crate::downloads::Downloads;
use crate::engine::Engine;
use crate::files::Folder;
use crate::notices::Notices;
use crate::options::Options;
use crate::patience::during;
use crate::start_error::StartError;
use crate::timeline::Timeline;
use crate::token::Token;
use crate::{demo, stations};

/// The functions with their ports, and the account of the run.
pub struct Service {
    pub app: App,
    pub account: SavedAccount,
    /// The token of the routes below `/_local`.
    pub token: Token,
    pub base_url: String,
    pub clock: Arc<LocalClock>,
    pub downloads: Arc<Downloads>,
    /// The stations that were loaded from files. None without a file.
    pub imported: Option<Imported>,
    timeline: Arc<Timeline>,
    /// Whether the messages of the last run are known.
    is_restored: bool,
}

impl Service {
    /// Opens the service at an address, with its account and its stations in the table.
    ///
    /// # Errors
    /// The table or the folder cannot be used, or a file of stations cannot be read.
    pub async fn open(
        options: &Options,
        folder: &Folder,
        database: &Database,
        address: SocketAddr,
    ) -> Result<Self, StartError> {
        let (store, is_new) = database.store(options).await?;
        let clock = Arc::new(LocalClock::open(folder)?);
        if let Some(moment) = options.starts_at {
            clock.move_to(moment)?;
        }
        let (backlog, restored) = Backlog::open(folder)?;
        let is_restored = restored.is_some();
        let restored = restored.unwrap_or_default();
        let timeline = Arc::new(Timeline::new(clock.clone(), backlog, restored));
        let secrets = Secrets::open(folder, options.encryption_keys.as_deref())?;
        let (token, base_url) = (Token::of(&secrets.page), format!("http://{address}"));
        let downloads = Downloads::new(folder.path(), &secrets.page, &base_url, clock.clone());
        let downloads = Arc::new(downloads);
        let ports = Ports {
            store,
            clock: clock.clone(),
            queue: timeline.clone(),
            schedules: timeline.clone(),
            payments: options.payments.clone(),
            files: downloads.clone(),
            write_document: write,
        };
        let app = App::new(ports, options.settings(&secrets)?);
        let account = secrets.account(&app, folder).await?;
        if database.embedded.is_some() {
            folder.end_table()?;
            demo::create(&app).await?;
        }
        let imported = stations::import(&app, folder, options.sources(), is_new);
        let imported = during("stations are loaded", imported).await?;
        Ok(Self {
            app,
            account,
            token,
            base_url,
            clock,
            downloads,
            imported,
            timeline,
            is_restored,
        })
    }

    /// The engine of the service, which has found the work of earlier runs.
    ///
    /// # Errors
    /// `Unavailable` if the table or its stream cannot be read.
    pub async fn engine(
        &self,
        options: &Options,
        folder: &Folder,
        database: &Database,
        pace: Option<Pace>,
    ) -> Result<Arc<Engine>> {
        let tenant = Tenant::new(self.account.account.clone(), Mode::Test);
        let notices = Notices::new(tenant, hex::encode(&random()?[..8]), self.clock.clone());
        let engine = Arc::new(Engine::new(
            self.app.clone(),
            self.clock.clone(),
            self.timeline.clone(),
            Arc::new(notices),
            database.streams(&self.app.store, folder).await?,
            pace,
            if options.by_hand { options.slack } else { 1 },
        ));
        if !self.is_restored {
            during("pending work is looked for", engine.recover()).await?;
        }
        Ok(engine)
    }
}
