//! The keys of the table. No other module formats a key.
//!
//! | Item | `pk` | `sk` | Index |
//! |---|---|---|---|
//! | object of a tenant | `<acct>#<mode>#<id>` | `#` | `list`: `<acct>#<mode>#<kind>` by id; of API keys, fleets, invoices, reservations, sessions and transactions instead `ids`: the same |
//! | vehicle, reservation, session, transaction | | | also `fleet`: `<acct>#<mode>#<flt>#<kind>` by id |
//! | driver, fleet | | | also `network`: `<acct>#<mode>#<kind>#EMAIL#<e-mail>` by id |
//! | vehicle | | | also `network`: `<acct>#<mode>#vehicle#PLATE#<plate>` by id; `ids`: `<acct>#<mode>#vehicle#VIN#<vin>` by id; `payment`: of one at a site `<site>` by id |
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
//! | idempotency record | `<acct>#<mode>#IDEM#<key>` | `#` | `ttl` 24 h, or 30 days while its payment is pending; compared with the clock |
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
//! | pair in the metadata of an object | `<acct>#<mode>#META#<hash>` | `<id>` | |
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
//! | object as a party has sent it | `<mode>#OCPI#OBJECT#<net>#<country>*<party>#<module>#<id>` | `#` | `network`: of locations `<mode>#OCPI#LOCATIONS#<net>#<country>*<party>` by id, of tariffs `<mode>#OCPI#TARIFFS#<net>#<country>*<party>` by id, of sessions and CDRs that match no session of this service `<mode>#OCPI#UNMATCHED` by time, with `ttl` 90 days after they were received |
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
//! and modes, so the lists under the id of an object need no prefix; the keys in their entries contain the tenant.
//!
//! A partition key accepts 1,000 write units a second. Items that one account may write faster are spread over several partitions by id,
//! and their entries are merged when they are read: events, and the deliveries to an endpoint. Items that wait for an action have `next_pk`
//! and `next_at`, the keys of the index `next_action` that the sweeper reads. They are spread by their keys and not by the time: at 08:00
//! many actions are due at once.

mod accounts;
mod events;
mod fleets;
mod index;
mod key;
mod networks;
mod partition;
mod search;
mod shards;
mod tenant;
#[cfg(test)]
mod tests;

pub use self::accounts::{
    account_of, is_about_accounts, is_account, is_endpoint_count, is_shared_calendar, of_account,
    parse_account,
};
pub use self::events::{
    behind_in_feed, deliveries_partition, feed_partitions, held_partition, parse_delivery,
    parse_event, queue_partition,
};
pub use self::fleets::{
    DAY_OF_FLEET, months_partition, parse_vehicle_month, sums_partition, vehicles_in,
};
pub use self::index::{
    CELL, PAID_WITH, TABLE, hash_key_of, holds_items, is_list_of_keys, order_in,
};
pub use self::key::Key;
pub use self::networks::{
    is_charge_token, parse_charge_token, parse_network, parse_network_command, parse_ocpi_object,
    parse_station, sites_partition,
};
pub use self::partition::{Lookup, Partition};
pub use self::search::{found_prefix, metadata_partition, parse_found, search_partition};
pub use self::shards::{
    DELIVERY_SHARDS, NEXT_ACTION_PARTITIONS, next_action_partition, next_actions,
};
pub use self::tenant::{
    heads_object, id_of, is_idempotency_record, is_invoice, parse_chunk, parse_object, tenant_of,
};
