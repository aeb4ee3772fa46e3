//! The key of each item of the table.

use jiff::civil::Date;

use super::events::{
    deliveries_partition, feed_partition, held_partition, moment, queue_partition,
};
use super::fleets::{DAY_OF_FLEET, months_partition, sums_partition, vehicles_in};
use super::networks::{CARD, COMMAND, of_object, of_ocpi, sites_partition};
use super::partition::Partition;
use super::search::{found_prefix, metadata_partition, search_partition};
use super::shards::{DELIVERY_SHARDS, EVENT_SHARDS, shard};
use super::tenant::{ALONE, CHUNK, ENDPOINTS, MAKING, of_tenant};
use kernel::fields::metadata::MetadataPair;
use kernel::{Id, Kind, Mode, Tenant, Timestamp};
use models::charging::calendar::CalendarOwner;
use models::network::{ObjectId, PartyId};

/// The key of an item of the table.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(test, derive(strum::EnumCount))]
pub enum Key<'a> {
    Object {
        tenant: &'a Tenant,
        id: &'a Id,
    },
    Event {
        tenant: &'a Tenant,
        id: &'a Id,
    },
    Account {
        id: &'a Id,
    },
    ChildCount {
        account: &'a Id,
    },
    ApiKey {
        account: &'a Id,
        hash: &'a str,
    },
    Idempotency {
        tenant: &'a Tenant,
        key: &'a str,
    },
    /// An entry of the feed of events, which is visible to all endpoints, or only to the endpoint `only`.
    Fed {
        tenant: &'a Tenant,
        event: &'a Id,
        at: Timestamp,
        only: Option<&'a Id>,
    },
    /// A line of the log of a webhook endpoint. The line of the first attempt contains the state of the delivery.
    Delivery {
        tenant: &'a Tenant,
        endpoint: &'a Id,
        delivery: &'a Id,
    },
    /// A delivery that is held while its endpoint fails.
    Held {
        tenant: &'a Tenant,
        endpoint: &'a Id,
        delivery: &'a Id,
    },
    /// An event in the queue of its object at an endpoint with `ordered`; without a number, the number whose turn it is.
    Queued {
        tenant: &'a Tenant,
        endpoint: &'a Id,
        object: &'a str,
        sequence: Option<u64>,
    },
    /// The time at which a webhook endpoint with a limit accepts the next attempt.
    Pace {
        tenant: &'a Tenant,
        endpoint: &'a Id,
    },
    EndpointCount {
        tenant: &'a Tenant,
    },
    DriverOfFleet {
        tenant: &'a Tenant,
        fleet: &'a Id,
        driver: &'a Id,
    },
    /// The sums of a fleet in a day.
    FleetDay {
        tenant: &'a Tenant,
        fleet: &'a Id,
        day: Date,
    },
    /// The sums of a vehicle of a fleet in a month. The date is a day of the month.
    VehicleMonth {
        tenant: &'a Tenant,
        fleet: &'a Id,
        month: Date,
        vehicle: &'a Id,
    },
    /// A search entry of an object: a normalized text by which it is found.
    Found {
        tenant: &'a Tenant,
        text: &'a str,
        id: &'a Id,
    },
    /// A pair in the metadata of an object.
    WithMetadata {
        tenant: &'a Tenant,
        pair: &'a MetadataPair,
        id: &'a Id,
    },
    /// A charge card of a driver or a vehicle.
    CardOf {
        tenant: &'a Tenant,
        holder: &'a Id,
        card: &'a Id,
    },
    /// Some bodies of a batch, or their results.
    Chunk {
        tenant: &'a Tenant,
        batch: &'a Id,
        chunk: usize,
    },
    Line {
        tenant: &'a Tenant,
        invoice: &'a Id,
        line: &'a Id,
    },
    Making {
        tenant: &'a Tenant,
        invoice: &'a Id,
    },
    /// The last number of the documents of a kind that were finalized in a year.
    DocumentNumber {
        tenant: &'a Tenant,
        kind: Kind,
        year: i16,
    },
    Rate {
        tenant: &'a Tenant,
    },
    DeletedPaymentMethod {
        tenant: &'a Tenant,
        id: &'a Id,
    },
    /// The account that uses a customer or token of the payment provider.
    ProviderId {
        mode: Mode,
        id: &'a str,
    },
    Station {
        mode: Mode,
        id: &'a Id,
    },
    /// The requests to plan a site.
    PlansOfSite {
        tenant: &'a Tenant,
        site: &'a Id,
    },
    /// The site of an account that a station belongs to.
    SiteOfStation {
        tenant: &'a Tenant,
        station: &'a Id,
    },
    Calendar {
        mode: Mode,
        owner: &'a CalendarOwner,
        day: Date,
    },
    Network {
        mode: Mode,
        id: &'a Id,
    },
    /// The progress of a pull.
    Pull {
        mode: Mode,
        network: &'a Id,
    },
    /// The ids on a page of a full pull.
    PulledPage {
        mode: Mode,
        network: &'a Id,
        page: u32,
    },
    /// The network that authenticates with a token.
    OwnToken {
        mode: Mode,
        hash: &'a str,
    },
    /// The network that a party belongs to.
    Party {
        mode: Mode,
        party: &'a PartyId,
    },
    /// An object as a party has sent it.
    OcpiObject {
        mode: Mode,
        id: &'a ObjectId,
    },
    /// The use of a tariff by a location of the same party; without a location, the common prefix of the sort keys of all such items.
    TariffUse {
        mode: Mode,
        tariff: &'a ObjectId,
        location: Option<&'a ObjectId>,
    },
    NetworkCommand {
        mode: Mode,
        id: &'a Id,
    },
    /// The uid of a charge card, and its token.
    ChargeToken {
        mode: Mode,
        uid: &'a str,
    },
    /// The claim of an account to the uid of a charge card that another account holds.
    CardClaim {
        mode: Mode,
        uid: &'a str,
        account: &'a Id,
    },
    /// The charging session that was created last for a use of a charge card.
    LastUse {
        tenant: &'a Tenant,
        card: &'a Id,
    },
    /// The item that serializes additions to the charge cards of a driver.
    CardsOf {
        tenant: &'a Tenant,
        holder: &'a Id,
    },
}

/// The sort key of the item that counts the accounts below an account.
const CHILDREN: &str = "CHILDREN";
/// The sort key of the item that counts the requests to plan a site.
const PLANS: &str = "PLANS";
/// The sort key of the last use of a charge card.
const USED: &str = "USED";
/// The sort key of a deleted payment method.
const DELETED: &str = "DELETED";

impl Key<'_> {
    /// Returns the values of `pk` and `sk`.
    pub fn pair(self) -> (String, String) {
        match self {
            Self::Object { tenant, id } => (of_tenant(tenant, id.as_str()), ALONE.into()),
            Self::Event { tenant, id } => {
                let kind = Kind::Event;
                let events = Partition::Kind { tenant, kind };
                (events.value_of(id), id.to_string())
            }
            Self::Account { id } => (format!("ACCOUNT#{id}"), ALONE.into()),
            Self::ChildCount { account } => (format!("ACCOUNT#{account}"), CHILDREN.into()),
            Self::ApiKey { account, hash } => (format!("KEY#{account}#{hash}"), ALONE.into()),
            Self::Idempotency { tenant, key } => {
                (of_tenant(tenant, &format!("IDEM#{key}")), ALONE.into())
            }
            Self::Fed {
                tenant,
                event,
                at,
                only,
            } => {
                let place = format!("{}#{event}", moment(at));
                let only = only.map_or_else(String::new, |endpoint| format!("#{endpoint}"));
                (
                    feed_partition(tenant, shard(event.as_str(), EVENT_SHARDS)),
                    place + &only,
                )
            }
            Self::Delivery {
                tenant,
                endpoint,
                delivery,
            } => (
                deliveries_partition(tenant, endpoint, shard(delivery.as_str(), DELIVERY_SHARDS)),
                delivery.to_string(),
            ),
            Self::Held {
                tenant,
                endpoint,
                delivery,
            } => (held_partition(tenant, endpoint), delivery.to_string()),
            Self::Queued {
                tenant,
                endpoint,
                object,
                sequence,
            } => (
                queue_partition(tenant, endpoint, object),
                sequence.map_or_else(|| ALONE.into(), |number| format!("{number:012}")),
            ),
            Self::Pace { tenant, endpoint } => {
                (of_tenant(tenant, &format!("{endpoint}#PACE")), ALONE.into())
            }
            Self::EndpointCount { tenant } => (of_tenant(tenant, ENDPOINTS), ALONE.into()),
            Self::DriverOfFleet {
                tenant,
                fleet,
                driver,
            } => (of_tenant(tenant, fleet.as_str()), driver.to_string()),
            Self::Found { tenant, text, id } => {
                let kind = id
                    .kind()
                    .map_or_else(String::new, |kind| found_prefix(kind, ""));
                (search_partition(tenant), format!("{kind}{text}#{id}"))
            }
            Self::WithMetadata { tenant, pair, id } => {
                (metadata_partition(tenant, pair), id.to_string())
            }
            Self::FleetDay { tenant, fleet, day } => (
                sums_partition(tenant, fleet),
                format!("{DAY_OF_FLEET}{day}"),
            ),
            Self::VehicleMonth {
                tenant,
                fleet,
                month,
                vehicle,
            } => (
                months_partition(tenant, fleet),
                format!("{}{vehicle}", vehicles_in(month)),
            ),
            Self::CardOf {
                tenant,
                holder,
                card,
            } => (
                of_tenant(tenant, &format!("CARDS#{holder}")),
                card.to_string(),
            ),
            Self::Chunk {
                tenant,
                batch,
                chunk,
            } => (
                of_tenant(tenant, batch.as_str()),
                format!("{CHUNK}{chunk:03}"),
            ),
            Self::Line {
                tenant,
                invoice,
                line,
            } => (of_tenant(tenant, invoice.as_str()), line.to_string()),
            Self::Making { tenant, invoice } => {
                (of_tenant(tenant, invoice.as_str()), MAKING.into())
            }
            Self::DocumentNumber { tenant, kind, year } => (
                of_tenant(tenant, "NUMBERS"),
                format!("{}#{year}", kind.name()),
            ),
            Self::Rate { tenant } => (of_tenant(tenant, "RATE"), ALONE.into()),
            Self::DeletedPaymentMethod { tenant, id } => {
                (of_tenant(tenant, id.as_str()), DELETED.into())
            }
            Self::ProviderId { mode, id } => (format!("{mode}#PROVIDER#{id}"), ALONE.into()),
            Self::Station { mode, id } => (format!("{mode}#{id}"), ALONE.into()),
            Self::PlansOfSite { tenant, site } => (of_tenant(tenant, site.as_str()), PLANS.into()),
            Self::SiteOfStation { tenant, station } => (
                sites_partition(tenant.mode, station),
                tenant.account.to_string(),
            ),
            Self::Calendar { mode, owner, day } => {
                let owner = match owner {
                    CalendarOwner::Evse { station, evse } => format!("{station}#{evse}"),
                    CalendarOwner::Vehicle(vehicle) => vehicle.to_string(),
                };
                (format!("{mode}#CAL#{owner}"), day.to_string())
            }
            Self::Network { mode, id } => (format!("{mode}#{id}"), ALONE.into()),
            Self::Pull { mode, network } => (format!("{mode}#{network}"), "PULL".into()),
            Self::PulledPage {
                mode,
                network,
                page,
            } => (format!("{mode}#{network}"), format!("PULLED#{page:08}")),
            Self::OwnToken { mode, hash } => (of_ocpi(mode, "TOKEN", hash), ALONE.into()),
            Self::Party { mode, party } => {
                (of_ocpi(mode, "PARTY", &party.to_string()), ALONE.into())
            }
            Self::OcpiObject { mode, id } => (of_object(mode, id), ALONE.into()),
            Self::TariffUse {
                mode,
                tariff,
                location,
            } => (
                of_object(mode, tariff),
                format!(
                    "LOCATION#{}",
                    location.map_or_else(String::new, ObjectId::order)
                ),
            ),
            Self::NetworkCommand { mode, id } => {
                (of_ocpi(mode, COMMAND, id.as_str()), ALONE.into())
            }
            Self::ChargeToken { mode, uid } => {
                (of_ocpi(mode, CARD, &uid.to_lowercase()), ALONE.into())
            }
            Self::CardClaim { mode, uid, account } => (
                of_ocpi(mode, CARD, &uid.to_lowercase()),
                account.to_string(),
            ),
            Self::LastUse { tenant, card } => (of_tenant(tenant, card.as_str()), USED.into()),
            Self::CardsOf { tenant, holder } => {
                (of_tenant(tenant, &format!("CARDS#{holder}")), ALONE.into())
            }
        }
    }
}
