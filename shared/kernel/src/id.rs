//! Identifiers: a prefix for the kind, and a version-7 UUID as 32 hexadecimal digits, so that the order of ids is that of their creation.
//! This is the only table of prefixes.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Mutex;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};
use uuid::{ContextV7, Uuid};

use crate::time::Timestamp;

macro_rules! kinds {
    ($($variant:ident $name:literal $prefix:literal,)*) => {
        /// The kind of an object: the value of its `object` field, and the prefix of its id.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Kind { $(#[serde(rename = $name)] $variant,)* }

        impl Kind {
            pub const ALL: &[Kind] = &[$(Kind::$variant,)*];

            /// Returns the value of `object`, which is also the name of a field with such an id in other objects.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$variant => $name,)* }
            }

            /// Returns the prefix of the id, with its underscore.
            pub fn prefix(self) -> &'static str {
                match self { $(Kind::$variant => $prefix,)* }
            }

            /// Returns the kind whose ids have this prefix.
            fn of_prefix(prefix: &str) -> Option<Self> {
                match prefix { $($prefix => Some(Kind::$variant),)* _ => None }
            }
        }
    };
}

kinds! {
    Account "account" "acct_",
    Adjustment "adjustment" "adj_",
    Analytics "analytics" "ana_",
    ApiKey "api_key" "key_",
    Batch "batch" "bat_",
    BatchResult "batch_result" "btr_",
    ChargeCard "charge_card" "ccd_",
    ChargingSession "charging_session" "cs_",
    ChargingStation "charging_station" "chst_",
    CreditNote "credit_note" "crn_",
    Departure "departure" "dep_",
    Driver "driver" "drv_",
    Estimation "estimation" "est_",
    Event "event" "evt_",
    Fleet "fleet" "flt_",
    Invoice "invoice" "inv_",
    LineItem "line_item" "li_",
    Network "network" "net_",
    NetworkCommand "network_command" "cmd_",
    PaymentMethod "payment_method" "pm_",
    Policy "policy" "pol_",
    Report "report" "rpt_",
    Request "request" "req_",
    Reservation "reservation" "res_",
    Search "search" "srch_",
    Site "site" "site_",
    SiteDay "site_day" "sday_",
    Transaction "transaction" "txn_",
    Vehicle "vehicle" "veh_",
    VehicleDepartures "vehicle_departures" "vdep_",
    VehicleTelemetry "vehicle_telemetry" "vtel_",
    WebhookDelivery "webhook_delivery" "dlv_",
    WebhookEndpoint "webhook_endpoint" "wh_",
    WebhookReplay "webhook_replay" "whr_",
}

macro_rules! resources {
    ($($variant:ident $name:literal $kind:ident,)*) => {
        /// A kind of object that has routes, and scopes of keys.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Resource { $($variant,)* }

        impl Resource {
            pub const ALL: &[Resource] = &[$(Resource::$variant,)*];

            /// Returns the kind of its objects.
            pub const fn kind(self) -> Kind {
                match self { $(Resource::$variant => Kind::$kind,)* }
            }

            /// Returns the resource whose scopes cover objects of a kind. Telemetry and departures are read with their vehicle, prices with
            /// their site, results with their batch, a delivery or replay with its webhook endpoint.
            pub fn of(kind: Kind) -> Option<Self> {
                match kind {
                    Kind::Departure | Kind::VehicleDepartures | Kind::VehicleTelemetry => {
                        Some(Self::Vehicles)
                    }
                    Kind::BatchResult => Some(Self::Batches),
                    Kind::SiteDay => Some(Self::Sites),
                    Kind::WebhookDelivery | Kind::WebhookReplay => Some(Self::WebhookEndpoints),
                    kind => Self::ALL.iter().copied().find(|resource| resource.kind() == kind),
                }
            }

            /// Returns its name in paths and scopes.
            pub fn as_str(self) -> &'static str {
                match self { $(Resource::$variant => $name,)* }
            }
        }
    };
}

resources! {
    Accounts "accounts" Account,
    Analytics "analytics" Analytics,
    ApiKeys "api_keys" ApiKey,
    Batches "batches" Batch,
    ChargeCards "charge_cards" ChargeCard,
    ChargingSessions "charging_sessions" ChargingSession,
    ChargingStations "charging_stations" ChargingStation,
    CreditNotes "credit_notes" CreditNote,
    Drivers "drivers" Driver,
    Estimations "estimations" Estimation,
    Events "events" Event,
    Fleets "fleets" Fleet,
    Invoices "invoices" Invoice,
    PaymentMethods "payment_methods" PaymentMethod,
    Policies "policies" Policy,
    Reports "reports" Report,
    Reservations "reservations" Reservation,
    Search "search" Search,
    Sites "sites" Site,
    Transactions "transactions" Transaction,
    Vehicles "vehicles" Vehicle,
    WebhookEndpoints "webhook_endpoints" WebhookEndpoint,
}

/// An identifier that a client sent or receives. It may be malformed: [`Id::is`] checks it before anything is read. Text that cannot be an
/// identifier, because it is too long or has other characters than letters, digits and underscores, is replaced by a text that names
/// nothing, so that no key of the table, message or log line contains it.
///
/// Deserialization refuses text that is longer than an identifier may be. The longest text that it accepts is part of the contract, and
/// such a body or query is invalid whatever objects exist.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(String);

/// The number of milliseconds for which the counters of new ids are kept.
const KEPT_COUNTERS: usize = 256;

impl Id {
    /// The maximum length of a text that is kept as an identifier, in characters. Ids of this service have at most 37.
    pub const MAX_LENGTH: usize = 64;

    /// The substitute for text that cannot be an identifier. It names no object.
    const IMPOSSIBLE: &str = "impossible";

    /// Returns a new id. Its time is that of `now`, to the millisecond, because lists are in the order of ids and are filtered by them. The
    /// order of ids that one process creates for the same millisecond is that of their creation.
    ///
    /// A counter never returns to an earlier time, so each millisecond has one of its own, and the last few are kept.
    pub fn new(kind: Kind, now: Timestamp) -> Self {
        static COUNTERS: Mutex<VecDeque<(u64, ContextV7)>> = Mutex::new(VecDeque::new());
        let millis = now.unix_millis().max(0).unsigned_abs();
        let (seconds, nanos) = (millis / 1000, (millis % 1000) as u32 * 1_000_000);
        let mut counters = COUNTERS
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let place = counters.iter().rposition(|(at, _)| *at == millis);
        let (_, counter) = place
            .and_then(|place| counters.remove(place))
            .unwrap_or_else(|| (millis, ContextV7::new()));
        let uuid = Uuid::new_v7(uuid::Timestamp::from_unix(&counter, seconds, nanos));
        counters.push_back((millis, counter));
        if counters.len() > KEPT_COUNTERS {
            counters.pop_front();
        }
        Self::from_number(kind, uuid.as_u128())
    }

    /// Returns the same id for the same moment and seed, every time, so that a repeated piece of work writes the same item.
    pub fn derived(kind: Kind, at: Timestamp, seed: &str) -> Self {
        Self::from_number(kind, Self::derived_number(at, seed))
    }

    /// Returns an id like [`Id::derived`]. Those of the same moment are in the order of their places, which are counted up to 4,095, and
    /// then from 0 again.
    pub fn derived_in_order(kind: Kind, at: Timestamp, place: u64, seed: &str) -> Self {
        // The 12 bits `rand_a` of a UUID of version 7.
        const PLACES: u128 = 0xfff;
        let number = Self::derived_number(at, seed) & !(PLACES << 64);
        Self::from_number(kind, number | (u128::from(place) & PLACES) << 64)
    }

    fn derived_number(at: Timestamp, seed: &str) -> u128 {
        let digest = Sha256::digest(seed.as_bytes());
        let mut random = [0; 10];
        random.copy_from_slice(&digest[..10]);
        let uuid = uuid::Builder::from_unix_timestamp_millis(
            at.unix_millis().max(0).unsigned_abs(),
            &random,
        );
        uuid.into_uuid().as_u128()
    }

    /// Returns the id whose 32 digits are this number. The order of ids of one kind is that of their numbers.
    pub fn from_number(kind: Kind, number: u128) -> Self {
        Self(format!("{}{number:032x}", kind.prefix()))
    }

    /// Returns the number in the 32 digits, if this is a well-formed id of that kind.
    pub fn number(&self, kind: Kind) -> Option<u128> {
        let digits = self.0.strip_prefix(kind.prefix())?;
        if digits.len() != 32 {
            return None;
        }
        digits.bytes().try_fold(0, |number, digit| {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                _ => return None,
            };
            Some(number << 4 | u128::from(value))
        })
    }

    /// Returns the smallest number of an id that was created at or after this moment.
    pub fn first_number(at: Timestamp) -> u128 {
        u128::from(at.unix_millis().max(0).unsigned_abs()) << 80
    }

    /// Returns the moment in an id of that kind: the time of its creation, or the moment from which it was derived.
    pub fn time(&self, kind: Kind) -> Option<Timestamp> {
        let millis = i64::try_from(self.number(kind)? >> 80).ok()?;
        Some(Timestamp::from_unix_millis(millis))
    }

    /// Returns the id with another moment in it, so that it is ordered among those created at that moment; a malformed id is returned
    /// unchanged.
    #[must_use]
    pub fn with_time(&self, kind: Kind, at: Timestamp) -> Self {
        const RANDOM: u128 = (1 << 80) - 1;
        self.number(kind).map_or_else(
            || self.clone(),
            |number| Self::from_number(kind, Self::first_number(at) | number & RANDOM),
        )
    }

    /// Returns whether this is a well-formed id of that kind. Only such an id can name an item.
    pub fn is(&self, kind: Kind) -> bool {
        self.number(kind).is_some()
    }

    /// Returns the id of another kind with the same number; the id itself if it is malformed.
    #[must_use]
    pub fn as_kind(&self, kind: Kind) -> Self {
        let own = self.kind().and_then(|own| self.number(own));
        own.map_or_else(|| self.clone(), |number| Self::from_number(kind, number))
    }

    /// Returns the kind of a well-formed id.
    pub fn kind(&self) -> Option<Kind> {
        let prefix = self.0.get(..=self.0.rfind('_')?)?;
        Kind::of_prefix(prefix).filter(|kind| self.is(*kind))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Id {
    fn from(text: String) -> Self {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if (1..=Self::MAX_LENGTH).contains(&text.len()) && text.bytes().all(is_word) {
            Self(text)
        } else {
            Self(Self::IMPOSSIBLE.to_owned())
        }
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.chars().count() > Self::MAX_LENGTH {
            let message = format!("must have at most {} characters", Self::MAX_LENGTH);
            return Err(de::Error::custom(message));
        }
        Ok(Self::from(text))
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::millis;

    #[test]
    fn ids_sort_in_the_order_they_were_made() {
        let now = Timestamp::from_unix_millis(1_772_000_000_123);
        let ids: Vec<Id> = (0..1000).map(|_| Id::new(Kind::Fleet, now)).collect();
        assert!(ids.is_sorted());
        assert!(ids[0].number(Kind::Fleet) >= Some(Id::first_number(now)));
        assert!(Id::new(Kind::Fleet, now.plus(millis(1))) > ids[999]);
    }

    #[test]
    fn an_id_contains_its_own_time_even_if_a_later_id_exists() {
        let now = Timestamp::from_unix_millis(1_782_000_000_123);
        for later in [86_400_000, 700, 1] {
            drop(Id::new(Kind::Fleet, now.plus(millis(later))));
            assert_eq!(Id::new(Kind::Fleet, now).time(Kind::Fleet), Some(now));
        }
    }

    #[test]
    fn a_derived_id_depends_on_its_moment_and_seed_alone() {
        let now = Timestamp::from_unix_millis(1_772_000_000_123);
        assert_eq!(
            Id::derived(Kind::Event, now, "a"),
            Id::derived(Kind::Event, now, "a")
        );
        assert_ne!(
            Id::derived(Kind::Event, now, "a"),
            Id::derived(Kind::Event, now, "b")
        );
        assert!(
            Id::derived(Kind::Event, now, "a") < Id::derived(Kind::Event, now.plus(millis(1)), "b")
        );
    }

    #[test]
    fn only_a_well_formed_id_of_the_kind_counts() {
        let id = Id::new(Kind::Driver, Timestamp::from_unix_millis(1));
        assert!(id.is(Kind::Driver));
        assert_eq!(id.kind(), Some(Kind::Driver));
        for wrong in [
            "",
            "drv_",
            "drv_xyz",
            "flt_0123456789abcdef0123456789abcdef",
            "drv_0123456789ABCDEF0123456789abcdef",
        ] {
            assert!(!Id::from(wrong).is(Kind::Driver), "{wrong}");
        }
        let upper = Id::from(id.as_str().to_uppercase());
        assert!(!upper.is(Kind::Driver));
    }

    #[test]
    fn text_that_cannot_be_an_id_is_not_kept() {
        let id = Id::new(Kind::VehicleTelemetry, Timestamp::from_unix_millis(1));
        assert_eq!(Id::from(id.as_str()), id);
        for wrong in [
            String::new(),
            format!("{id}#"),
            format!("{id}\0"),
            format!("{id}\n"),
            "🚗".into(),
        ] {
            let json = serde_json::to_string(&wrong).unwrap();
            let read: Id = serde_json::from_str(&json).unwrap();
            assert_eq!((read.as_str(), read.kind()), (Id::IMPOSSIBLE, None));
        }
        assert_eq!(Id::from("x".repeat(65)).as_str(), Id::IMPOSSIBLE);
    }

    #[test]
    fn an_id_in_a_body_has_at_most_64_characters() {
        let read = |text: String| serde_json::from_value::<Id>(text.into());
        assert!(read("x".repeat(64)).is_ok() && read("é".repeat(64)).is_ok());
        let refused = read("x".repeat(65)).unwrap_err();
        assert_eq!(refused.to_string(), "must have at most 64 characters");
    }

    #[test]
    fn no_two_kinds_share_a_prefix() {
        for a in Kind::ALL {
            for b in Kind::ALL {
                assert!(
                    a == b || !a.prefix().starts_with(b.prefix()),
                    "{} {}",
                    a.prefix(),
                    b.prefix()
                );
            }
        }
    }
}
