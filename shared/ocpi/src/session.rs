//! The members of a Session object that this service uses.

use rust_decimal::Decimal;
use serde::Deserialize;

use super::cost::{CdrToken, ChargingPeriod, Cost};
use super::party::PartyId;
use super::reader::{foreign_id, moment, number, optional_moment, optional_text, text};
use kernel::Timestamp;
use models::network::ForeignId;

/// A charging session, as reported by the operator of the station.
#[derive(Debug, Clone, Deserialize)]
pub struct Session {
    #[serde(flatten)]
    pub owner: PartyId,
    #[serde(deserialize_with = "foreign_id")]
    pub id: ForeignId,
    #[serde(deserialize_with = "moment")]
    pub start_date_time: Timestamp,
    #[serde(default, deserialize_with = "optional_moment")]
    pub end_date_time: Option<Timestamp>,
    #[serde(deserialize_with = "number")]
    pub kwh: Decimal,
    pub cdr_token: CdrToken,
    /// The reference that this service sent with the command or the authorization.
    #[serde(default, deserialize_with = "optional_text")]
    pub authorization_reference: Option<String>,
    #[serde(deserialize_with = "foreign_id")]
    pub location_id: ForeignId,
    #[serde(deserialize_with = "foreign_id")]
    pub evse_uid: ForeignId,
    #[serde(deserialize_with = "foreign_id")]
    pub connector_id: ForeignId,
    #[serde(deserialize_with = "text")]
    pub currency: String,
    #[serde(default)]
    pub charging_periods: Vec<ChargingPeriod>,
    /// The cost so far, if the operator states it.
    pub total_cost: Option<Cost>,
    pub status: SessionStatus,
    #[serde(deserialize_with = "moment")]
    pub last_updated: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SessionStatus {
    /// Accepted and charging or about to.
    Active,
    Completed,
    /// It will not be billed.
    Invalid,
    /// Not started yet.
    Pending,
    /// Started by a reservation.
    Reservation,
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::lenient;
    use serde_json::json;

    #[test]
    fn a_session_is_read_leniently() {
        let mut session = json!({"country_code": "nl", "party_id": "STK", "id": 101, "start_date_time": "2020-03-09T10:17:09",
            "end_date_time": null, "kwh": "0.5", "cdr_token": {"uid": "123abc", "type": "RFID", "contract_id": "C"},
            "auth_method": "WHITELIST", "location_id": "LOC1", "evse_uid": "3256", "connector_id": 1, "currency": "EUR",
            "charging_periods": null, "total_cost": {"excl_vat": 2.5}, "status": "SOMETHING",
            "last_updated": "2020-03-09T10:17:09Z", "vendor": true});
        let read: Session = lenient(&session).unwrap();
        assert_eq!((read.id.as_str(), read.connector_id.as_str()), ("101", "1"));
        assert_eq!(
            (read.status, read.end_date_time),
            (SessionStatus::Unknown, None)
        );
        session["kwh"] = json!("much");
        let refused = lenient::<Session>(&session).unwrap_err();
        assert!(refused.starts_with("kwh: expected a number"), "{refused}");
    }
}
