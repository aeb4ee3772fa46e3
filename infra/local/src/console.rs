//! The web console at `/`: the files of `clients/console`, which are part of the executable.
//!
//! Every file is served compressed to clients that accept it, with an entity tag for revalidation, and with a
//! Content-Security-Policy that lets the page load from this port only, and map tiles from the origin of `--tiles`.

use std::io::Write as _;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

/// A file of the console. The path is relative to `clients/console`, and to `/` when it is served.
struct File {
    path: &'static str,
    content: &'static [u8],
}

/// Every file that a browser loads, as `build.rs` lists them.
const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The page itself, which is served at `/`.
const PAGE: &str = "index.html";

/// The path of this deployment's configuration, which the page reads. The file of that name in `clients/console` is for static hosts.
const CONFIGURATION: &str = "/config.json";

/// A source of map tiles.
#[derive(Debug, Clone)]
pub struct Tiles {
    /// The address of a tile, with `{z}`, `{x}` and `{y}`.
    pub url: String,
    /// Shown on the map; most sources demand it.
    pub attribution: Option<String>,
}

/// The content of a file in the forms in which it is sent.
struct Asset {
    content_type: &'static str,
    content: &'static [u8],
    /// Compressed when a browser first requests it, so that the service starts without it.
    compressed: OnceLock<Bytes>,
    entity_tag: HeaderValue,
    policy: HeaderValue,
}

/// A router of the console's files.
///
/// # Errors
/// `tiles` has no origin that a Content-Security-Policy can name.
pub fn router(tiles: Option<&Tiles>) -> Result<Router, String> {
    let origin = tiles.map(|tiles| origin_of(&tiles.url)).transpose()?;
    let policy = content_security_policy(origin.as_deref())
        .try_into()
        .map_err(|_| "the URL of map tiles is not ASCII".to_owned())?;
    let mut router = Router::new();
    for file in FILES {
        let asset = Arc::new(Asset::new(file, &policy));
        let path = match file.path {
            PAGE => "/".to_owned(),
            path => format!("/{path}"),
        };
        router = router.route(
            &path,
            get(move |headers: HeaderMap| async move { asset.response(&headers) }),
        );
    }
    let configuration = configuration(tiles);
    Ok(router.route(
        CONFIGURATION,
        get(move || async move { axum::Json(configuration) }),
    ))
}

/// The page's configuration: the API is at the page's own origin, and the page signs in by itself.
fn configuration(tiles: Option<&Tiles>) -> serde_json::Value {
    let tiles = tiles.map(|tiles| {
        serde_json::json!({"url": tiles.url, "attribution": tiles.attribution.as_deref().unwrap_or_default()})
    });
    serde_json::json!({"api": "", "runner": true, "tiles": tiles})
}

/// The URL of map tiles: http or https, with the three coordinates.
///
/// # Errors
/// A text for the operator.
pub fn tile_url(text: &str) -> Result<String, String> {
    origin_of(text)?;
    if ["{z}", "{x}", "{y}"].iter().all(|part| text.contains(part)) {
        Ok(text.to_owned())
    } else {
        Err("the URL must contain {z}, {x} and {y}".to_owned())
    }
}

fn origin_of(url: &str) -> Result<String, String> {
    let example = || "it is not a URL such as https://tiles.example/{z}/{x}/{y}.png".to_owned();
    let parsed: Uri = url.parse().map_err(|_| example())?;
    match (parsed.scheme_str(), parsed.authority()) {
        (Some(scheme @ ("http" | "https")), Some(authority)) => {
            Ok(format!("{scheme}://{authority}"))
        }
        _ => Err(example()),
    }
}

fn content_security_policy(tiles: Option<&str>) -> String {
    let tiles = tiles.map(|origin| format!(" {origin}")).unwrap_or_default();
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:{tiles}; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

impl Asset {
    fn new(file: &File, policy: &HeaderValue) -> Self {
        let digest = hex::encode(Sha256::digest(file.content));
        let tag = format!("\"{}\"", &digest[..32]);
        Self {
            content_type: content_type(file.path),
            content: file.content,
            compressed: OnceLock::new(),
            entity_tag: tag
                .try_into()
                .unwrap_or_else(|_| unreachable!("hexadecimal digits are ASCII")),
            policy: policy.clone(),
        }
    }

    fn compressed(&self) -> Bytes {
        let compressed = || Bytes::from(compress(self.content));
        self.compressed.get_or_init(compressed).clone()
    }

    fn response(&self, request: &HeaderMap) -> Response {
        let known = request.get(header::IF_NONE_MATCH) == Some(&self.entity_tag);
        let compressed = accepts_gzip(request);
        let mut response = match (known, compressed) {
            (true, _) => StatusCode::NOT_MODIFIED.into_response(),
            (false, true) => self.compressed().into_response(),
            (false, false) => self.content.into_response(),
        };
        let headers = response.headers_mut();
        let mut set = |name, value: &'static str| {
            headers.insert(name, HeaderValue::from_static(value));
        };
        set(header::CONTENT_TYPE, self.content_type);
        // The addresses of the files do not change from release to release, so a browser has to check whether the files have changed.
        set(header::CACHE_CONTROL, "no-cache");
        set(header::VARY, "accept-encoding");
        set(header::REFERRER_POLICY, "no-referrer");
        set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
        if compressed && !known {
            set(header::CONTENT_ENCODING, "gzip");
        }
        headers.insert(header::ETAG, self.entity_tag.clone());
        headers.insert(header::CONTENT_SECURITY_POLICY, self.policy.clone());
        response
    }
}

/// Whether `Accept-Encoding` names gzip without refusing it.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING);
    let accepted = accepted.and_then(|value| value.to_str().ok());
    accepted.unwrap_or_default().split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let refused = parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
        name.eq_ignore_ascii_case("gzip") && !refused
    })
}

fn compress(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(content).and_then(|()| encoder.finish());
    written.unwrap_or_else(|_| unreachable!("memory can be written"))
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_all_pages_and_languages_are_below_500_kilobytes() {
        let total: usize = FILES.iter().map(|file| compress(file.content).len()).sum();
        assert!(total < 500_000, "{total} bytes");
    }

    #[test]
    fn map_tiles_come_from_the_one_origin_that_was_named() {
        let url = "https://tiles.example:8443/v1/{z}/{x}/{y}.png";
        assert_eq!(tile_url(url).unwrap(), url);
        let policy = content_security_policy(Some(&origin_of(url).unwrap()));
        assert!(policy.contains("img-src 'self' data: https://tiles.example:8443;"));
        for bad in [
            "",
            "tiles.example/{z}/{x}/{y}.png",
            "file:///{z}/{x}/{y}.png",
            "https://tiles.example/{z}/{x}.png",
        ] {
            assert!(tile_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn gzip_is_sent_only_to_those_who_accept_it() {
        let accepts = |value: &'static str| {
            let value = HeaderValue::from_static(value);
            accepts_gzip(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, value)]))
        };
        assert!(accepts("gzip") && accepts("br, GZIP;q=0.5"));
        assert!(!accepts("") && !accepts("br") && !accepts("gzip;q=0, br"));
        assert!(!accepts_gzip(&HeaderMap::new()));
    }
}
