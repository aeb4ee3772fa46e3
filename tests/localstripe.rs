//! `localstripe`, a server that behaves like Stripe, on loopback. It supports neither idempotency keys nor search.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// `localstripe`, on loopback.
pub struct LocalStripe {
    process: Child,
    pub url: String,
}

impl LocalStripe {
    /// # Panics
    /// Python or localstripe is missing: see `tests/README.md`.
    pub async fn start() -> Self {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools");
        let python = std::env::var_os("LOCALSTRIPE_PYTHON")
            .map_or_else(|| tools.join("localstripe/bin/python"), Into::into);
        let port = {
            let free = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
            free.local_addr().expect("an address").port()
        };
        let script = format!(
            "from aiohttp import web; from localstripe.server import app; web.run_app(app, host='127.0.0.1', port={port})"
        );
        let process = Command::new(&python)
            .args(["-c", &script])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut server = Self {
            process: process.expect("localstripe"),
            url: format!("http://127.0.0.1:{port}"),
        };
        for _ in 0..300 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return server;
            }
            let ended = server.process.try_wait().expect("a process");
            assert!(ended.is_none(), "{} has no localstripe", python.display());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("localstripe does not answer");
    }

    /// The token of a card.
    ///
    /// # Panics
    /// The server does not respond.
    pub async fn card(&self, number: &str) -> String {
        let body = format!(
            "type=card&card[number]={number}&card[exp_month]=12&card[exp_year]=2031&card[cvc]=123"
        );
        let request = self.http().post(format!("{}/v1/payment_methods", self.url));
        let request = request
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body);
        let answer = sent(request).await;
        answer["id"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned()
    }

    /// All objects of a list, such as `payment_intents`.
    ///
    /// # Panics
    /// The server does not respond.
    pub async fn all(&self, list: &str) -> Vec<Value> {
        let mut found: Vec<Value> = Vec::new();
        loop {
            let after = match found.last() {
                Some(last) => format!("&starting_after={}", last["id"].as_str().expect("an id")),
                None => String::new(),
            };
            let url = format!("{}/v1/{list}?limit=100{after}", self.url);
            let page = sent(self.http().get(url)).await;
            let data = page["data"].as_array();
            found.extend(data.unwrap_or_else(|| panic!("{page}")).iter().cloned());
            if page["has_more"] != true {
                return found;
            }
        }
    }

    fn http(&self) -> reqwest::Client {
        let client = reqwest::Client::builder().no_proxy().build();
        client.expect("a client")
    }
}

async fn sent(request: reqwest::RequestBuilder) -> Value {
    let answer = request.bearer_auth("sk_test_1").send().await;
    answer.expect("an answer").json().await.expect("JSON")
}

impl Drop for LocalStripe {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
