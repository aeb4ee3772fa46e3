//! The client of a test and its responses.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::panic::Location;

use kernel::{Id, Mode, Tenant};
use serde_json::{Value, json};

use crate::{Client, Crew, TestResponse, contract, driver, fleet, id_of, vehicle};

/// A client that shows redirects instead of following them.
fn unredirected() -> reqwest::ClientBuilder {
    let client = reqwest::Client::builder().no_proxy();
    client.redirect(reqwest::redirect::Policy::none())
}

impl Client {
    /// A client of a service elsewhere.
    pub fn new(base_url: &str, key: Option<&str>) -> Self {
        // A second installation fails and changes nothing.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut http = unredirected();
        // Names below `localhost` mean this machine, even if its resolver does not support them.
        let url: reqwest::Url = base_url.parse().expect("an address");
        if let Some(host) = url.host_str().filter(|host| host.ends_with(".localhost")) {
            let port = url.port_or_known_default().unwrap_or_default();
            http = http.resolve(host, SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        }
        if url.scheme() == "http" {
            // Reading the certificates of the system takes longer than most requests of a test.
            http = http.tls_certs_only([]);
        }
        let http = http.build().expect("a client");
        Self {
            http,
            base_url: base_url.to_owned(),
            key: key.map(str::to_owned),
            account: None,
        }
    }

    /// The same client, with connections from another address of this machine.
    pub fn from_address(&self, address: Ipv4Addr) -> Self {
        let http = unredirected();
        let http = http.local_address(IpAddr::from(address)).build();
        Self {
            http: http.expect("a client"),
            ..self.clone()
        }
    }

    /// A fleet, a driver attached to it, and a Type2 vehicle in it.
    pub async fn crew(&self) -> Crew {
        let fleet = self.post("/v1/fleets", fleet()).await.id();
        let driver = self.post("/v1/drivers", driver()).await.id();
        self.post(
            &format!("/v1/drivers/{driver}/attach"),
            json!({"fleet": fleet}),
        )
        .await
        .expect(200);
        let vehicle = self.post("/v1/vehicles", vehicle(&fleet)).await.id();
        Crew {
            fleet,
            driver,
            vehicle,
        }
    }

    /// A client of a new account below this one.
    pub async fn child(&self) -> Self {
        let body = json!({"name": "Test", "email": "ops@fleet.example", "type": "business"});
        let account = self.post("/v1/accounts", body).await.id();
        let acting = [("service-account", account.as_str())];
        let key = self
            .send("POST", "/v1/api_keys", Some("{}".into()), &acting)
            .await
            .expect(200);
        Self {
            key: key.body["secret"].as_str().map(str::to_owned),
            account: Some(Id::from(account.as_str())),
            ..self.clone()
        }
    }

    /// The client's account, in test mode.
    pub fn tenant(&self) -> Tenant {
        Tenant {
            account: self.account.clone().expect("an account"),
            mode: match &self.key {
                Some(key) if key.starts_with("sk_live_") => Mode::Live,
                _ => Mode::Test,
            },
        }
    }

    /// The response to a POST. None if the service ends before it is complete.
    pub async fn try_post(
        &self,
        path: &str,
        body: Value,
        headers: &[(&str, &str)],
    ) -> Option<TestResponse> {
        self.try_send("POST", path, Some(body.to_string()), headers)
            .await
            .ok()
    }

    pub async fn get(&self, path: &str) -> TestResponse {
        self.send("GET", path, None, &[]).await
    }

    pub async fn post(&self, path: &str, body: Value) -> TestResponse {
        self.send("POST", path, Some(body.to_string()), &[]).await
    }

    /// The body of the response to a GET, which has to succeed.
    #[track_caller]
    pub fn get_ok(&self, path: &str) -> impl Future<Output = Value> {
        self.send_ok("GET", path, None)
    }

    /// The body of the response to a POST, which has to succeed.
    #[track_caller]
    pub fn post_ok(&self, path: &str, body: Value) -> impl Future<Output = Value> {
        self.send_ok("POST", path, Some(body.to_string()))
    }

    /// The body of the response to a DELETE, which has to succeed.
    #[track_caller]
    pub fn delete_ok(&self, path: &str) -> impl Future<Output = Value> {
        self.send_ok("DELETE", path, None)
    }

    #[track_caller]
    fn send_ok(
        &self,
        method: &str,
        path: &str,
        body: Option<String>,
    ) -> impl Future<Output = Value> {
        let caller = Location::caller();
        async move {
            let response = self.send(method, path, body, &[]).await;
            let text = &response.text;
            assert_eq!(response.status, 200, "{caller}: {method} {path}: {text}");
            response.body
        }
    }

    /// Creates an object, and returns its id.
    #[track_caller]
    pub fn create(&self, path: &str, body: Value) -> impl Future<Output = String> {
        let created = self.post_ok(path, body);
        async move { id_of(&created.await).to_owned() }
    }

    pub async fn delete(&self, path: &str) -> TestResponse {
        self.send("DELETE", path, None, &[]).await
    }

    /// Sends a request with further headers; a body is JSON unless a header says otherwise.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<String>,
        headers: &[(&str, &str)],
    ) -> TestResponse {
        self.try_send(method, path, body, headers)
            .await
            .expect("an answer")
    }

    async fn try_send(
        &self,
        method: &str,
        path: &str,
        body: Option<String>,
        headers: &[(&str, &str)],
    ) -> Result<TestResponse, reqwest::Error> {
        let url = if path.starts_with("http") {
            path.to_owned()
        } else {
            format!("{}{path}", self.base_url)
        };
        let described = format!("{method} {path} {}", body.as_deref().unwrap_or_default());
        let mut request = self.http.request(method.parse().expect("a method"), url);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        if let Some(body) = body {
            if !headers.iter().any(|(name, _)| *name == "content-type") {
                request = request.header("content-type", "application/json");
            }
            request = request.body(body);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        let current = kernel::version::CURRENT;
        if headers
            .get("service-version")
            .is_some_and(|version| version == current)
        {
            contract::check(
                method,
                path.strip_prefix(&self.base_url).unwrap_or(path),
                status,
                &body,
            );
        }
        Ok(TestResponse {
            request: described,
            status,
            headers,
            text,
            body,
        })
    }

    /// Fails unless the filters by `created` find each object of a list.
    pub async fn assert_found_by_created(&self, path: &str) {
        let objects = self.get_ok(path).await["data"].clone();
        for object in objects.as_array().expect("a list") {
            let at = object["created"].as_str().expect("a time");
            let separator = if path.contains('?') { '&' } else { '?' };
            let found = self
                .get(&format!(
                    "{path}{separator}created[gte]={at}&created[lte]={at}"
                ))
                .await
                .ids();
            assert!(found.iter().any(|id| object["id"] == **id), "{object}");
        }
    }

    /// Walks a list by its next pages, and returns every id.
    pub async fn walk(&self, path: &str) -> Vec<String> {
        let mut ids = Vec::new();
        let mut next = Some(path.to_owned());
        while let Some(path) = next {
            let page = self.get(&path).await.expect(200);
            ids.extend(page.ids());
            next = page.body["next_page_url"].as_str().map(str::to_owned);
        }
        ids
    }
}

impl TestResponse {
    /// Checks the status, and returns the response.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}: {}", self.request, self.text);
        self
    }

    /// The id of the object in the response.
    #[track_caller]
    pub fn id(&self) -> String {
        assert_eq!(self.status, 200, "{}", self.text);
        self.body["id"].as_str().expect("an id").to_owned()
    }

    /// The ids of a page.
    pub fn ids(&self) -> Vec<String> {
        let objects = self.body["data"].as_array().cloned().unwrap_or_default();
        objects
            .iter()
            .filter_map(|object| object["id"].as_str().map(str::to_owned))
            .collect()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// Status, type, code and param of an error.
    pub fn error(&self) -> (u16, &str, Option<&str>, Option<&str>) {
        assert_eq!(self.body["object"], "error", "{}", self.text);
        let body = &self.body;
        (
            self.status,
            body["type"].as_str().unwrap_or_default(),
            body["code"].as_str(),
            body["param"].as_str(),
        )
    }

    /// Checks that this is an `invalid_request_error` with this status, code and param. The message shows the request, so that rows of
    /// a table need no other name.
    #[track_caller]
    pub fn expect_error<'a>(
        &self,
        status: u16,
        code: impl Into<Option<&'a str>>,
        param: impl Into<Option<&'a str>>,
    ) {
        let expected = (status, "invalid_request_error", code.into(), param.into());
        assert_eq!(self.error(), expected, "{}: {}", self.request, self.text);
    }
}
