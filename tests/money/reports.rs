//! A report is created completely or not at all, regardless of crashes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use kernel::{Error, Id, Mode, Result};
use models::Report;
use models::ports::files::Files;
use models::report::ReportStatus;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tests::faulty::Dice;
use tests::records::Records;
use tests::stage::{Outside, Stage, setting};
use tests::{Client, TestApp};

const SESSIONS: i64 = 8;

/// Stores files, and sometimes loses the acknowledgement.
struct Shelf {
    dice: Dice,
    files: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl Shelf {
    fn fails(&self) -> Result<()> {
        if self.dice.percent(25) {
            Err(Error::unavailable("the shelf is out of reach"))
        } else {
            Ok(())
        }
    }
}

impl Files for Shelf {
    fn put<'a>(
        &'a self,
        key: &'a str,
        _: &'static str,
        content: Vec<u8>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.fails()?;
            let mut files = self.files.lock().expect("the files");
            let before = files.insert(key.to_owned(), content);
            assert_eq!(before, None, "{key} is written twice");
            drop(files);
            self.fails()
        })
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Vec<u8>>> {
        let found = self.files.lock().expect("the files").get(key).cloned();
        Box::pin(async move { found.ok_or_else(|| Error::internal("no such file")) })
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        let files = self.files.lock().expect("the files");
        let keys = files.keys().filter(|key| key.starts_with(prefix)).cloned();
        let keys = keys.collect();
        Box::pin(async move { Ok(keys) })
    }

    fn delete<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<()>> {
        self.files.lock().expect("the files").remove(key);
        Box::pin(async { Ok(()) })
    }

    fn link<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move { Ok(format!("https://files.example/{key}")) })
    }
}

/// The number of reports of one account: its newest hundred events include those of all of them.
const AT_A_TIME: usize = 20;

#[tokio::test]
async fn a_report_is_whole_or_there_is_none_whatever_dies() {
    let (seeds, first) = (setting("MONEY_SEEDS", 3) * 5, setting("MONEY_SEED", 1));
    let mut succeeded = 0;
    let seeded: Vec<u64> = (first..first + seeds).collect();
    for seeded in seeded.chunks(AT_A_TIME) {
        let test = TestApp::start().await;
        let mut records = Records::of(&test).await;
        let crew = test.crew(&test.alice).await;
        for _ in 0..SESSIONS {
            test.completed_session(&crew, json!({})).await;
        }
        for seed in seeded {
            succeeded += u64::from(make(&test, &mut records, *seed).await);
        }
    }
    assert!(
        succeeded > seeds / 2,
        "{succeeded} of {seeds} prove nothing"
    );
}

/// Creates a report under faults. Returns whether it exists.
async fn make(test: &TestApp, records: &mut Records, seed: u64) -> bool {
    let shelf = Arc::new(Shelf {
        dice: Dice::new(!seed),
        files: Mutex::default(),
    });
    let outside = Outside {
        files: shelf.clone(),
        ..Outside::of(test)
    };
    let client: &Client = &test.alice;
    let mut stage = Stage::new(test, client, outside, seed, test.now());
    let parameters = json!({"type": "cost_analysis", "group_by": "vehicle", "format": "json",
        "period_start": test.in_minutes(-60), "period_end": test.in_minutes(1)});
    let id = stage
        .make("/v1/reports", json!({"parameters": parameters}))
        .await;
    // Three tries, each of which may end without a result.
    for _ in 0..12 {
        stage.settle(records).await;
        stage.pass(5);
        stage.sweep().await;
    }
    stage.settle(records).await;
    assert_eq!(stage.tenant.mode, Mode::Test);
    let found = Id::from(id.as_str());
    let stored = test.app().store.load::<Report>(&stage.tenant, &found).await;
    let stored = stored.expect("a report");
    let events = client.get("/v1/events?limit=100").await.body;
    let events = events["data"].as_array().expect("a list").iter();
    let types: Vec<_> = events
        .filter(|event| event["data"]["object"]["id"] == json!(id))
        .map(|event| event["type"].as_str().expect("a type"))
        .collect();
    if stored.object.status == ReportStatus::Failed {
        assert_eq!(
            (&stored.internal.file, types.as_slice()),
            (&None, &["report.failed"][..])
        );
        return false;
    }
    assert_eq!(types, ["report.succeeded"], "seed {seed}: {stored:?}");
    let key = stored.internal.file.as_deref().expect("a file");
    let content = shelf.get(key).await.expect("the file");
    assert_eq!(stored.object.size, content.len() as u64);
    let digest = hex::encode(Sha256::digest(&content));
    assert_eq!(stored.object.sha256.as_deref(), Some(digest.as_str()));
    let lines: serde_json::Value = serde_json::from_slice(&content).expect("JSON");
    assert!(
        lines.to_string().contains(&(SESSIONS * 1190).to_string()),
        "seed {seed}: {lines}"
    );
    true
}
