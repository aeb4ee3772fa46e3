//! The tokens of the service: listed, pushed and authorized.

use network::Cpo;
use ocpi_kit::VersionNumber;
use ocpi_kit::transport::{OcpiError, PageQuery, StatusCode};
use ocpi_kit::types::Validate as _;
use ocpi_kit::v2_3_0::tokens::{Token, TokenType};

use crate::handshake::drivers;
use crate::{VERSIONS, connected};

async fn listed(cpo: &Cpo, query: PageQuery) -> Vec<Token> {
    let emsp = cpo.emsp();
    let stream = cpo.session(&emsp).tokens().list(query).expect("a list");
    stream.collect_all().await.expect("tokens")
}

#[tokio::test]
async fn tokens_are_listed_in_pages_and_conform() {
    for version in VERSIONS {
        let (runner, cpo) = connected(version).await;
        drivers(&runner, 7).await;
        let all = listed(&cpo, PageQuery::new()).await;
        assert!(all.len() >= 7, "{}", all.len());
        for token in &all {
            token.validate().expect("a conformant token");
            assert!(!format!("{token:?}").contains("Driver"), "personal data: {token:?}");
        }
        assert_eq!(listed(&cpo, PageQuery::new().with_limit(3)).await, all);
        let newest = all.iter().map(|token| token.last_updated).max().expect("tokens");
        let since = listed(&cpo, PageQuery::since(newest)).await;
        assert!(!since.is_empty() && since.iter().all(|token| token.last_updated >= newest));
    }
}

#[tokio::test]
async fn an_unknown_token_is_not_authorized() {
    let (_runner, cpo) = connected(VersionNumber::V2_2_1).await;
    let emsp = cpo.emsp();
    let answer = cpo.session(&emsp).tokens().authorize("nobody", Some(TokenType::Rfid), None).await;
    let unknown = matches!(&answer, Err(OcpiError::Remote { status_code, .. }) if *status_code == StatusCode::UNKNOWN_TOKEN);
    assert!(unknown, "{answer:?}");
}
