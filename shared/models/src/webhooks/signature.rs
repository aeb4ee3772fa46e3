//! Webhook signatures: `Service-Signature`, and the headers of Standard Webhooks 1.0.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::webhook_endpoint::{SignatureTimestamp, SigningSecret};
use kernel::{Id, Timestamp};

/// Returns the headers of a delivery. It is signed with each secret of the endpoint, the newest first. `at` is the time of the machine, not
/// that of the service: receivers refuse signatures that are not from the last five minutes by their own clocks.
pub fn headers(
    event: &Id,
    body: &[u8],
    secrets: &[&SigningSecret],
    style: SignatureTimestamp,
    at: Timestamp,
) -> [(&'static str, String); 4] {
    let stamp = match style {
        SignatureTimestamp::Rfc3339 => at.to_string(),
        SignatureTimestamp::Unix => at.unix_seconds().to_string(),
    };
    let unix = at.unix_seconds().to_string();
    let ours = secrets.iter().map(|secret| {
        let mac = hmac(secret.as_str().as_bytes(), &[stamp.as_bytes(), b".", body]);
        format!(",v1={}", hex::encode(mac))
    });
    let standard = secrets.iter().map(|secret| {
        let mac = hmac(
            &secret.bytes(),
            &[event.as_str().as_bytes(), b".", unix.as_bytes(), b".", body],
        );
        format!("v1,{}", STANDARD.encode(mac))
    });
    [
        (
            "service-signature",
            format!("t={stamp}{}", ours.collect::<String>()),
        ),
        ("webhook-id", event.to_string()),
        ("webhook-signature", standard.collect::<Vec<_>>().join(" ")),
        ("webhook-timestamp", unix),
    ]
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(key).unwrap_or_else(|_| unreachable!("any length is a key"));
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::time::minutes;

    fn secret() -> SigningSecret {
        serde_json::from_str(r#""whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw""#).unwrap()
    }

    #[test]
    fn the_standard_signature_is_that_of_the_published_example() {
        // The example of the Standard Webhooks reference libraries.
        let at = Timestamp::from_unix_millis(1_614_265_330_000);
        let body = br#"{"test": 2432232314}"#;
        let headers = headers(
            &Id::from("msg_p5jXN8AQM9LWM0D4loKWxJek"),
            body,
            &[&secret()],
            SignatureTimestamp::Unix,
            at,
        );
        assert_eq!(
            headers[2],
            (
                "webhook-signature",
                "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=".into()
            )
        );
        assert_eq!(headers[3].1, "1614265330");
    }

    #[test]
    fn service_signature_signs_the_timestamp_and_the_raw_body() {
        // printf '2021-02-25T15:02:10.000Z.{}' | openssl dgst -sha256 -hmac 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
        let at = Timestamp::from_unix_millis(1_614_265_330_000);
        let [(_, value), ..] = headers(
            &Id::from("evt_1"),
            b"{}",
            &[&secret(), &secret()],
            SignatureTimestamp::Rfc3339,
            at,
        );
        let mac = "cf1cc0a20cbf15875299364bc72a8f8b0cd59a3d82b77f4d14e8a833198acb52";
        assert_eq!(
            value,
            format!("t=2021-02-25T15:02:10.000Z,v1={mac},v1={mac}")
        );
    }

    #[test]
    fn the_reference_library_verifies_the_standard_headers() {
        let new = SigningSecret::generate().unwrap();
        // The library compares the time of the signature with the clock of the machine.
        #[allow(clippy::disallowed_methods)]
        let now = Timestamp::from(jiff::Timestamp::now());
        let (event, body) = (Id::from("evt_1"), br#"{"id":"evt_1"}"#);
        let style = SignatureTimestamp::Rfc3339;
        let signed = headers(&event, body, &[&new, &secret()], style, now);
        let sent = |headers: &[(&'static str, String); 4]| {
            let entries = headers
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            entries.collect::<axum::http::HeaderMap>()
        };
        for secret in [&new, &secret()] {
            let receiver = standardwebhooks::Webhook::new(secret.as_str()).unwrap();
            receiver.verify(body, &sent(&signed)).unwrap();
            assert!(receiver.verify(b"{}", &sent(&signed)).is_err());
        }
        let stranger = SigningSecret::generate().unwrap();
        let stranger = standardwebhooks::Webhook::new(stranger.as_str()).unwrap();
        assert!(stranger.verify(body, &sent(&signed)).is_err());
        let old = headers(&event, body, &[&new], style, now.plus(minutes(-10)));
        let receiver = standardwebhooks::Webhook::new(new.as_str()).unwrap();
        assert!(receiver.verify(body, &sent(&old)).is_err());
    }
}
