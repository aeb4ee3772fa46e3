//! The lists of objects: partitions of an index, or of the table.

use jiff::ToSpan as _;
use jiff::civil::Date;

use super::fleets::of_fleet;
use super::index::{TABLE, list_of};
use super::networks::of_ocpi;
use super::shards::{DELIVERY_SHARDS, EVENT_SHARDS, OPEN_SHARDS, numbered, shard};
use super::tenant::of_tenant;
use kernel::{Id, Kind, Mode, Tenant};
use models::network::Owner;
use unicode_normalization::UnicodeNormalization as _;

/// A member by whose value objects are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    Email,
    Plate,
    Vin,
}

impl Lookup {
    fn name(self) -> &'static str {
        match self {
            Self::Email => "EMAIL",
            Self::Plate => "PLATE",
            Self::Vin => "VIN",
        }
    }

    /// Returns the index. A vehicle has one entry in each index.
    fn index(self) -> &'static str {
        match self {
            Self::Email | Self::Plate => "network",
            Self::Vin => "ids",
        }
    }

    /// Returns a value as it is compared: in lower case, with composed letters (NFC), and a licence plate without separators.
    fn normal(self, value: &str) -> String {
        let lower: String = value.trim().to_lowercase().nfc().collect();
        match self {
            Self::Email | Self::Vin => lower,
            Self::Plate => lower.replace([' ', '-'], ""),
        }
    }

    /// Returns whether two values are the same.
    pub fn is_same(self, value: &str, other: &str) -> bool {
        self.normal(value) == self.normal(other)
    }
}

/// One partition of an index, or of the table, in the order of ids.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(test, derive(strum::EnumCount))]
pub enum Partition<'a> {
    /// All objects of a kind.
    Kind { tenant: &'a Tenant, kind: Kind },
    /// The objects of a kind that belong to a fleet.
    Fleet {
        tenant: &'a Tenant,
        fleet: &'a Id,
        kind: Kind,
    },
    /// The reservations that are over and whose fee is due.
    Fees { tenant: &'a Tenant },
    /// The reservations whose fee became due in a month and is paid. The date is the first day of the month, UTC.
    PaidFees { tenant: &'a Tenant, month: Date },
    /// The sessions that were over, with a final price, long after their creation ([`crate::sessions`]), by the month of that moment. The
    /// date is the first day of the month, UTC.
    LateSessions { tenant: &'a Tenant, month: Date },
    /// The pending reservations by need of all accounts whose block is at a station.
    Planned { mode: Mode, station: &'a Id },
    /// The adjustments that no paid invoice bills.
    OpenAdjustments { tenant: &'a Tenant },
    /// The adjustments that were created in a month and that a paid invoice bills. The date is the first day of the month, UTC.
    PaidAdjustments { tenant: &'a Tenant, month: Date },
    /// The adjustments of a session or a reservation.
    AdjustmentsOf { tenant: &'a Tenant, what: &'a Id },
    /// The document with a number.
    Number {
        tenant: &'a Tenant,
        kind: Kind,
        number: &'a str,
    },
    /// The objects of a kind with a value of a member, however the value is written.
    Lookup {
        tenant: &'a Tenant,
        kind: Kind,
        member: Lookup,
        value: &'a str,
    },
    /// The objects of a kind in a status.
    Status {
        tenant: &'a Tenant,
        kind: Kind,
        status: &'static str,
    },
    /// The invoices that were finalized in some months, from a first to a last one. The dates are first days, UTC.
    Finalized {
        tenant: &'a Tenant,
        first: Date,
        last: Date,
    },
    /// The refunds of a month. The date is its first day, UTC.
    Refunds { tenant: &'a Tenant, month: Date },
    /// The transactions that pay an invoice, and their refunds; the refunds and adjustments of a session (the id of its charge is derived
    /// from its own id); and the credit notes of an invoice.
    PaymentsFor { tenant: &'a Tenant, what: &'a Id },
    /// The reservations and sessions of a driver.
    Driver { tenant: &'a Tenant, driver: &'a Id },
    /// The reservations and sessions of a vehicle.
    Vehicle { tenant: &'a Tenant, vehicle: &'a Id },
    /// The open reservations, and the open sessions that may outlast a day, or that name a payment method and fulfil no reservation that
    /// names the same.
    Open { tenant: &'a Tenant },
    /// The vehicles of a site.
    Site { tenant: &'a Tenant, site: &'a Id },
    /// The attempts to deliver to a webhook endpoint.
    Deliveries {
        tenant: &'a Tenant,
        endpoint: &'a Id,
    },
    /// The accounts that an account has created.
    Children { parent: &'a Id },
    /// All stations of a mode.
    Stations { mode: Mode },
    /// The stations in a region, in the order of their cells.
    Region { mode: Mode, region: &'a str },
    /// All networks of a mode.
    Networks { mode: Mode },
    /// The locations of a party.
    LocationsOf { mode: Mode, owner: &'a Owner },
    /// The tariffs of a party.
    TariffsOf { mode: Mode, owner: &'a Owner },
    /// The sessions and CDRs that belong to no session of this service.
    Unmatched { mode: Mode },
    /// The tokens of charge cards.
    Tokens { mode: Mode },
    /// The claims of uids of charge cards that await a decision.
    CardClaims { mode: Mode },
}

impl Partition<'_> {
    /// Returns the name of the index or [`TABLE`], and the value of its hash key ([`super::hash_key_of`]), to which a number is appended if
    /// the list is spread over several partitions.
    pub fn place(self) -> (&'static str, String) {
        match self {
            Self::Kind { tenant, kind } => (list_of(kind), of_tenant(tenant, kind.name())),
            Self::Fleet {
                tenant,
                fleet,
                kind,
            } => ("fleet", of_fleet(tenant, fleet, kind)),
            Self::Fees { tenant } => ("network", of_tenant(tenant, "FEES")),
            Self::Planned { mode, station } => ("network", format!("{mode}#PLANNED#{station}")),
            Self::OpenAdjustments { tenant } => ("fleet", of_tenant(tenant, "ADJUSTMENTS")),
            Self::PaidAdjustments { tenant, month } => {
                ("fleet", of_month(tenant, "ADJUSTMENTS", month))
            }
            Self::AdjustmentsOf { tenant, what } => {
                ("network", of_tenant(tenant, &format!("ADJUSTMENTS#{what}")))
            }
            Self::PaidFees { tenant, month } => ("network", of_month(tenant, "FEES", month)),
            Self::LateSessions { tenant, month } => {
                ("network", of_month(tenant, "SESSIONS", month))
            }
            Self::Refunds { tenant, month } => ("network", of_month(tenant, "REFUNDS", month)),
            Self::Number {
                tenant,
                kind,
                number,
            } => {
                let number = format!("NUMBER#{}#{number}", kind.name());
                ("network", of_tenant(tenant, &number))
            }
            Self::Lookup {
                tenant,
                kind,
                member,
                value,
            } => {
                let value = format!("{}#{}#{}", kind.name(), member.name(), member.normal(value));
                (member.index(), of_tenant(tenant, &value))
            }
            Self::Status {
                tenant,
                kind,
                status,
            } => {
                let status = format!("{}#{status}", kind.name());
                ("payment", of_tenant(tenant, &status))
            }
            Self::Finalized { tenant, first, .. } => {
                ("driver", of_month(tenant, "FINALIZED", first))
            }
            Self::PaymentsFor { what, .. } => ("payment", what.to_string()),
            Self::Driver { driver, .. } => ("driver", driver.to_string()),
            Self::Vehicle { vehicle, .. } => ("vehicle", vehicle.to_string()),
            Self::Open { tenant } => ("payment", of_tenant(tenant, "OPEN")),
            Self::Site { site, .. } => ("payment", site.to_string()),
            Self::Deliveries { tenant, endpoint } => (TABLE, of_tenant(tenant, endpoint.as_str())),
            Self::Children { parent } => ("list", format!("{parent}#ACCOUNTS")),
            Self::Stations { mode } => {
                let kind = Kind::ChargingStation;
                (list_of(kind), format!("{mode}#{}", kind.name()))
            }
            Self::Region { mode, region } => ("cell", format!("{mode}#{region}")),
            Self::Networks { mode } => {
                let kind = Kind::Network.name();
                ("list", format!("{mode}#{kind}"))
            }
            Self::LocationsOf { mode, owner } => {
                let value = of_ocpi(mode, "LOCATIONS", &owner.to_string());
                ("network", value)
            }
            Self::TariffsOf { mode, owner } => {
                let value = of_ocpi(mode, "TARIFFS", &owner.to_string());
                ("network", value)
            }
            Self::Unmatched { mode } => ("network", format!("{mode}#OCPI#UNMATCHED")),
            Self::Tokens { mode } => ("network", format!("{mode}#OCPI#CARDS")),
            Self::CardClaims { mode } => ("network", format!("{mode}#OCPI#CLAIMS")),
        }
    }

    /// Returns the number of partitions of the index over which the list is spread.
    fn shards(self) -> u8 {
        match self {
            Self::Kind {
                kind: Kind::Event, ..
            } => EVENT_SHARDS,
            Self::Open { .. } => OPEN_SHARDS,
            Self::Deliveries { .. } => DELIVERY_SHARDS,
            _ => 1,
        }
    }

    /// Returns whether the list is spread over several partitions.
    pub fn is_spread(self) -> bool {
        self.shards() > 1 || matches!(self, Self::Finalized { first, last, .. } if first != last)
    }

    /// Returns the value of the hash key of an entry.
    pub fn value_of(self, id: &Id) -> String {
        let (_, value) = self.place();
        match self.shards() {
            1 => value,
            shards => numbered(&value, shard(id.as_str(), shards)),
        }
    }

    /// Returns the values of the hash keys under which the entries are.
    pub fn values(self) -> Vec<String> {
        if let Self::Finalized {
            tenant,
            first,
            last,
        } = self
        {
            let months = first.series(1.month()).take_while(|month| *month <= last);
            return months
                .map(|month| of_month(tenant, "FINALIZED", month))
                .collect();
        }
        let (_, value) = self.place();
        match self.shards() {
            1 => vec![value],
            shards => (0..shards).map(|number| numbered(&value, number)).collect(),
        }
    }
}

fn of_month(tenant: &Tenant, list: &str, month: Date) -> String {
    of_tenant(tenant, &format!("{list}#{}", month.strftime("%Y-%m")))
}
