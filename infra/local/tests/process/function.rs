//! A function beside the runner, which reaches the table with the environment that the runner prints.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use serde_json::Value;

use crate::{Folder, RUNNER, until};

/// The executable of the functions, built from the current sources, which is beside the runner's. Cargo builds only the executables of
/// this package for its tests.
fn functions() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let executable = Path::new(RUNNER).with_file_name("functions");
        let folder = executable.parent().expect("a target folder");
        let profile = if folder.ends_with("release") {
            "release"
        } else {
            "dev"
        };
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let build = ["build", "--workspace", "--quiet", "--profile", profile];
        // The variables that cargo sets for this package's tests would change the environment of packages that read them. Cargo would
        // rebuild them and half of the workspace, now and in the next command.
        let about_us =
            |name: &String| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        let mut command = Command::new(cargo);
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        for name in names.filter(about_us) {
            command.env_remove(name);
        }
        let built = command.args(build).status().expect("cargo runs");
        assert!(built.success());
        executable
    })
}

/// The requests of a function to the runtime API.
type Reports = Arc<Mutex<Vec<(String, Value)>>>;

/// A runtime API like that of cargo-lambda and Lambda, with one event. Returns its address, and the requests of the function.
async fn runtime_api(event: &'static str) -> (String, Reports) {
    let (reports, requested) = (Reports::default(), Arc::new(AtomicBool::new(false)));
    let next = move || {
        let again = requested.swap(true, Ordering::SeqCst);
        async move {
            if again {
                std::future::pending::<()>().await;
            }
            let mut headers = HeaderMap::new();
            for (name, value) in [
                ("lambda-runtime-aws-request-id", "1"),
                ("lambda-runtime-deadline-ms", "4102444800000"),
                (
                    "lambda-runtime-trace-id",
                    "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=1;Sampled=1",
                ),
                (
                    "lambda-runtime-invoked-function-arn",
                    "arn:aws:lambda:us-east-1:1:function:all",
                ),
            ] {
                headers.insert(name, value.parse().expect("a header"));
            }
            (headers, event)
        }
    };
    let note = |kind: &'static str| {
        post(async move |State(reports): State<Reports>, body: Bytes| {
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let mut reports = reports.lock().expect("the reports");
            reports.push((kind.to_owned(), body));
            StatusCode::ACCEPTED
        })
    };
    let router = Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route(
            "/2018-06-01/runtime/invocation/1/response",
            note("response"),
        )
        .route("/2018-06-01/runtime/invocation/1/error", note("error"))
        .with_state(reports.clone());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
    let listener = listener.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, reports)
}

/// The environment that `cargo run` prints for other clients of the table, which the README exports.
fn printed_environment(folder: &Folder) -> (Child, Vec<(String, String)>) {
    let mut child = Command::new(RUNNER)
        .args(["--port", "0", "--data"])
        .arg(&folder.0)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the runner starts");
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut lines = lines.map(|line| line.expect("a line"));
    let export = lines.find(|line| line.starts_with("export AWS_"));
    let export = export.expect("a line with the environment");
    let export = export.trim_start_matches("export ").to_owned();
    let pairs = export.split(' ').map(|pair| {
        let (name, value) = pair.split_once('=').expect("an assignment");
        (name.to_owned(), value.to_owned())
    });
    (child, pairs.collect())
}

#[tokio::test]
async fn a_function_reaches_the_table_only_with_the_printed_key() {
    let folder = Folder::new("function");
    let (mut runner, environment) = printed_environment(&folder);
    let names: Vec<_> = environment.iter().map(|(name, _)| name.as_str()).collect();
    let readme = include_str!("../../../../README.md");
    let export = readme.lines().find(|line| line.starts_with("export "));
    let export = export.expect("the README's line");
    for name in [
        "AWS_ENDPOINT_URL_DYNAMODB",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
    ] {
        assert!(names.contains(&name) && export.contains(&format!("{name}=")));
    }
    let key = environment
        .iter()
        .find(|(name, _)| name == "AWS_ACCESS_KEY_ID");
    let profile = folder.0.join("aws-config");
    let process = format!(
        r#"printf '{{"Version":1,"AccessKeyId":"{}","SecretAccessKey":"local"}}'"#,
        key.expect("a key").1
    );
    let text = format!("[profile fleet]\nregion = eu-west-1\ncredential_process = {process}\n");
    std::fs::write(&profile, text).expect("a file");
    let profile = profile.to_str().expect("a path");
    let of_profile = [("AWS_PROFILE", "fleet"), ("AWS_CONFIG_FILE", profile)];
    for (what, change, succeeds) in [
        ("the environment", &[][..], true),
        ("another key", &[("AWS_ACCESS_KEY_ID", "local")], false),
        ("a profile", &of_profile, true),
    ] {
        let event = include_str!("../../../../events/list-fleets.json");
        let (address, reports) = runtime_api(event).await;
        let mut command = function(&address);
        command.envs(environment.iter().cloned());
        if what == "a profile" {
            command
                .env_remove("AWS_ACCESS_KEY_ID")
                .env_remove("AWS_SECRET_ACCESS_KEY");
        }
        command.envs(change.iter().copied()).stdout(Stdio::piped());
        let mut function = command.spawn().expect("the functions start");
        until("the function reports", || {
            !reports.lock().expect("the reports").is_empty()
        })
        .await;
        drop(function.kill());
        let log = function.wait_with_output().expect("the log").stdout;
        assert_every_line_is_correlated(&String::from_utf8_lossy(&log));
        let (kind, answer) = reports.lock().expect("the reports")[0].clone();
        assert_eq!(kind, "response", "{what}: {answer}");
        if succeeds {
            assert_eq!(answer["statusCode"], 200, "{what}: {answer}");
            assert!(answer.to_string().contains("Sample fleet"), "{answer}");
        } else {
            assert!(answer["statusCode"].as_u64() >= Some(500), "{answer}");
        }
    }
    drop(runner.kill());
    drop(runner.wait());
}

/// The command that starts the executable of the functions for the runtime API at this address.
fn function(address: &str) -> Command {
    let mut command = Command::new(functions());
    command
        .env("AWS_LAMBDA_RUNTIME_API", address)
        .env("AWS_LAMBDA_FUNCTION_NAME", "all")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128");
    command
}

#[test]
fn a_function_without_credentials_says_so() {
    let mut command = function("127.0.0.1:1");
    for name in [
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_DYNAMODB",
        "AWS_PROFILE",
    ] {
        command.env_remove(name);
    }
    let ended = command
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_CONFIG_FILE", "/nonexistent")
        .env("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
        .output()
        .expect("the functions run");
    assert!(!ended.status.success());
    let message = String::from_utf8_lossy(&ended.stderr);
    assert!(
        message.contains("no AWS credentials were found"),
        "{message}"
    );
    assert!(message.contains("AWS_PROFILE"), "{message}");
}

/// Checks that each line that a function logged has the ids of the request in the service, in API Gateway and in X-Ray.
fn assert_every_line_is_correlated(log: &str) {
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    assert!(!lines.is_empty());
    for line in lines {
        let span = &line["span"];
        let request = span["request.id"].as_str().unwrap_or_default();
        assert!(request.starts_with("req_"), "{line}");
        assert_eq!(span["gateway.request_id"], "sample", "{line}");
        let trace = "1-5bef4de7-ad49b0e87f6ef6c87fc2e700";
        assert_eq!(span["trace.id"], trace, "{line}");
    }
}
