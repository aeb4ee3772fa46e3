//! The commands of the README and of the quickstart.

use std::io::Write as _;
use std::process::Command;

use crate::{Folder, Process};

/// The commands below a heading of a page, from a reservation to its bill.
fn commands(page: &str, heading: &str) -> String {
    let (_, walk) = page.split_once(heading).expect("a heading");
    let (walk, _) = walk.split_once("\n## ").expect("another heading");
    let blocks = walk.split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split("```").next());
    blocks.collect()
}

/// Runs the commands below a heading of a page against a process. Returns their output.
async fn walk(process: &Process, page: &str, heading: &str) -> String {
    let text = |name: &str| process.introduction[name].as_str().expect("a text");
    let mut bash = Command::new("bash");
    bash.args(["-eu", "-c", &commands(page, heading)])
        .env("FLEET_API_URL", &process.base_url)
        .env("FLEET_API_KEY", text("api_key"))
        .env("FLEET_LOCAL_TOKEN", text("token"));
    let ran = tokio::task::spawn_blocking(move || bash.output());
    let ran = ran.await.expect("a thread").expect("bash runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&ran.stdout), text(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{err}");
    assert!(
        !out.contains(r#""object":"error""#) && !err.contains(r#""object":"error""#),
        "{out}\n{err}"
    );
    out
}

#[cfg(unix)]
#[tokio::test]
async fn the_walks_of_the_readme_and_the_quickstart_can_be_repeated() {
    let there = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    if !there("bash") || !there("curl") {
        // Not captured, unlike what a test prints.
        let skipped = b"skipped: the commands of the README need bash and curl\n";
        std::io::stderr()
            .write_all(skipped)
            .expect("standard error");
        return;
    }
    let folder = Folder::new("readme");
    let mut process = Process::start(&folder);
    let readme = include_str!("../../../../README.md");
    for run in 1..=3 {
        let out = walk(&process, readme, "## A reservation, with curl").await;
        for part in [
            r#""status":"confirmed""#,
            "service-signature",
            r#""status":"paid""#,
            "amount",
        ] {
            assert!(out.contains(part), "{part} in run {run}: {out}");
        }
        if run == 2 {
            // The clock stays moved after a restart.
            process.kill();
            process = Process::start(&folder);
        }
    }
    let quickstart = include_str!("../../../../docs/quickstart.md");
    let out = walk(&process, quickstart, "## With curl").await;
    for part in [r#""status":"confirmed""#, r#""status":"paid""#] {
        assert!(out.contains(part), "{part}: {out}");
    }
    process.kill();
}
