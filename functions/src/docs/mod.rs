//! `show-docs`: the interface's document, a page that shows it, and what every error code means. For everybody: no key.

use std::sync::LazyLock;

use crate::App;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{Html, IntoResponse};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::error::Code;
use sha2::{Digest as _, Sha256};
use web::deployment::Deployment;
use web::edge::base_url;
use web::errors;

use crate::function::{Function, Trigger};

/// The name of the function.
pub const NAME: &str = "show-docs";

pub const FUNCTION: Function = Function {
    name: NAME,
    description: "The interface's document, and pages that show it",
    trigger: Trigger::Pages,
    deployment: Deployment::of_request(),
};

/// The pages, each with the name of its event in the deployment's template. They need no key and are not in the list of routes.
pub const PAGES: [(&str, &str); 4] = [
    ("Document", "/v1/openapi.json"),
    ("Page", "/docs"),
    ("Errors", "/docs/errors"),
    ("Renderer", "/docs/redoc.js"),
];

/// The OpenAPI document, which `cargo run -p generate` writes.
pub const DOCUMENT: &str = include_str!("../../../api/openapi.json");

/// The address in the document that stands for the service's own.
const PLACEHOLDER: &str = "http://127.0.0.1:8787";

/// Redoc 2.5.4 (MIT), the renderer of the page, compressed. It differs from the published file in one place: the component
/// that loaded a logo from cdn.redoc.ly returns null.
const REDOC: &[u8] = include_bytes!("redoc.standalone.js.gz");

const PAGE: &str = include_str!("page.html");

/// A router of the pages.
pub fn router(app: App) -> Router {
    Router::new()
        .route("/v1/openapi.json", get(document))
        .route("/docs", get(page))
        .route("/docs/errors", get(errors))
        .route("/docs/redoc.js", get(redoc))
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

/// `GET /docs`
async fn page() -> impl IntoResponse {
    static POLICY: LazyLock<String> = LazyLock::new(|| content_security_policy(PAGE));
    guarded(PAGE, &POLICY)
}

/// A page under a policy that keeps the browser from loading anything from another origin.
fn guarded(page: &'static str, policy: &'static str) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, Html(page))
}

/// What a page may load: from the service itself, and what stands in the page. Redoc sets styles from its script, shows
/// embedded images and searches in a worker that it makes from a blob.
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

/// `GET /docs/errors`
async fn errors() -> impl IntoResponse {
    static SHOWN: LazyLock<(String, String)> = LazyLock::new(|| {
        let rows: String = Code::ALL.iter().map(|code| row(*code)).collect();
        let page = include_str!("errors.html").replace("<!-- codes -->", &rows);
        let policy = content_security_policy(&page);
        (page, policy)
    });
    guarded(&SHOWN.0, &SHOWN.1)
}

fn row(code: Code) -> String {
    let name = code.as_str();
    let anchor = name.replace('_', "-");
    let (status, meaning) = (errors::status(code.class()), code.meaning());
    format!(
        "<tr id=\"{anchor}\"><td><a href=\"#{anchor}\"><code>{name}</code></a></td><td>{status}</td><td>{meaning}</td></tr>\n"
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
            assert!(code.meaning().ends_with('.') && !code.meaning().contains(['<', '&']));
        }
    }
}
