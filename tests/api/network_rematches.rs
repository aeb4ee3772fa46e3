//! Confirmed reservations at networks that lose their connector, the plug of their vehicle or their session.

use serde_json::json;
use tests::assert_has;

use crate::network_reservations::{CANCEL, RESERVE, reserved_for};

#[tokio::test]
async fn a_reservation_kept_for_its_fee_is_sent_once() {
    for is_back in [true, false] {
        let stage = reserved_for(300).await;
        stage.until(17).await;
        let plug = async |plug: &str| {
            let vehicle = format!("/v1/vehicles/{}", stage.crew.vehicle);
            let change = json!({"charging_standard": plug});
            stage.app.alice.post_ok(&vehicle, change).await;
            stage.app.drain().await;
        };
        plug("CHAdeMO").await;
        let kept = stage.reservation().await;
        assert_has!(kept, {"status": "confirmed", "fee_due": 300});
        stage.until(14).await;
        assert!(stage.sent(RESERVE).is_empty());
        if is_back {
            plug("Type2").await;
        }
        stage.until(if is_back { 11 } else { 1 }).await;
        let sent = stage.sent(RESERVE);
        assert_eq!(sent.len(), 1);
        stage.result(&sent[0], "ACCEPTED").await;
        if is_back {
            plug("CHAdeMO").await;
            stage.until(1).await;
        }
        assert_has!(stage.reservation().await, {"status": "confirmed", "connector": kept["connector"]});
        assert_eq!(stage.sent(RESERVE).len(), 1);
        stage.app.advance(20 * 60).await;
        assert_has!(stage.reservation().await, {"status": "expired", "fee_due": 300});
        assert!(stage.sent(CANCEL).is_empty());
    }
}
