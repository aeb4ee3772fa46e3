//! `GET /v1/invoices/{id}/document`: the PDF and the XML of final invoices.

use serde_json::{Value, json};
use tests::{Client, Crew, TestApp, TestResponse, id_of, path_of, with};

use crate::books::{buyer, finalized, own, seller};
use crate::invoices::many_sessions_with;

async fn ask(client: &Client, invoice: &Value, format: &str) -> TestResponse {
    let path = path_of(id_of(invoice));
    client
        .get(&format!("{path}/document?format={format}"))
        .await
}

/// Downloads a document without a key.
pub async fn document(app: &TestApp, invoice: &Value, format: &str) -> TestResponse {
    let redirect = ask(&app.alice, invoice, format).await;
    assert_eq!(redirect.status, 302, "{}", redirect.text);
    let location = redirect.headers["location"].to_str().expect("an address");
    let file = app.anon.get(location).await;
    assert_eq!(file.status, 200, "{}", file.text);
    file
}

/// The names of the documents of an invoice in the bucket.
async fn kept(app: &TestApp, invoice: &Value) -> Vec<String> {
    let (account, id) = (app.alice.account.clone(), invoice["id"].as_str());
    let folder = format!(
        "documents/{}/test/{}/",
        account.expect("an account"),
        id.expect("an id")
    );
    let mut keys = app.app().files.list(&folder).await.expect("the keys");
    keys.sort();
    let name = |key: String| key.strip_prefix(&folder).expect("a name").to_owned();
    keys.into_iter().map(name).collect()
}

async fn forget(app: &TestApp, invoice: &Value) {
    for name in kept(app, invoice).await {
        let account = app.alice.account.clone().expect("an account");
        let id = id_of(invoice);
        let key = format!("documents/{account}/test/{id}/{name}");
        app.app().files.delete(&key).await.expect("it is deleted");
    }
}

/// A fleet of a buyer with one completed session of 1190, and the window of its invoice.
async fn billed(app: &TestApp, language: &str) -> (Crew, Value) {
    let account = json!({"billing_details": seller(), "registration_number": "HRB 1"});
    app.alice.post_ok(&own(&app.alice), account).await;
    let crew = app.crew(&app.alice).await;
    let details = with(buyer(), json!({"language": language}));
    let fleet = format!("/v1/fleets/{}", crew.fleet);
    let body = json!({"billing_details": details, "timezone": "Europe/Berlin"});
    let shown = app.alice.post_ok(&fleet, body).await;
    assert_eq!(shown["billing_details"]["language"], language);
    app.completed_session(&crew, json!({})).await;
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1), "fleet": crew.fleet});
    (crew, window)
}

/// The text of the first element of a name.
fn content<'a>(xml: &'a str, element: &str) -> &'a str {
    let (_, rest) = xml.split_once(&format!("<{element}")).expect(element);
    let (content, _) = rest.split_once(&format!("</{element}>")).expect(element);
    content.split_once('>').expect(element).1
}

#[tokio::test]
async fn documents_are_made_after_the_finalization() {
    let app = TestApp::start().await;
    let (_, window) = billed(&app, "de").await;
    let described = with(window, json!({"description": "Laden im Oktober"}));
    let draft = app.alice.post("/v1/invoices", described).await;
    let draft = draft.expect(200);
    let refused = ask(&app.alice, &draft.body, "pdf").await;
    refused.expect_error(409, None, "invoice");
    let path = format!("/v1/invoices/{}/finalize", draft.id());
    let invoice = app.alice.post_ok(&path, json!({})).await;
    assert!(kept(&app, &invoice).await.is_empty());
    app.drain().await;
    let number = invoice["number"].as_str().expect("a number");
    let names = ["-cii.xml", "-ubl.xml", ".pdf"].map(|ending| format!("{number}{ending}"));
    assert_eq!(kept(&app, &invoice).await, names);
    let pdf = document(&app, &invoice, "pdf").await;
    assert_eq!(pdf.headers["content-type"], "application/pdf");
    assert!(pdf.text.starts_with("%PDF-"), "a PDF");
    let ubl = document(&app, &invoice, "ubl").await;
    assert_eq!(ubl.headers["content-type"], "application/xml");
    for (element, want) in [
        ("cbc:ID", number),
        ("cbc:InvoiceTypeCode", "380"),
        ("cbc:PayableAmount", "11.90"),
        ("cbc:TaxInclusiveAmount", "11.90"),
        ("cbc:TaxAmount", "1.90"),
        ("cbc:BuyerReference", "PO 4711"),
        ("cbc:Note", "Laden im Oktober"),
    ] {
        assert_eq!(content(&ubl.text, element), want, "{element}");
    }
    for part in ["Laden GmbH", "Vloot NV", "Ladevorgang", "Energie"] {
        assert!(ubl.text.contains(part), "{part}");
    }
    let cii = document(&app, &invoice, "cii").await.text;
    assert_eq!(content(&cii, "ram:GrandTotalAmount"), "11.90");
    assert!(content(&cii, "ram:IncludedNote").contains("Laden im Oktober"));
    let unknown = ask(&app.alice, &invoice, "doc").await;
    unknown.expect_error(400, None, "format");
    // A voided invoice keeps its documents.
    let id = id_of(&invoice);
    let path = format!("/v1/invoices/{id}/void");
    app.alice.post_ok(&path, json!({})).await;
    app.drain().await;
    assert_eq!(document(&app, &invoice, "cii").await.text, cii);
}

#[tokio::test]
async fn a_credited_line_is_described_as_on_its_invoice() {
    let app = TestApp::start().await;
    let (_, window) = billed(&app, "de").await;
    let invoice = finalized(&app.alice, window).await;
    let line = &invoice["line_items"][0]["id"];
    let billed = document(&app, &invoice, "ubl").await.text;
    let credit = async |change: Value| {
        let lines = json!([with(json!({"line_item": line}), change)]);
        let note = json!({"invoice": invoice["id"], "lines": lines});
        let note = app.alice.post_ok("/v1/credit_notes", note).await;
        document(&app, &note, "ubl").await.text
    };
    let name = |document: &str| {
        let (_, item) = document.split_once("<cac:Item>").expect("an item");
        content(item, "cbc:Name").to_owned()
    };
    let part = credit(json!({"amount": 190})).await;
    for document in [&billed, &part] {
        assert!(name(document).contains("Ladevorgang"), "{document}");
    }
    for element in ["cbc:StartDate", "cbc:EndDate"] {
        assert_eq!(content(&part, element), content(&billed, element));
    }
    let rest = credit(json!({})).await;
    assert!(!rest.contains(" at "), "{rest}");
}

#[tokio::test]
async fn a_document_is_the_same_whenever_it_is_made() {
    let app = TestApp::start().await;
    let (crew, window) = billed(&app, "en").await;
    let invoice = finalized(&app.alice, window).await;
    // Before the job has run.
    let first = document(&app, &invoice, "cii").await.text;
    assert!(first.contains("Charging session"), "{first}");
    let body = json!({"type": "card", "token": "tok_success", "fleet": crew.fleet});
    let card = app.alice.create("/v1/payment_methods", body).await;
    let path = format!("/v1/invoices/{}", id_of(&invoice));
    let body = json!({"due_date": app.in_minutes(60 * 24 * 90), "description": "Later"});
    app.alice.post_ok(&path, body).await;
    let pay = format!("{path}/pay");
    let body = json!({"payment_method": card});
    app.alice.post_ok(&pay, body).await;
    let fleet = format!("/v1/fleets/{}", crew.fleet);
    let body =
        json!({"name": "Other", "timezone": "Asia/Tokyo", "billing_details": {"language": "de"}});
    app.alice.post_ok(&fleet, body).await;
    forget(&app, &invoice).await;
    assert_eq!(document(&app, &invoice, "cii").await.text, first);
    app.drain().await;
    assert_eq!(document(&app, &invoice, "cii").await.text, first);
}

#[tokio::test]
async fn what_a_party_lacks_for_an_electronic_invoice_is_named() {
    let (app, crew) = TestApp::with_crew().await;
    app.completed_session(&crew, json!({})).await;
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1), "fleet": crew.fleet});
    let invoice = finalized(&app.alice, window.clone()).await;
    for format in ["ubl", "cii"] {
        let refused = ask(&app.alice, &invoice, format).await;
        assert!(refused.text.contains("seller.vat_id"), "{}", refused.text);
        refused.expect_error(409, None, "seller.address");
    }
    document(&app, &invoice, "pdf").await;
    app.drain().await;
    let number = invoice["number"].as_str().expect("a number");
    assert_eq!(kept(&app, &invoice).await, [format!("{number}.pdf")]);
    // An amount with three decimals cannot be represented in EN 16931; an amount without decimals can.
    for (currency, param) in [("kwd", "format"), ("jpy", "seller.address")] {
        let body = with(window.clone(), json!({"currency": currency}));
        let invoice = finalized(&app.alice, body).await;
        let refused = ask(&app.alice, &invoice, "ubl").await;
        refused.expect_error(409, None, param);
        document(&app, &invoice, "pdf").await;
    }
    app.drain().await;
}

#[tokio::test]
async fn documents_have_lines_that_an_invoice_does_not_show() {
    let app = TestApp::start().await;
    let (crew, window) = billed(&app, "en").await;
    many_sessions_with(&app, &crew, 104, json!({})).await;
    let invoice = finalized(&app.alice, window).await;
    assert_eq!(invoice["line_items_has_more"], true);
    // Before the job has run.
    let ubl = document(&app, &invoice, "ubl").await.text;
    assert_eq!(ubl.matches("<cac:InvoiceLine>").count(), 105);
    let lines = format!("{}/line_items?limit=100", path_of(id_of(&invoice)));
    let oldest = app.alice.walk(&lines).await.pop();
    let note = json!({"invoice": invoice["id"], "lines": [{"line_item": oldest}]});
    let note = app.alice.post_ok("/v1/credit_notes", note).await;
    let ubl = document(&app, &note, "ubl").await.text;
    assert!(
        content(&ubl, "cac:Item").contains("Charging session"),
        "{ubl}"
    );
    app.drain().await;
}
