//! URLs of webhook endpoints that refer to private addresses of the service, in all notations.

use functions::job::Job as _;
use functions::webhooks::deliver::DeliverWebhook;
use functions::{App, jobs};
use kernel::targets::Targets;
use kernel::{Id, Mode};
use serde_json::json;
use tests::{Client, Receiver, TestApp, fleet, header, serve};

/// URLs that no endpoint may have, each with its purpose.
const HOSTILE: [(&str, &str); 56] = [
    ("https://me:secret@fleet.example/", "user and password"),
    ("https://fleet.example@10.0.0.1/", "a host as the user"),
    (
        "https://fleet.example:443@10.0.0.1/",
        "a host and port as the user",
    ),
    ("https://10.0.0.1/", "private"),
    ("https://172.16.0.1/", "private"),
    ("https://192.168.0.1:8443/", "private, with a port"),
    ("https://100.64.0.1/", "carrier-grade NAT"),
    ("https://127.0.0.1/", "loopback"),
    ("https://127.1/", "loopback, shortened"),
    ("https://0.0.0.0/", "this host"),
    ("https://0/", "this host, shortened"),
    (
        "https://169.254.169.254/latest/meta-data/",
        "the metadata service",
    ),
    (
        "https://[fd00:ec2::254]/latest/meta-data/",
        "the metadata service over IPv6",
    ),
    (
        "https://2852039166/",
        "the metadata service as a decimal number",
    ),
    (
        "https://0xa9fea9fe/",
        "the metadata service as a hexadecimal number",
    ),
    (
        "https://0251.0376.0251.0376/",
        "the metadata service in octal",
    ),
    ("https://0xa9.0376.43518/", "the metadata service, mixed"),
    ("https://167772161/", "private as a decimal number"),
    ("https://0x0a000001/", "private as a hexadecimal number"),
    ("https://012.0.0.1/", "private in octal"),
    ("https://10.1/", "private, shortened"),
    ("https://10.0.0.1./", "private with a trailing dot"),
    ("https://%31%30.0.0.1/", "private, percent-encoded"),
    ("https://１０.０.０.１/", "private in fullwidth digits"),
    ("https://①⓪.0.0.①/", "private in circled digits"),
    (
        "https://10。0。0。1/",
        "private with ideographic full stops",
    ),
    ("https://[::]/", "unspecified"),
    ("https://[::1]/", "loopback over IPv6"),
    ("https://[::ffff:10.0.0.1]/", "IPv4-mapped"),
    (
        "https://[::ffff:a9fe:a9fe]/",
        "IPv4-mapped metadata service",
    ),
    ("https://[::10.0.0.1]/", "IPv4-compatible"),
    ("https://[64:ff9b::10.0.0.1]/", "NAT64"),
    ("https://[64:ff9b:1::a00:1]/", "NAT64 of local use"),
    ("https://[2002:a00:1::1]/", "6to4"),
    ("https://[2001:0:a00:1::1]/", "Teredo"),
    ("https://[fe80::1]/", "link-local"),
    ("https://[fe80::1%25eth0]/", "link-local with a zone"),
    ("https://[fc00::1]/", "unique local"),
    ("https://[ff02::1]/", "multicast"),
    ("https://[2001:db8::1]/", "documentation"),
    ("https://224.0.0.1/", "multicast"),
    ("https://255.255.255.255/", "broadcast"),
    ("https://localhost/", "this machine by name"),
    ("https://LOCALHOST./", "this machine by name with a dot"),
    ("https://a.localhost/", "a name below localhost"),
    ("https:10.0.0.1/", "private without slashes"),
    ("https:///10.0.0.1/", "private with three slashes"),
    ("https:\\\\10.0.0.1\\", "private with backslashes"),
    (
        "https://fleet.example\\@10.0.0.1/",
        "a backslash before the host",
    ),
    ("https://fleet.example\t/", "a tab"),
    ("https://10.0.0\n.1/", "a line break within the host"),
    ("http://fleet.example/", "no TLS"),
    ("ftp://fleet.example/", "another protocol"),
    ("file:///etc/passwd", "a file"),
    ("//10.0.0.1/", "no scheme"),
    ("https://256.1.1.1/", "no address"),
];

/// Unusual URLs of public hosts.
const HARMLESS: [&str; 6] = [
    "https://fleet.example./hook",
    "https://xn--bcher-kva.example/",
    "https://bücher.example/10.0.0.1",
    "https://fleet.example/?next=http://10.0.0.1/#http://127.0.0.1/",
    "https://93.184.216.34/",
    "https://[2606:4700::1111]/",
];

/// The service in the configuration of a deployment, which delivers to public addresses only.
fn deployed(app: &TestApp) -> App {
    app.app_with_settings(|settings| settings.targets = Targets::Public)
}

/// A client of that service.
async fn client_of(app: &TestApp, client: &Client) -> Client {
    Client::new(&serve(deployed(app)).await, client.key.as_deref())
}

#[tokio::test]
async fn no_endpoint_has_a_hostile_url() {
    let app = TestApp::start().await;
    app.needs("settings of its own");
    let client = client_of(&app, &app.alice).await;
    let body = |url: &str| json!({"url": url, "enabled_events": ["*"]});
    let endpoint = client
        .post("/v1/webhook_endpoints", body(HARMLESS[0]))
        .await;
    let path = format!("/v1/webhook_endpoints/{}", endpoint.expect(200).id());
    let long = format!("https://fleet.example/{}", "a".repeat(2048));
    let hostile = HOSTILE
        .into_iter()
        .chain([(long.as_str(), "too long"), ("", "nothing")]);
    for (url, what) in hostile {
        let refused = client.post("/v1/webhook_endpoints", body(url)).await;
        let want = (400, "invalid_request_error", None, Some("url"));
        assert_eq!(refused.error(), want, "{what}: {url}");
        let updated = client.post(&path, json!({"url": url})).await;
        assert_eq!(updated.error(), want, "{what}: {url}");
    }
    for url in HARMLESS {
        client.post_ok(&path, json!({"url": url})).await;
    }
    let all = client.get("/v1/webhook_endpoints").await.expect(200);
    assert_eq!(all.ids().len(), 1);
}

#[tokio::test]
async fn endpoints_of_live_mode_have_port_443_or_8443() {
    let app = TestApp::start().await;
    app.needs("settings of its own");
    let live = app.other_account(Mode::Live).await;
    let (live, test) = (
        client_of(&app, &live).await,
        client_of(&app, &app.alice).await,
    );
    for (url, is_fine) in [
        ("https://fleet.example/", true),
        ("https://fleet.example:443/", true),
        ("https://fleet.example:8443/", true),
        ("https://fleet.example:22/", false),
        ("https://fleet.example:80/", false),
        ("https://fleet.example:0/", false),
        ("https://93.184.216.34:6379/", false),
    ] {
        let body = json!({"url": url, "enabled_events": ["*"]});
        let response = live.post("/v1/webhook_endpoints", body.clone()).await;
        if is_fine {
            drop(response.expect(200))
        } else {
            response.expect_error(400, None, Some("url"))
        }
        test.post_ok("/v1/webhook_endpoints", body).await;
    }
}

#[tokio::test]
async fn a_name_of_an_inner_address_is_refused_at_each_attempt() {
    let app = TestApp::with_clock().await;
    let receiver = Receiver::start().await;
    receiver.answer(&[500]);
    // A local run delivers to this machine.
    let url = receiver.url.replace("127.0.0.1", "localhost");
    let body = json!({"url": url, "enabled_events": ["fleet.created"]});
    let created = app.alice.post("/v1/webhook_endpoints", body).await;
    let endpoint = Id::from(created.expect(200).id().as_str());
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    let event = Id::from(header(&receiver.received()[0], "webhook-id"));
    // The deployed service makes the next attempt, and does not connect.
    app.running().lose_triggers().await.expect("lost");
    app.advance(7).await;
    let message = DeliverWebhook {
        tenant: app.alice.tenant(),
        event,
        endpoint: endpoint.clone(),
        attempt: 2,
        slot: None,
    };
    let message = message.message().expect("a message");
    let worked = jobs::work(&deployed(&app), &message).await;
    worked.expect("an attempt");
    assert_eq!(receiver.received().len(), 1);
    let path = format!("/v1/webhook_endpoints/{endpoint}/deliveries?limit=1");
    let line = app.alice.get_ok(&path).await["data"][0].clone();
    assert_eq!(
        (&line["attempt"], &line["status"]),
        (&json!(2), &json!("failed"))
    );
    let response = line["response"].as_str().expect("a reason");
    assert!(response.contains("not public"), "{response}");
    app.drain().await;
}
