//! The keys of the table. No other module formats a key.
//!
//! | Item | `pk` | `sk` | Index |
//! |---|---|---|---|
//! | object of a tenant | `<acct>#<mode>#<id>` | `#` | `list`: `<acct>#<mode>#<kind>` by id; of API keys, fleets, invoices, reservations, sessions and transactions instead `ids`: the same |
//! | vehicle, reservation, session, transaction | | | also `fleet`: `<acct>#<mode>#<flt>#<kind>` by id |
//! | reservation, session | | | also `driver`: `<drv>` by id; `vehicle`: `<veh>` by id; `payment`: `<acct>#<mode>#OPEN#<0 to 3>` by id, of a reservation while it is open, and of a session while it is open and may outlast a day, or names a payment method, unless it fulfils a reservation that names the same |
//! | session that was over more than 14 days after its creation | | | also `network`: `<acct>#<mode>#SESSIONS#<yyyy-mm>` by id |
//! | reservation | | | also, while its fee is due, `network`: `<acct>#<mode>#FEES` by id, and once it is paid `<acct>#<mode>#FEES#<yyyy-mm>`; of a pending one by need `<mode>#PLANNED#<chst>` by id |
//! | transaction | | | also `payment`: of one that pays an invoice, of its refunds and of those of a session, `<cs or inv>` by id; `network`: of a refund `<acct>#<mode>#REFUNDS#<yyyy-mm>` by id |
//! | invoice | | | also `fleet`: `<acct>#<mode>#<flt>#<kind>` by id; `payment`: `<acct>#<mode>#invoice#<status>` by id; with a number `network`: `<acct>#<mode>#NUMBER#invoice#<number>` and `driver`: `<acct>#<mode>#FINALIZED#<yyyy-mm>` by id |
//! | credit note | | | also `fleet`: `<acct>#<mode>#<flt>#<kind>` by id; `payment`: `<inv>` by id |
//! | adjustment | | | only `fleet`: `<acct>#<mode>#ADJUSTMENTS` by id, and once its invoice is paid `<acct>#<mode>#ADJUSTMENTS#<yyyy-mm>`; of a session or a reservation also `network`: `<acct>#<mode>#ADJUSTMENTS#<cs or res>` by id |
//! | estimation | `<acct>#<mode>#<est>` | `#` | `ttl` 30 days after its prices have lapsed |
//! | account | `ACCOUNT#<acct>` | `#` | `list`: `<parent>#ACCOUNTS` by id |
//! | number of accounts below an account | `ACCOUNT#<acct>` | `CHILDREN` | |
//! | API key | `KEY#<acct>#<hash>` | `#` | `ids`: `<acct>#<mode>#api_key` by id |
//! | idempotency record | `<acct>#<mode>#IDEM#<key>` | `#` | `ttl` 24 h, compared with the clock |
//! | event (outbox) | `<acct>#<mode>#event#<0 to 7>` | `<evt>` | `next_action` until its deliveries are planned; `ttl` 30 days |
//! | entry of the feed of events, where there is a polling endpoint | `<acct>#<mode>#event#FEED#<0 to 7>` | `<Unix ms>#<evt>`, of one that only an endpoint is shown `<Unix ms>#<evt>#<wh>` | `ttl` 30 days |
//! | delivery of an event to an endpoint, with the log line of the first attempt | `<acct>#<mode>#<wh>#<0 to 15>` | `<dlv>` | `next_action` while another attempt is due; `ttl` 30 days |
//! | further attempt of a delivery | the same | `<dlv>` | `ttl` 30 days |
//! | delivery that is held while its endpoint fails | `<acct>#<mode>#<wh>#HELD` | `<dlv>` | `ttl` 30 days |
//! | event that waits for others of its object, at an endpoint with `ordered` | `<acct>#<mode>#<wh>#ORDER#<object>` | `<sequence>` | `ttl` 30 days |
//! | number of the event whose turn it is in that queue | the same | `#` | `ttl` 60 days after it has changed |
//! | next moment at which a webhook endpoint with a limit accepts an attempt | `<acct>#<mode>#<wh>#PACE` | `#` | |
//! | number of webhook endpoints | `<acct>#<mode>#ENDPOINTS` | `#` | |
//! | bodies of a batch, or their results | `<acct>#<mode>#<bat>` | `CHUNK#<place>` | `ttl` 30 days |
//! | line of an invoice | `<acct>#<mode>#<inv>` | `<li>` | |
//! | invoice in progress | `<acct>#<mode>#<inv>` | `MAKING` | |
//! | last number of the documents of a kind in a year | `<acct>#<mode>#NUMBERS` | `<kind>#<year>` | |
//! | driver of a fleet | `<acct>#<mode>#<flt>` | `<drv>` | |
//! | sums of a fleet in a day | `<acct>#<mode>#<flt>#SUMS` | `DAY#<yyyy-mm-dd>` | |
//! | sums of a vehicle by the day in a month | `<acct>#<mode>#<flt>#MONTHS` | `VEHICLE#<yyyy-mm>#<veh>` | |
//! | text by which an object is found | `<acct>#<mode>#SEARCH` | `<kind>#<text>#<id>` | |
//! | charge card of a driver or vehicle | `<acct>#<mode>#CARDS#<drv or veh>` | `<ccd>` | |
//! | request rate | `<acct>#<mode>#RATE` | `#` | `ttl` 1 h |
//! | deleted payment method | `<acct>#<mode>#<pm>` | `DELETED` | `ttl` 90 days |
//! | account that uses a customer or token of the payment provider | `<mode>#PROVIDER#<id>` | `#` | |
//! | station | `<mode>#<chst>` | `#` | `ids`: `<mode>#charging_station` by id; `cell`: `<mode>#<H3 cell of resolution 1>` by `<H3 cell of resolution 8>` |
//! | requests to plan a site | `<acct>#<mode>#<site>` | `PLANS` | `ttl` 1 day |
//! | site of a station | `<mode>#SITES#<chst>` | `<acct>` | |
//! | network | `<mode>#<net>` | `#` | `list`: `<mode>#network` by id; `next_action` |
//! | state of a pull from a network | `<mode>#<net>` | `PULL` | |
//! | ids on a page of a full pull | `<mode>#<net>` | `PULLED#<page>` | `ttl` 7 days |
//! | network of a token that it authenticates with | `<mode>#OCPI#TOKEN#<hash>` | `#` | |
//! | network of a party | `<mode>#OCPI#PARTY#<country>*<party>` | `#` | |
//! | object as a party has sent it | `<mode>#OCPI#OBJECT#<net>#<country>*<party>#<module>#<id>` | `#` | `network`: of locations `<mode>#OCPI#LOCATIONS#<net>#<country>*<party>` by id, of sessions and CDRs that match no session of this service `<mode>#OCPI#UNMATCHED` by time, with `ttl` 90 days after they were received |
//! | location that names a tariff | that of the tariff | `LOCATION#<id>` | |
//! | command to a network | `<mode>#OCPI#COMMAND#<cmd>` | `#` | `ttl` 30 days |
//! | claim of a uid that another account's charge card holds | `<mode>#OCPI#CARD#<uid>` | `<acct>` | `network`: `<mode>#OCPI#CLAIMS` by time, until an operator has decided |
//! | charging session that was created last for a use of a charge card | `<acct>#<mode>#<ccd>` | `USED` | `ttl` a day after |
//! | additions to the charge cards of a driver | `<acct>#<mode>#CARDS#<drv>` | `#` | |
//! | uid of a charge card, and its token | `<mode>#OCPI#CARD#<uid>` | `#` | `network`: `<mode>#OCPI#CARDS` by time of update; `ttl` 90 days after the card was deleted, or its account erased |
//! | calendar of an EVSE | `<mode>#CAL#<chst>#<evse>` | `<yyyy-mm-dd>` | `ttl` a week after the day |
//! | calendar of a vehicle | `<mode>#CAL#<veh>` | `<yyyy-mm-dd>` | `ttl` a week after the day |
//!
//! Only the index `list` holds whole items: of kinds that are listed more often than they change. The other indexes hold keys, so that an
//! update which changes no key writes no index entry; items found by them are read with BatchGetItem. The index `payment` also holds
//! driver, vehicle and payment method, so that open objects that need one of them are found without reading the objects. Events are listed
//! in the order of the table, without an index: the number in their partition key is derived from the id. Ids are unique among all accounts
//! and modes, so the indexes by driver and vehicle need no prefix; the keys in their entries contain the tenant.
//!
//! A partition key accepts 1,000 write units a second. Items that one account may write faster are spread over several partitions by id,
//! and their entries are merged when they are read: events, and the deliveries to an endpoint. Items that wait for an action have `next_pk`
//! and `next_at`, the keys of the index `next_action` that the sweeper reads. They are spread by their keys and not by the time: at 08:00
//! many actions are due at once.

use jiff::ToSpan as _;
use jiff::civil::Date;

use kernel::fields::metadata::MetadataPair;
use kernel::{Id, Kind, Mode, Tenant, Timestamp};
use models::charging::calendar::CalendarOwner;
use models::network::{ObjectId, Owner, PartyId};
use sha2::{Digest as _, Sha256};

/// The key of an item of the table.
#[derive(Debug, Clone, Copy)]
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

/// The sort key of an item that is the only one under its partition key.
const ALONE: &str = "#";
/// The sort key of the item that counts the accounts below an account.
const CHILDREN: &str = "CHILDREN";
/// The prefix of the sort keys of the bodies of a batch.
const CHUNK: &str = "CHUNK#";
/// The sort key of the item that marks an invoice as in progress.
const MAKING: &str = "MAKING";
/// The prefix, after the mode, of the keys of objects that parties have sent.
const OBJECT: &str = "OBJECT";
/// The same prefix for the tokens of charge cards.
const CARD: &str = "CARD";
/// The same prefix for commands to networks.
const COMMAND: &str = "COMMAND";
/// The sort key of the item that counts the requests to plan a site.
const PLANS: &str = "PLANS";
/// The sort key of the last use of a charge card.
const USED: &str = "USED";
/// The sort key of a deleted payment method.
const DELETED: &str = "DELETED";
/// The prefix of the sort keys of a fleet's daily sums.
pub const DAY_OF_FLEET: &str = "DAY#";

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
            Self::EndpointCount { tenant } => (of_tenant(tenant, "ENDPOINTS"), ALONE.into()),
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

    /// Returns a value as it is compared: in lower case, and a licence plate without separators.
    fn normal(self, value: &str) -> String {
        let lower = value.trim().to_lowercase();
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
    /// The sessions that were over, with a final price, long after their creation ([`super::sessions`]), by the month of that moment. The
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
    /// The sessions and CDRs that belong to no session of this service.
    Unmatched { mode: Mode },
    /// The tokens of charge cards.
    Tokens { mode: Mode },
    /// The claims of uids of charge cards that await a decision.
    CardClaims { mode: Mode },
}

impl Partition<'_> {
    /// Returns the name of the index or [`TABLE`], and the value of its hash key ([`hash_key_of`]), to which a number is appended if the
    /// list is spread over several partitions.
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
                let month = format!("ADJUSTMENTS#{}", month.strftime("%Y-%m"));
                ("fleet", of_tenant(tenant, &month))
            }
            Self::AdjustmentsOf { tenant, what } => {
                ("network", of_tenant(tenant, &format!("ADJUSTMENTS#{what}")))
            }
            Self::PaidFees { tenant, month } => {
                let month = format!("FEES#{}", month.strftime("%Y-%m"));
                ("network", of_tenant(tenant, &month))
            }
            Self::LateSessions { tenant, month } => {
                let month = format!("SESSIONS#{}", month.strftime("%Y-%m"));
                ("network", of_tenant(tenant, &month))
            }
            Self::Refunds { tenant, month } => {
                let month = format!("REFUNDS#{}", month.strftime("%Y-%m"));
                ("network", of_tenant(tenant, &month))
            }
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
            Self::Finalized { tenant, first, .. } => ("driver", finalized_in(tenant, first)),
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
            return months.map(|month| finalized_in(tenant, month)).collect();
        }
        let (_, value) = self.place();
        match self.shards() {
            1 => vec![value],
            shards => (0..shards).map(|number| numbered(&value, number)).collect(),
        }
    }
}

/// The number of partitions for the events of an account: 6 events for each of 1,000 reservations a second are 750 writes a second in each
/// partition.
const EVENT_SHARDS: u8 = 8;

/// The number of partitions for the open objects of an account: 2 writes for each of 1,000 reservations a second are 500 in each partition.
const OPEN_SHARDS: u8 = 4;

/// The number of partitions for the deliveries to an endpoint: two writes of each of 6 deliveries for each of 1,000 reservations a second
/// are 750 in each partition.
pub const DELIVERY_SHARDS: u8 = 16;

/// Returns the index of the list of all objects of a kind. Objects that change often are in an index that holds only keys.
fn list_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Event => TABLE,
        Kind::ApiKey
        | Kind::ChargingSession
        | Kind::ChargingStation
        | Kind::Fleet
        | Kind::Invoice
        | Kind::Reservation
        | Kind::Transaction => "ids",
        _ => "list",
    }
}

/// Returns whether the list of all objects of a kind is in an index that holds keys, so that the items are read with a second call.
pub fn is_list_of_keys(kind: Kind) -> bool {
    !holds_items(list_of(kind))
}

/// The value for the table itself in place of the name of an index: a list of the items of some of its partitions, by their sort keys.
pub const TABLE: &str = "table";

/// Returns whether an index holds whole items.
pub fn holds_items(index: &str) -> bool {
    matches!(index, "list" | TABLE)
}

/// Returns the attribute that is the hash key of an index or of the table.
pub fn hash_key_of(index: &str) -> String {
    match index {
        TABLE => "pk".to_owned(),
        _ => format!("{index}_pk"),
    }
}

/// Returns the attribute that orders the entries of a list.
pub fn order_in(index: &str) -> &'static str {
    match index {
        TABLE => "sk",
        "network" => "network_sk",
        _ => "list_sk",
    }
}

/// Returns one of several partitions. The text determines which.
fn shard(text: &str, of: u8) -> u8 {
    (crc32fast::hash(text.as_bytes()) % u32::from(of)) as u8
}

fn numbered(value: &str, number: u8) -> String {
    format!("{value}#{number}")
}

/// Returns the partitions of the table with the feed of events.
pub fn feed_partitions(tenant: &Tenant) -> Vec<String> {
    let partition = |number| feed_partition(tenant, number);
    (0..EVENT_SHARDS).map(partition).collect()
}

fn feed_partition(tenant: &Tenant, number: u8) -> String {
    let feed = format!("{}#FEED", Kind::Event.name());
    numbered(&of_tenant(tenant, &feed), number)
}

/// Returns the sort key behind the entries of an event at a moment in the feed, or before all entries of the moment.
pub fn behind_in_feed(at: Timestamp, event: Option<&Id>) -> String {
    // The entries of the event end with its id, or continue with `#`, which comes before `$`.
    let event = event.map_or_else(String::new, |event| format!("{event}$"));
    format!("{}#{event}", moment(at))
}

/// Returns a moment as a text whose order is that of the moments.
fn moment(at: Timestamp) -> String {
    format!("{:013}", at.unix_millis())
}

/// Returns one of the partitions of the table with the deliveries to an endpoint.
pub fn deliveries_partition(tenant: &Tenant, endpoint: &Id, number: u8) -> String {
    numbered(&of_tenant(tenant, endpoint.as_str()), number)
}

/// Returns the partition of the table with the sums of a fleet by the day.
pub fn sums_partition(tenant: &Tenant, fleet: &Id) -> String {
    of_tenant(tenant, &format!("{fleet}#SUMS"))
}

/// Returns the partition of the table with the sums of the vehicles of a fleet. Each session writes one of them, so the fleet's own sums
/// are in another partition.
pub fn months_partition(tenant: &Tenant, fleet: &Id) -> String {
    of_tenant(tenant, &format!("{fleet}#MONTHS"))
}

/// Returns the partition of the texts by which the objects of a tenant are found.
pub fn search_partition(tenant: &Tenant) -> String {
    of_tenant(tenant, "SEARCH")
}

/// Returns the partition key of the objects that have a pair in their metadata. It contains a hash of the pair, because a pair may be
/// longer than a partition key.
pub fn metadata_partition(tenant: &Tenant, pair: &MetadataPair) -> String {
    let hash = Sha256::digest(format!("{}:{}", pair.key, pair.value));
    of_tenant(tenant, &format!("META#{}", hex::encode(&hash[..16])))
}

/// Returns the prefix of the sort keys of the texts with a beginning by which objects of a kind are found.
pub fn found_prefix(kind: Kind, text: &str) -> String {
    format!("{}#{text}", kind.name())
}

/// Returns the text and the object in the sort key of a search text.
pub fn parse_found(sk: &str) -> Option<(&str, Id)> {
    let (_, found) = sk.split_once('#')?;
    let (text, id) = found.split_once('#')?;
    let id = Id::from(id);
    id.kind().is_some().then_some((text, id))
}

/// Returns the prefix of the sort keys of the sums of vehicles in a month.
pub fn vehicles_in(month: Date) -> String {
    format!("VEHICLE#{}#", month.strftime("%Y-%m"))
}

/// Returns the vehicle and the month in the sort key of the sums of a vehicle.
pub fn parse_vehicle_month(sk: &str) -> Option<(Id, Date)> {
    let (month, vehicle) = sk.strip_prefix("VEHICLE#")?.split_once('#')?;
    let vehicle = Some(Id::from(vehicle)).filter(|id| id.is(Kind::Vehicle))?;
    Some((vehicle, format!("{month}-01").parse().ok()?))
}

/// Returns the partition of the table with the deliveries that are held for an endpoint.
pub fn held_partition(tenant: &Tenant, endpoint: &Id) -> String {
    of_tenant(tenant, &format!("{endpoint}#HELD"))
}

/// Returns the partition of the table with the queue of an object at a webhook endpoint.
pub fn queue_partition(tenant: &Tenant, endpoint: &Id, object: &str) -> String {
    of_tenant(tenant, &format!("{endpoint}#ORDER#{object}"))
}

/// Returns whether an item belongs to a tenant, by its `pk`.
pub fn is_of(tenant: &Tenant, pk: &str) -> bool {
    pk.strip_prefix(tenant.account.as_str())
        .and_then(|rest| rest.strip_prefix('#')?.strip_prefix(tenant.mode.as_str()))
        .is_some_and(|rest| rest.starts_with('#'))
}

fn of_tenant(tenant: &Tenant, rest: &str) -> String {
    format!("{}#{}#{rest}", tenant.account, tenant.mode)
}

fn finalized_in(tenant: &Tenant, month: Date) -> String {
    let month = format!("FINALIZED#{}", month.strftime("%Y-%m"));
    of_tenant(tenant, &month)
}

fn of_fleet(tenant: &Tenant, fleet: &Id, kind: Kind) -> String {
    of_tenant(tenant, &format!("{fleet}#{}", kind.name()))
}

/// Returns the tenant that a `pk` begins with, and the rest of it.
fn parse_tenant(pk: &str) -> Option<(Tenant, &str)> {
    let (account, rest) = pk.split_once('#')?;
    let (mode, rest) = rest.split_once('#')?;
    let account = Some(Id::from(account)).filter(|id| id.is(Kind::Account))?;
    let mode = mode.parse().ok()?;
    Some((Tenant::new(account, mode), rest))
}

/// Returns the tenant of an item, by its `pk`.
pub fn tenant_of(pk: &str) -> Option<Tenant> {
    parse_tenant(pk).map(|(tenant, _)| tenant)
}

/// Returns the tenant and id of an object's `pk`, for items that are read without their content.
pub fn parse_object(pk: &str) -> Option<(Tenant, Id)> {
    let (tenant, id) = parse_tenant(pk)?;
    let id = Id::from(id);
    id.kind().is_some().then_some((tenant, id))
}

/// Returns the position of the bodies of a batch, by their sort key.
pub fn parse_chunk(sk: &str) -> Option<usize> {
    sk.strip_prefix(CHUNK)?.parse().ok()
}

/// Returns whether an item is an invoice.
pub fn is_invoice(pk: &str) -> bool {
    parse_object(pk).is_some_and(|(_, id)| id.is(Kind::Invoice))
}

/// Returns the tenant and id of the key of an event.
pub fn parse_event(pk: &str, sk: &str) -> Option<(Tenant, Id)> {
    let (tenant, id) = (tenant_of(pk)?, Id::from(sk));
    id.is(Kind::Event).then_some((tenant, id))
}

/// Returns the tenant, the webhook endpoint and the id of the key of a delivery.
pub fn parse_delivery(pk: &str, sk: &str) -> Option<(Tenant, Id, Id)> {
    let (tenant, rest) = parse_tenant(pk)?;
    let (endpoint, number) = rest.split_once('#')?;
    let endpoint = Some(Id::from(endpoint)).filter(|_| number.parse::<u8>().is_ok())?;
    let delivery = Some(Id::from(sk)).filter(|id| id.is(Kind::WebhookDelivery))?;
    Some((tenant, endpoint, delivery))
}

/// Returns the id at the end of the key of an object's item: its sort key, or the last part of the partition key if the item is the only
/// one under it.
pub fn id_of(pk: &str, sk: &str) -> Option<Id> {
    let last = if sk == ALONE {
        pk.rsplit('#').next()?
    } else {
        sk
    };
    Some(Id::from(last)).filter(|id| id.kind().is_some())
}

/// Returns the account that an item belongs to, by its partition key: `<acct>#…`, `ACCOUNT#<acct>` or `KEY#<acct>#…`. Returns `None` for
/// items that belong to no account.
pub fn account_of(pk: &str) -> Option<Id> {
    let named = ["ACCOUNT#", "KEY#"];
    let rest = named.iter().find_map(|prefix| pk.strip_prefix(prefix));
    let id = Id::from(rest.unwrap_or(pk).split('#').next()?);
    id.is(Kind::Account).then_some(id)
}

/// Returns whether an item is an account, or counts the accounts below it.
pub fn is_account(pk: &str) -> bool {
    pk.starts_with("ACCOUNT#")
}

pub fn is_idempotency_record(pk: &str) -> bool {
    pk.split('#').nth(2) == Some("IDEM")
}

/// Returns the prefix of the partition keys of a tenant's items, the partition key of its account, and the prefix of those of the account's
/// keys.
pub fn of_account(tenant: &Tenant) -> [String; 3] {
    let id = &tenant.account;
    [
        of_tenant(tenant, ""),
        format!("ACCOUNT#{id}"),
        format!("KEY#{id}#"),
    ]
}

/// Returns whether an item that belongs to no account may contain accounts: a calendar, an id of the payment provider, the site of a
/// station, an object that a party has sent, a command to a network, or the token of a charge card.
pub fn is_about_accounts(pk: &str) -> bool {
    let Some((_, rest)) = pk.split_once('#') else {
        return false;
    };
    let of_network = rest.strip_prefix("OCPI#").unwrap_or_default();
    let of_network = of_network.split('#').next().unwrap_or_default();
    rest.starts_with("CAL#")
        || rest.starts_with("PROVIDER#")
        || rest.starts_with("SITES#")
        || [OBJECT, "COMMAND", CARD].contains(&of_network)
}

/// Returns whether an item is a calendar in which several accounts may have entries: that of an EVSE.
pub fn is_shared_calendar(pk: &str) -> bool {
    let owner = pk.split_once("#CAL#").map(|(_, owner)| owner);
    owner.is_some_and(|owner| owner.starts_with(Kind::ChargingStation.prefix()))
}

/// Returns whether an item under an invoice's `pk` is the parent of its lines: the invoice, or the item that marks it as in progress.
pub fn heads_object(sk: &str) -> bool {
    matches!(sk, ALONE | MAKING)
}

fn of_ocpi(mode: Mode, what: &str, name: &str) -> String {
    format!("{mode}#OCPI#{what}#{name}")
}

fn of_object(mode: Mode, id: &ObjectId) -> String {
    let (owner, module, id) = (id.owner(), id.module().as_str(), id.order());
    of_ocpi(mode, OBJECT, &format!("{owner}#{module}#{id}"))
}

/// Returns the mode and id of the `pk` of an object that a party has sent, in lower case.
pub fn parse_ocpi_object(pk: &str) -> Option<(Mode, ObjectId)> {
    let (mode, rest) = pk.split_once("#OCPI#")?;
    let (what, id) = rest.split_once('#')?;
    let mode = mode.parse().ok().filter(|_| what == OBJECT)?;
    Some((mode, id.parse().ok()?))
}

/// Returns the mode and id of the `pk` of a command to a network.
pub fn parse_network_command(pk: &str) -> Option<(Mode, Id)> {
    let (mode, rest) = pk.split_once("#OCPI#")?;
    let (what, id) = rest.split_once('#')?;
    let id = Some(Id::from(id)).filter(|id| what == COMMAND && id.is(Kind::NetworkCommand))?;
    Some((mode.parse().ok()?, id))
}

/// Returns the mode and uid of the `pk` of a charge card's token, the uid in lower case.
pub fn parse_charge_token(pk: &str) -> Option<(Mode, String)> {
    let (mode, rest) = pk.split_once("#OCPI#")?;
    let (what, uid) = rest.split_once('#')?;
    let mode = mode.parse().ok().filter(|_| what == CARD)?;
    Some((mode, uid.to_owned()))
}

/// Returns whether an item is the token of a charge card, and not a claim of its uid.
pub fn is_charge_token(pk: &str, sk: &str) -> bool {
    sk == ALONE && parse_charge_token(pk).is_some()
}

/// Returns the account of the `pk` of an account's own item.
pub fn parse_account(pk: &str) -> Option<Id> {
    let id = Id::from(pk.strip_prefix("ACCOUNT#")?);
    id.is(Kind::Account).then_some(id)
}

/// Returns the mode and id of a network's `pk`.
pub fn parse_network(pk: &str) -> Option<(Mode, Id)> {
    let (mode, id) = pk.split_once('#')?;
    let id = Id::from(id);
    let mode = mode.parse().ok()?;
    id.is(Kind::Network).then_some((mode, id))
}

/// The attribute with the payment method of a reservation or session.
pub const PAID_WITH: &str = "paid_with";

/// The attribute that orders the stations of a region: the name of the H3 cell of resolution 8. The stations of one cell have the same
/// value, because entries of an index may have equal keys, and the id is in `pk` already.
pub const CELL: &str = "cell_sk";

/// Returns the partition key of the sites that a station belongs to.
pub fn sites_partition(mode: Mode, station: &Id) -> String {
    format!("{mode}#SITES#{station}")
}

/// Returns the mode and id of a station's `pk`.
pub fn parse_station(pk: &str) -> Option<(Mode, Id)> {
    let (mode, id) = pk.split_once('#')?;
    let id = Id::from(id);
    let mode = mode.parse().ok()?;
    id.is(Kind::ChargingStation).then_some((mode, id))
}

/// The number of partitions of the index `next_action`: 4,000 reservations a second write about ten entries each, which are 640 a second in
/// each partition.
pub const NEXT_ACTION_PARTITIONS: u8 = 64;

/// Returns the partition of the index `next_action` for an item.
pub fn next_action_partition(pk: &str, sk: &str) -> String {
    next_actions(shard(&format!("{pk} {sk}"), NEXT_ACTION_PARTITIONS))
}

/// Returns the name of one partition of the index `next_action`.
pub fn next_actions(number: u8) -> String {
    format!("NEXT#{number}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use models::network::Module;

    #[test]
    fn every_item_of_a_tenant_begins_with_the_tenant() {
        let tenant = Tenant::new(Id::from_number(Kind::Account, 1), Mode::Live);
        let (id, other) = (
            Id::from_number(Kind::WebhookEndpoint, 2),
            Id::from_number(Kind::Event, 3),
        );
        let pair = MetadataPair::try_from("depot:north".to_owned()).unwrap();
        let keys = [
            Key::Object {
                tenant: &tenant,
                id: &id,
            },
            Key::Event {
                tenant: &tenant,
                id: &other,
            },
            Key::Idempotency {
                tenant: &tenant,
                key: "k#1",
            },
            Key::Delivery {
                tenant: &tenant,
                endpoint: &id,
                delivery: &other,
            },
            Key::DriverOfFleet {
                tenant: &tenant,
                fleet: &id,
                driver: &other,
            },
            Key::CardOf {
                tenant: &tenant,
                holder: &id,
                card: &other,
            },
            Key::WithMetadata {
                tenant: &tenant,
                pair: &pair,
                id: &id,
            },
            Key::Line {
                tenant: &tenant,
                invoice: &id,
                line: &other,
            },
            Key::Making {
                tenant: &tenant,
                invoice: &id,
            },
            Key::Rate { tenant: &tenant },
        ];
        for key in keys {
            assert!(
                key.pair()
                    .0
                    .starts_with("acct_00000000000000000000000000000001#live#"),
                "{key:?}"
            );
        }
    }

    #[test]
    fn the_events_of_an_account_are_spread_evenly() {
        let tenant = Tenant::new(Id::from_number(Kind::Account, 1), Mode::Live);
        let list = Partition::Kind {
            tenant: &tenant,
            kind: Kind::Event,
        };
        let values = list.values();
        let mut entries = vec![0; values.len()];
        let now = Timestamp::from_unix_millis(1_772_000_000_123);
        for number in 0..8_000 {
            let id = Id::derived(Kind::Event, now, &number.to_string());
            let (tenant, id) = (&tenant, &id);
            let (value, sk) = Key::Event { tenant, id }.pair();
            assert_eq!(parse_event(&value, &sk), Some((tenant.clone(), id.clone())));
            let place = values.iter().position(|other| *other == value);
            entries[place.expect("one of the values")] += 1;
        }
        assert!(
            entries.iter().all(|count| (900..1_100).contains(count)),
            "{entries:?}"
        );
        let kind = Kind::Reservation;
        let reservations = Partition::Kind {
            tenant: &tenant,
            kind,
        };
        let id = Id::from_number(kind, 1);
        assert_eq!(reservations.values(), [reservations.value_of(&id)]);
    }

    #[test]
    fn simultaneous_next_actions_are_spread_across_partitions() {
        let mut found = std::collections::BTreeSet::new();
        for number in 0..1_000 {
            let id = Id::from_number(Kind::Reservation, number);
            found.insert(next_action_partition(id.as_str(), ALONE));
        }
        assert_eq!(found.len(), usize::from(NEXT_ACTION_PARTITIONS));
    }

    #[test]
    fn an_item_is_of_the_tenant_its_key_begins_with() {
        let tenant = Tenant::new(Id::from_number(Kind::Account, 1), Mode::Test);
        let id = Id::from_number(Kind::Reservation, 2);
        let (pk, _) = Key::Object {
            tenant: &tenant,
            id: &id,
        }
        .pair();
        assert!(is_of(&tenant, &pk));
        let live = Tenant {
            mode: Mode::Live,
            ..tenant
        };
        assert!(!is_of(&live, &pk) && !is_of(&live, live.account.as_str()));
    }

    #[test]
    fn the_key_of_an_object_names_its_tenant() {
        let tenant = Tenant::new(Id::from_number(Kind::Account, 1), Mode::Test);
        let id = Id::from_number(Kind::Reservation, 2);
        let (pk, _) = Key::Object {
            tenant: &tenant,
            id: &id,
        }
        .pair();
        assert_eq!(parse_object(&pk), Some((tenant.clone(), id)));
        let (pk, _) = Key::Idempotency {
            tenant: &tenant,
            key: "k",
        }
        .pair();
        assert_eq!(parse_object(&pk), None);
    }

    #[test]
    fn the_key_of_a_received_object_names_its_kind() {
        let mode = Mode::Live;
        let owner = Owner::new(
            Id::from_number(Kind::Network, 1),
            PartyId::new("NL", "TNM").unwrap(),
        );
        let id = ObjectId::new(owner, Module::Tariffs, "A#1").unwrap();
        let (pk, _) = Key::OcpiObject { mode, id: &id }.pair();
        let (read_mode, read) = parse_ocpi_object(&pk).unwrap();
        assert_eq!((read_mode, read.id().as_str()), (mode, "a#1"));
        assert_eq!(read, id);
        assert_eq!(Key::OcpiObject { mode, id: &read }.pair().0, pk);
        assert!(parse_charge_token(&pk).is_none() && parse_network(&pk).is_none());
        let uid = "04#AA";
        let (pk, _) = Key::ChargeToken { mode, uid }.pair();
        assert_eq!(parse_charge_token(&pk), Some((mode, "04#aa".into())));
        assert!(parse_ocpi_object(&pk).is_none() && parse_object(&pk).is_none());
        let command = Id::from_number(Kind::NetworkCommand, 1);
        let id = &command;
        let (pk, _) = Key::NetworkCommand { mode, id }.pair();
        assert_eq!(parse_network_command(&pk), Some((mode, command)));
        let network = Id::from_number(Kind::Network, 1);
        let (pk, _) = Key::Network { mode, id: &network }.pair();
        assert_eq!(parse_network(&pk), Some((mode, network)));
        assert!(parse_station(&pk).is_none() && parse_object(&pk).is_none());
    }
}
