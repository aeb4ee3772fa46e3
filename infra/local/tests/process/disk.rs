//! Disks that are full.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use tests::fleet;

use crate::{Folder, Process, assert_refused, refused};

/// A folder on a file system of its own with a size in megabytes. None if file systems cannot be mounted.
struct SmallDisk(Folder);

impl SmallDisk {
    fn mount(name: &str, megabytes: u32) -> Option<Self> {
        let folder = Folder::new(name);
        std::fs::create_dir_all(&folder.0).expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "tmpfs"])
            .arg(&folder.0)
            .stderr(Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(folder));
        }
        // Not captured, unlike what a test prints.
        let skipped = b"skipped: a full disk needs a file system that only root can mount\n";
        std::io::stderr()
            .write_all(skipped)
            .expect("standard error");
        None
    }

    /// The data folder on it.
    fn data(&self) -> Folder {
        Folder(self.0.0.join("data"))
    }

    fn filler(&self) -> PathBuf {
        self.0.0.join("filler")
    }

    /// Fills the disk until only `room` bytes are free.
    fn fill(&self, room: usize) {
        let mut filler = std::fs::File::create(self.filler()).expect("a file");
        let block = vec![1; 4096];
        while filler.write_all(&block).is_ok() {}
        let length = filler.metadata().expect("a length").len();
        filler
            .set_len(length.saturating_sub(room as u64))
            .expect("room");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("--lazy").arg(&self.0.0).status());
    }
}

#[test]
fn a_start_on_a_full_disk_says_so() {
    let Some(disk) = SmallDisk::mount("full-at-start", 8) else {
        return;
    };
    let data = disk.data();
    let shown = data.0.display().to_string();
    let args = ["--port", "0", "--data", &shown];
    disk.fill(0);
    assert_refused(&args, 1, &[&shown, "No space left on device"]);
    // There is room for the first files, but not for the table.
    disk.fill(200 * 1024);
    let (code, message) = refused(&args);
    assert_eq!(code, Some(1), "{message}");
    assert!(
        message.ends_with(&format!("error: the disk of {shown} is full\n")),
        "{message}"
    );
    assert!(message.len() < 600, "{message}");
    std::fs::remove_file(disk.filler()).expect("the filler");
    Process::start(&data).kill();
}

#[tokio::test]
async fn a_disk_that_fills_up_loses_nothing_that_was_acknowledged() {
    let Some(disk) = SmallDisk::mount("full", 48) else {
        return;
    };
    let data = disk.data();
    let log = Folder::new("full-log");
    std::fs::create_dir_all(&log.0).expect("a folder");
    let log = log.0.join("log");
    let file = std::fs::File::create(&log).expect("a file");
    let process = Process::start_with(&data, |command| command.stderr(file));
    let mut kept = vec![process.client.post("/v1/fleets", fleet()).await.id()];
    disk.fill(256 * 1024);
    let mut refusals = 0;
    for _ in 0..200 {
        let answer = process.client.post("/v1/fleets", fleet()).await;
        match answer.status {
            200 => kept.push(answer.id()),
            _ => {
                assert_eq!(answer.error(), (503, "api_error", None, None));
                assert_eq!(answer.header("retry-after"), "1");
                refusals += 1;
            }
        }
        if refusals == 20 {
            break;
        }
    }
    assert_eq!(refusals, 20);
    // Existing objects can still be read.
    let path = format!("/v1/fleets/{}", kept[0]);
    process.client.get_ok(&path).await;
    // The engine retries the relay for longer than it retries work that fails for another reason.
    tokio::time::sleep(Duration::from_secs(3)).await;
    std::fs::remove_file(disk.filler()).expect("the filler");
    let headers = [("idempotency-key", "after")];
    let after = process
        .client
        .try_post("/v1/fleets", fleet(), &headers)
        .await;
    kept.push(after.expect("an answer").id());
    process.advance(1).await;
    let messages = std::fs::read_to_string(&log).expect("the messages");
    assert_eq!(
        messages
            .matches("the disk of the data folder is full")
            .count(),
        1,
        "{messages}"
    );
    process.kill();

    let process = Process::start(&data);
    let mut found = process.client.walk("/v1/fleets?limit=100").await;
    found.sort();
    kept.sort();
    assert_eq!(found, kept);
    // Each fleet has its event.
    let mut created = Vec::new();
    for event in process
        .client
        .walk("/v1/events?type=fleet.created&limit=100")
        .await
    {
        let event = process
            .client
            .get(&format!("/v1/events/{event}"))
            .await
            .body;
        created.extend(event["data"]["object"]["id"].as_str().map(str::to_owned));
    }
    created.sort();
    assert_eq!(created, kept);
    process.kill();
}
