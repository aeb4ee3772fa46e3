//! The service as a process, and requests to it.

use std::path::Path;
use std::process::Stdio;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// The service: `cargo run -- --memory --port 0 --json` with one station of its own. It stops when this value is dropped.
pub struct Runner {
    pub base_url: String,
    api_key: String,
    /// The token that the routes below `/_local` require.
    token: String,
    http: reqwest::Client,
    _child: Child,
}

/// The response of the service.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub body: Value,
}

impl Response {
    /// The body of a response with status 200.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{:#}", self.body);
        self.body
    }
}

impl Runner {
    /// Starts the runner that `cargo build --workspace` has built; `RUNNER` names another executable.
    pub async fn start() -> Self {
        Self::start_with(&[], &[]).await
    }

    /// Starts it with additional options and environment variables.
    pub async fn start_with(options: &[&str], variables: &[(&str, &str)]) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let built = folder.join("../../target/debug/local");
        let program = std::env::var_os("RUNNER").unwrap_or_else(|| built.into());
        let mut command = Command::new(&program);
        command
            .args(["--memory", "--port", "0", "--json", "--stations"])
            .arg(folder.join("stations.json"))
            .args(options);
        command.envs(variables.iter().copied());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.kill_on_drop(true).spawn();
        let mut child = child.unwrap_or_else(|error| {
            panic!(
                "{}: {error}; cargo build --workspace builds it",
                program.display()
            )
        });
        // Its log is part of the test's output, which is shown when the test fails.
        let mut log = BufReader::new(child.stderr.take().expect("its log")).lines();
        tokio::spawn(async move {
            while let Ok(Some(line)) = log.next_line().await {
                eprintln!("{line}");
            }
        });
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let line = lines
            .next_line()
            .await
            .expect("a line")
            .expect("an introduction");
        let introduction: Value = serde_json::from_str(&line).expect("JSON");
        let text = |name: &str| introduction[name].as_str().expect("a text").to_owned();
        Self {
            base_url: text("base_url"),
            api_key: text("api_key"),
            token: text("token"),
            http: reqwest::Client::builder()
                .no_proxy()
                .build()
                .expect("a client"),
            _child: child,
        }
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Response {
        let url = format!("{}{path}", self.base_url);
        let credential = if path.starts_with("/_local/") {
            &self.token
        } else {
            &self.api_key
        };
        let mut request = self.http.request(method, url).bearer_auth(credential);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.expect("a response");
        Response {
            status: response.status().as_u16(),
            body: response.json().await.unwrap_or_default(),
        }
    }

    pub async fn get(&self, path: &str) -> Response {
        self.send(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Response {
        self.send(Method::POST, path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Response {
        self.send(Method::DELETE, path, None).await
    }

    /// Does everything that is due, and moves the clock by this number of seconds.
    pub async fn advance(&self, seconds: u32) {
        self.post("/_local/clock", json!({"advance_seconds": seconds}))
            .await
            .ok();
    }

    /// Performs an operator's action on networks.
    pub async fn operate(&self, action: &str, mut body: Value) -> Response {
        body["action"] = json!(action);
        body["mode"] = json!("test");
        self.post("/_local/networks", body).await
    }

    /// Registers the service with a platform, with a token A of that platform.
    pub async fn connect(&self, versions_url: &str, token_a: &str) -> Response {
        let body = json!({"name": "A network", "url": versions_url, "token": token_a});
        self.operate("connect", body).await
    }

    /// Issues a token A. Returns the versions URL, and the token.
    pub async fn issue_token(&self) -> (String, String) {
        let issued = self
            .operate("issue_token", json!({"name": "A network"}))
            .await
            .ok();
        let text = |name: &str| issued[name].as_str().expect("a text").to_owned();
        (text("versions_url"), text("token"))
    }

    /// The networks in the form for operators.
    pub async fn networks(&self) -> Vec<Value> {
        let body = self.get("/_local/networks").await.ok();
        body["data"].as_array().expect("networks").clone()
    }

    /// Pulls everything from the only network, and waits until that has ended.
    pub async fn pull(&self) -> Value {
        // The pull that follows the exchange of credentials ends first.
        self.advance(1).await;
        let network = self.networks().await.remove(0);
        let body = json!({"network": network["id"], "full": true});
        // A worker may be writing the network's item at the same moment.
        let mut response = self.operate("pull", body.clone()).await;
        for _ in 0..5 {
            if response.status == 200 {
                break;
            }
            self.advance(1).await;
            response = self.operate("pull", body.clone()).await;
        }
        response.ok();
        self.advance(1).await;
        self.networks().await.remove(0)["pull"].clone()
    }

    /// All stations, read page by page.
    pub async fn stations(&self) -> Vec<Value> {
        let mut stations = Vec::new();
        let mut path = "/v1/charging_stations?limit=100".to_owned();
        loop {
            let body = self.get(&path).await.ok();
            stations.extend(body["data"].as_array().expect("stations").clone());
            match body["next_page_url"].as_str() {
                Some(next) => path = next.trim_start_matches(&self.base_url).to_owned(),
                None => return stations,
            }
        }
    }
}
