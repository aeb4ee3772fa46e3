//! The members of a CDR (charge detail record) that this service uses.

use rust_decimal::Decimal;
use serde::Deserialize;

use super::cost::{CdrToken, ChargingPeriod, Cost};
use super::party::PartyId;
use super::reader::{
    foreign_id, moment, number, optional_foreign_id, optional_number, optional_text, text,
};
use super::tariff::Tariff;
use kernel::Timestamp;
use models::network::ForeignId;

/// The cost of a session, and its components. A CDR never changes; another CDR credits a wrong one.
#[derive(Debug, Clone, Deserialize)]
pub struct Cdr {
    #[serde(flatten)]
    pub owner: PartyId,
    #[serde(deserialize_with = "foreign_id")]
    pub id: ForeignId,
    #[serde(deserialize_with = "moment")]
    pub start_date_time: Timestamp,
    #[serde(deserialize_with = "moment")]
    pub end_date_time: Timestamp,
    #[serde(default, deserialize_with = "optional_foreign_id")]
    pub session_id: Option<ForeignId>,
    pub cdr_token: CdrToken,
    #[serde(default, deserialize_with = "optional_text")]
    pub authorization_reference: Option<String>,
    pub cdr_location: CdrLocation,
    #[serde(deserialize_with = "text")]
    pub currency: String,
    /// The tariffs as they were when the session began.
    #[serde(default)]
    pub tariffs: Vec<Tariff>,
    #[serde(default)]
    pub charging_periods: Vec<ChargingPeriod>,
    pub total_cost: Cost,
    /// The part of the total cost for a reservation.
    pub total_reservation_cost: Option<Cost>,
    /// kWh
    #[serde(deserialize_with = "number")]
    pub total_energy: Decimal,
    /// Hours, including those without charging.
    #[serde(deserialize_with = "number")]
    pub total_time: Decimal,
    /// Hours without charging.
    #[serde(default, deserialize_with = "optional_number")]
    pub total_parking_time: Option<Decimal>,
    /// Whether this credits another CDR: its amounts are negative then.
    #[serde(default)]
    pub credit: bool,
    /// The CDR that this credits.
    #[serde(default, deserialize_with = "optional_foreign_id")]
    pub credit_reference_id: Option<ForeignId>,
    #[serde(deserialize_with = "moment")]
    pub last_updated: Timestamp,
}

/// The place of the session.
#[derive(Debug, Clone, Deserialize)]
pub struct CdrLocation {
    #[serde(deserialize_with = "foreign_id")]
    pub id: ForeignId,
    #[serde(default, deserialize_with = "optional_foreign_id")]
    pub evse_uid: Option<ForeignId>,
    #[serde(default, deserialize_with = "optional_foreign_id")]
    pub connector_id: Option<ForeignId>,
}

/// The `evse_uid` of a CDR for a reservation that never resulted in a charging session (OCPI 2.2.1, "CdrLocation").
const NO_EVSE: &str = "#NA";

impl Cdr {
    /// Returns whether the CDR is for a reservation that was never used.
    pub fn is_for_unused_reservation(&self) -> bool {
        let evse = self.cdr_location.evse_uid.as_ref();
        evse.is_some_and(|uid| uid.as_str().eq_ignore_ascii_case(NO_EVSE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::lenient;
    use serde_json::json;

    #[test]
    fn a_credit_names_what_it_credits() {
        let cdr = json!({"country_code": "BE", "party_id": "BEC", "id": "1-C", "start_date_time": "2015-06-29T21:39:09Z",
            "end_date_time": "2015-06-29T23:37:32Z", "cdr_token": {"uid": "012345678", "type": "RFID"},
            "cdr_location": {"id": "LOC1", "evse_uid": "3256", "connector_id": "1"}, "currency": "EUR",
            "charging_periods": [{"start_date_time": "2015-06-29T21:39:09Z",
                "dimensions": [{"type": "TIME", "volume": 1.973}], "tariff_id": "12"}],
            "total_cost": {"excl_vat": -4, "incl_vat": -4.4}, "total_energy": 15.342, "total_time": 1.973,
            "credit": true, "credit_reference_id": "1", "last_updated": "2015-06-29T22:01:13Z"});
        let read: Cdr = lenient(&cdr).unwrap();
        let credited = read.credit_reference_id.as_ref().map(ForeignId::as_str);
        assert!(read.credit && credited == Some("1"));
        assert_eq!(read.total_cost.gross, Some(Decimal::new(-44, 1)));
        assert_eq!(
            read.charging_periods[0].dimensions[0].volume,
            Decimal::new(1973, 3)
        );
    }
}
