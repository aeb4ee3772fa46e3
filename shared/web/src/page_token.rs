//! Page tokens: a cursor and a direction, authenticated together with the tenant, the path and the filters, so that a
//! token that was edited, or belongs to another tenant or list, is refused.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use kernel::{Id, Kind, Tenant, Timestamp};
use models::charging::search::{NearbyStation, SearchPosition};
use models::webhooks::feed::FeedPlace;
use table::list::Cursor;

const PREFIX: &str = "page_";
/// The number of bytes of the authentication code in a token: its first half.
const MAC: usize = 16;

/// The position of an item in a list.
pub trait PagePosition: Sized {
    /// Returns the position as bytes; `None` for an id of another kind.
    fn write(&self, kind: Kind) -> Option<Vec<u8>>;

    fn read(bytes: &[u8], kind: Kind) -> Option<Self>;

    /// Returns the next position among older items, if it is known without reading the list.
    fn older(&self) -> Option<Self> {
        None
    }

    /// Returns the next position among newer items, if it is known without reading the list.
    fn newer(&self) -> Option<Self> {
        None
    }
}

impl PagePosition for Id {
    fn write(&self, kind: Kind) -> Option<Vec<u8>> {
        Some(self.number(kind)?.to_be_bytes().to_vec())
    }

    fn read(bytes: &[u8], kind: Kind) -> Option<Self> {
        let number = u128::from_be_bytes(bytes.try_into().ok()?);
        Some(Id::from_number(kind, number))
    }

    fn older(&self) -> Option<Self> {
        let kind = self.kind()?;
        let number = self.number(kind)?.checked_sub(1)?;
        Some(Self::from_number(kind, number))
    }

    fn newer(&self) -> Option<Self> {
        let kind = self.kind()?;
        let number = self.number(kind)?.checked_add(1)?;
        Some(Self::from_number(kind, number))
    }
}

impl PagePosition for SearchPosition {
    fn write(&self, kind: Kind) -> Option<Vec<u8>> {
        let mut bytes = self.searched.unix_millis().to_be_bytes().to_vec();
        bytes.extend(self.station.distance.to_be_bytes());
        bytes.extend(self.station.created.unix_millis().to_be_bytes());
        bytes.extend(self.station.id.write(kind)?);
        Some(bytes)
    }

    fn read(bytes: &[u8], kind: Kind) -> Option<Self> {
        let (searched, rest) = bytes.split_first_chunk()?;
        let (distance, rest) = rest.split_first_chunk()?;
        let (created, id) = rest.split_first_chunk()?;
        Some(Self {
            searched: Timestamp::from_unix_millis(i64::from_be_bytes(*searched)),
            station: NearbyStation {
                distance: u64::from_be_bytes(*distance),
                created: Timestamp::from_unix_millis(i64::from_be_bytes(*created)),
                id: Id::read(id, kind)?,
            },
        })
    }
}

impl PagePosition for FeedPlace {
    fn write(&self, kind: Kind) -> Option<Vec<u8>> {
        let mut bytes = self.at.unix_millis().to_be_bytes().to_vec();
        if let Some(event) = &self.event {
            bytes.extend(event.write(kind)?);
        }
        Some(bytes)
    }

    fn read(bytes: &[u8], kind: Kind) -> Option<Self> {
        let (at, event) = bytes.split_first_chunk()?;
        let event = match event {
            [] => None,
            event => Some(Id::read(event, kind)?),
        };
        Some(Self {
            at: Timestamp::from_unix_millis(i64::from_be_bytes(*at)),
            event,
        })
    }
}

/// The tenant, path and filters that a token belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Binding<'a> {
    pub tenant: &'a Tenant,
    pub path: &'a str,
    pub filters: &'a [(&'a str, &'a str)],
}

impl Binding<'_> {
    fn mac(&self, secret: &[u8], cursor: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret)
            .unwrap_or_else(|_| unreachable!("any length is a key"));
        let mut part = |bytes: &[u8]| {
            mac.update(&(bytes.len() as u64).to_be_bytes());
            mac.update(bytes);
        };
        part(self.tenant.account.as_str().as_bytes());
        part(self.tenant.mode.as_str().as_bytes());
        part(self.path.as_bytes());
        part(cursor);
        for (name, value) in self.filters {
            part(name.as_bytes());
            part(value.as_bytes());
        }
        mac
    }

    /// Returns the token of a page that begins at this place; `None` for the first page.
    pub fn token<C: PagePosition>(
        &self,
        secret: &[u8],
        from: &Cursor<C>,
        kind: Kind,
    ) -> Option<String> {
        let (direction, cursor) = match from {
            Cursor::Newest => return None,
            Cursor::After(cursor) => (0, cursor),
            Cursor::Before(cursor) => (1, cursor),
        };
        let mut bytes = vec![direction];
        bytes.extend(cursor.write(kind)?);
        let mac = self.mac(secret, &bytes).finalize().into_bytes();
        bytes.extend(&mac[..MAC]);
        Some(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Returns the position at which the token's page begins; `None` if the token belongs to another tenant or list.
    pub fn open<C: PagePosition>(
        &self,
        secret: &[u8],
        token: &str,
        kind: Kind,
    ) -> Option<Cursor<C>> {
        let bytes = URL_SAFE_NO_PAD.decode(token.strip_prefix(PREFIX)?).ok()?;
        let (cursor, mac) = bytes.split_last_chunk::<MAC>()?;
        self.mac(secret, cursor).verify_truncated_left(mac).ok()?;
        let (direction, cursor) = cursor.split_first()?;
        let cursor = C::read(cursor, kind)?;
        match direction {
            0 => Some(Cursor::After(cursor)),
            1 => Some(Cursor::Before(cursor)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Mode;
    use proptest::prelude::*;

    fn tenant(number: u128) -> Tenant {
        Tenant::new(Id::from_number(Kind::Account, number), Mode::Test)
    }

    #[test]
    fn a_token_opens_its_own_list_only() {
        let (mine, theirs) = (tenant(1), tenant(2));
        let live = Tenant {
            mode: Mode::Live,
            ..mine.clone()
        };
        let filters = [("status", "active")];
        let binding = Binding {
            tenant: &mine,
            path: "/v1/fleets",
            filters: &filters,
        };
        let from = Cursor::After(Id::from_number(Kind::Fleet, 9));
        let token = binding.token(b"secret", &from, Kind::Fleet).unwrap();
        assert_eq!(binding.open(b"secret", &token, Kind::Fleet), Some(from));
        for other in [
            Binding {
                tenant: &theirs,
                ..binding
            },
            Binding {
                tenant: &live,
                ..binding
            },
            Binding {
                path: "/v1/drivers",
                ..binding
            },
            Binding {
                filters: &[],
                ..binding
            },
        ] {
            assert_eq!(other.open::<Id>(b"secret", &token, Kind::Fleet), None);
        }
        assert_eq!(binding.open::<Id>(b"other", &token, Kind::Fleet), None);
        assert_eq!(
            binding.open::<SearchPosition>(b"secret", &token, Kind::Fleet),
            None
        );
    }

    #[test]
    fn a_place_in_an_order_by_distance_travels_whole() {
        let (mine, id) = (tenant(1), Id::from_number(Kind::ChargingStation, 9));
        let binding = Binding {
            tenant: &mine,
            path: "/v1/charging_stations",
            filters: &[],
        };
        let distance = 1_234_567;
        let from = Cursor::Before(SearchPosition {
            searched: Timestamp::from_unix_millis(1_800_000_000_000),
            station: NearbyStation {
                distance,
                created: Timestamp::from_unix_millis(7),
                id,
            },
        });
        let token = binding.token(b"secret", &from, Kind::ChargingStation);
        let token = token.unwrap();
        let opened = binding.open(b"secret", &token, Kind::ChargingStation);
        assert_eq!(opened, Some(from));
        assert_eq!(
            binding.open::<Id>(b"secret", &token, Kind::ChargingStation),
            None
        );
    }

    proptest! {
        #[test]
        fn any_flipped_bit_is_noticed(number: u128, at in 0usize..49, bit in 0u8..7) {
            let mine = tenant(1);
            let binding = Binding { tenant: &mine, path: "/v1/fleets", filters: &[] };
            let from = Cursor::Before(Id::from_number(Kind::Fleet, number));
            let token = binding.token(b"secret", &from, Kind::Fleet).unwrap();
            let mut bytes = token.clone().into_bytes();
            prop_assert_eq!(bytes.len(), 49);
            bytes[at] ^= 1 << bit;
            let edited = String::from_utf8(bytes).unwrap();
            prop_assert_eq!(binding.open::<Id>(b"secret", &edited, Kind::Fleet), None);
        }
    }
}
