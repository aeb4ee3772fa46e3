//! The tokens of the service: real-time authorization.

use ocpi_kit::VersionNumber;
use ocpi_kit::transport::OcpiError;
use ocpi_kit::v2_3_0::tokens::{LocationReferences, TokenType};

use crate::connected;

#[tokio::test]
async fn an_unknown_token_is_not_authorized() {
    let (_runner, cpo) = connected(VersionNumber::V2_2_1).await;
    let emsp = cpo.emsp();
    let place = LocationReferences {
        location_id: "LOC1".into(),
        evse_uids: Vec::new(),
        extensions: Default::default(),
    };
    let session = cpo.session(&emsp);
    let answer = session
        .tokens()
        .authorize("nobody", Some(TokenType::Rfid), Some(&place))
        .await;
    // "When the eMSP does not know the Token, the eMSP SHALL respond with an HTTP status code: 404" (2.2.1, 12.2.2.2).
    let unknown = matches!(answer, Err(OcpiError::NotFound(_)));
    assert!(unknown, "{answer:?}");
}
