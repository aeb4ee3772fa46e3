//! `show-docs`: the guides, the OpenAPI document, a page that renders it, and the list of error codes. Public: no key is required.

use std::sync::LazyLock;

use crate::App;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{Html, IntoResponse};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::Code;
use kernel::error::ViolationCode;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use web::deployment::Deployment;
use web::edge::base_url;
use web::errors;

use crate::function::{Function, Trigger};

/// The name of the function.
pub const NAME: &str = "show-docs";

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "The guides, the interface's document, and pages that show it",
    trigger: Trigger::Pages,
    deployment: Deployment::of_request(),
};

/// The pages, each with the name of its event in the deployment's template. They require no key and are not in the list of routes.
pub const PAGES: [(&str, &str); 6] = [
    ("Document", "/v1/openapi.json"),
    ("Guides", "/docs"),
    ("Page", "/docs/{page}"),
    ("Catalog", "/.well-known/api-catalog"),
    ("Llms", "/llms.txt"),
    ("LlmsFull", "/llms-full.txt"),
];

/// A guide: a file of `docs`, and the page that the build renders from it.
struct Guide {
    /// The name of the file, without its extension; empty for the index.
    name: &'static str,
    markdown: &'static str,
    page: &'static str,
}

static GUIDES: &[Guide] = include!(concat!(env!("OUT_DIR"), "/guides.rs"));

/// The OpenAPI document, which `cargo run -p generate` writes.
pub const DOCUMENT: &str = include_str!("../../../api/openapi.json");

/// The URL in the document that is replaced by the service's own.
const PLACEHOLDER: &str = "http://127.0.0.1:8787";

/// Redoc 2.5.4 (MIT), the renderer of the page, compressed. It differs from the published file in one place: the component
/// that loaded a logo from cdn.redoc.ly returns null.
const REDOC: &[u8] = include_bytes!("redoc.standalone.js.gz");

const PAGE: &str = include_str!("page.html");

/// The script that adds code samples to the document for the page.
const SAMPLES: &str = include_str!("samples.js");

/// A router of the pages.
pub fn router(app: App) -> Router {
    let mut router = Router::new();
    for guide in GUIDES {
        let page = move |state, headers| show_guide(guide, state, headers);
        let path = match guide.name {
            "" => "/docs".to_owned(),
            name => format!("/docs/{name}"),
        };
        router = router.route(&path, get(page));
        if !guide.name.is_empty() {
            let markdown = move |state, headers| show_markdown(guide.markdown, state, headers);
            router = router.route(&format!("{path}.md"), get(markdown));
        }
    }
    router
        .route("/v1/openapi.json", get(document))
        .route("/docs/reference", get(reference))
        .route("/docs/errors", get(errors))
        .route("/.well-known/api-catalog", get(catalog))
        .route("/llms.txt", get(llms))
        .route("/llms-full.txt", get(llms_full))
        .route("/docs/redoc.js", get(redoc))
        .route("/docs/samples.js", get(samples))
        .with_state(app)
}

/// `GET /v1/openapi.json`
async fn document(State(app): State<App>, headers: HeaderMap) -> impl IntoResponse {
    let shown = DOCUMENT.replace(PLACEHOLDER, &base_url(&app.settings, &headers));
    (
        [
            (header::CONTENT_TYPE, "application/json"),
            (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        ],
        shown,
    )
}

/// `GET /docs`, `GET /docs/{guide}`
async fn show_guide(
    guide: &'static Guide,
    State(app): State<App>,
    headers: HeaderMap,
) -> impl IntoResponse {
    // The script is the same on each page.
    static POLICY: LazyLock<String> = LazyLock::new(|| content_security_policy(GUIDES[0].page));
    let page = guide
        .page
        .replace(PLACEHOLDER, &base_url(&app.settings, &headers));
    guarded(page, &POLICY)
}

/// `GET /docs/{guide}.md`: the guide as Markdown, for programs.
async fn show_markdown(
    markdown: &'static str,
    State(app): State<App>,
    headers: HeaderMap,
) -> impl IntoResponse {
    text(markdown.replace(PLACEHOLDER, &base_url(&app.settings, &headers)))
}

fn text(markdown: String) -> impl IntoResponse {
    let kind = [(header::CONTENT_TYPE, "text/markdown; charset=utf-8")];
    (kind, markdown)
}

/// `GET /llms.txt`: an index of the documentation, as [llmstxt.org](https://llmstxt.org) describes it for language models.
async fn llms(State(app): State<App>, headers: HeaderMap) -> impl IntoResponse {
    let base = base_url(&app.settings, &headers);
    let index = GUIDES[0]
        .markdown
        .replacen("# Guides", "# Fleet Charging Service", 1);
    text(with_absolute_links(&index, &base))
}

/// `GET /llms-full.txt`: all guides in one document.
async fn llms_full(State(app): State<App>, headers: HeaderMap) -> impl IntoResponse {
    let guides: Vec<_> = GUIDES.iter().map(|guide| guide.markdown).collect();
    let base = base_url(&app.settings, &headers);
    let shown = guides.join("\n").replace(PLACEHOLDER, &base);
    text(with_absolute_links(&shown, &base))
}

/// Returns Markdown whose links to pages of the service are absolute.
fn with_absolute_links(markdown: &str, base: &str) -> String {
    let mut shown = markdown.replace("](/", &format!("]({base}/"));
    shown = shown.replace("](reference)", &format!("]({base}/v1/openapi.json)"));
    shown = shown.replace("](errors)", &format!("]({base}/docs/errors)"));
    for guide in &GUIDES[1..] {
        let link = format!("]({}.md", guide.name);
        shown = shown.replace(&link, &format!("]({base}/docs/{}.md", guide.name));
    }
    shown
}

/// `GET /.well-known/api-catalog`: links to the descriptions of the API, in the format of RFC 9727.
async fn catalog(State(app): State<App>, headers: HeaderMap) -> impl IntoResponse {
    let base = base_url(&app.settings, &headers);
    let links = json!({"linkset": [{
        "anchor": format!("{base}/v1"),
        "service-desc": [{"href": format!("{base}/v1/openapi.json"), "type": "application/vnd.oai.openapi+json;version=3.1"}],
        "service-doc": [{"href": format!("{base}/docs"), "type": "text/html"}],
    }]});
    let kind = "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"";
    ([(header::CONTENT_TYPE, kind)], links.to_string())
}

/// `GET /docs/reference`
async fn reference() -> impl IntoResponse {
    static POLICY: LazyLock<String> = LazyLock::new(|| content_security_policy(PAGE));
    guarded(PAGE, &POLICY)
}

/// A page with a policy that prevents the browser from loading anything from another origin.
fn guarded(page: impl Into<Body>, policy: &'static str) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, Html(page.into()))
}

/// The sources from which a page may load: the service itself, and the page's own content. Redoc sets styles from its script, shows
/// embedded images and searches in a worker that it creates from a blob.
fn content_security_policy(page: &str) -> String {
    let scripts = page.split("<script>").skip(1);
    let scripts = scripts.filter_map(|rest| rest.split_once("</script>"));
    let scripts = scripts.map(|(script, _)| {
        let digest = Sha256::digest(script.as_bytes());
        format!(" 'sha256-{}'", STANDARD.encode(digest))
    });
    let scripts: String = scripts.collect();
    format!(
        "default-src 'none'; script-src 'self'{scripts}; style-src 'unsafe-inline'; img-src 'self' data:; font-src data:; \
         connect-src 'self'; worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

/// `GET /docs/redoc.js`
async fn redoc() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/javascript"),
        (header::CONTENT_ENCODING, "gzip"),
        (header::CACHE_CONTROL, "public, max-age=86400"),
    ];
    (headers, REDOC)
}

/// `GET /docs/samples.js`
async fn samples() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/javascript")], SAMPLES)
}

/// `GET /docs/errors`
async fn errors() -> impl IntoResponse {
    static SHOWN: LazyLock<(String, String)> = LazyLock::new(|| {
        let rows: String = Code::ALL.iter().map(|code| row(*code)).collect();
        let violations: String = ViolationCode::ALL
            .into_iter()
            .map(item_of_violation)
            .collect();
        let page = include_str!("errors.html")
            .replace("<!-- codes -->", &rows)
            .replace("<!-- violations -->", &violations);
        let policy = content_security_policy(&page);
        (page, policy)
    });
    guarded(SHOWN.0.as_str(), &SHOWN.1)
}

fn row(code: Code) -> String {
    let status = errors::status(code.class());
    let [name, meaning, remedy] = [code.as_str(), code.meaning(), code.remedy()];
    cells(name, &format!("<td>{status}</td>"), meaning, remedy)
}

/// A row of the table of the codes in `errors[]`.
fn item_of_violation(code: ViolationCode) -> String {
    cells(code.as_str(), "", code.meaning(), code.remedy())
}

fn cells(name: &str, status: &str, meaning: &str, remedy: &str) -> String {
    let anchor = name.replace('_', "-");
    format!(
        "<tr id=\"{anchor}\"><td><a href=\"#{anchor}\"><code>{name}</code></a></td>{status}<td>{meaning}</td><td>{remedy}</td></tr>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_explained_under_its_anchor() {
        for code in Code::ALL {
            let shown = row(*code);
            let anchor = code.as_str().replace('_', "-");
            assert!(shown.contains(&format!("id=\"{anchor}\"")));
            for text in [code.meaning(), code.remedy()] {
                assert!(text.ends_with('.') && !text.contains(['<', '&']), "{text}");
                assert!(shown.contains(text));
            }
        }
        for code in ViolationCode::ALL {
            assert!(item_of_violation(code).contains("id=\"parameter-"));
        }
    }
}
