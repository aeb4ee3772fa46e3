//! Page tokens: a cursor and a direction, authenticated together with the tenant, the path and the filters, so that a
//! token that was edited, or belongs to another tenant or list, is refused.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use kernel::{Error, Id, Kind, Result, Tenant, Timestamp};
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

/// The secrets of a deployment with which page tokens are authenticated: the first signs, all of them verify. The `Debug` output does not
/// contain them.
#[derive(Clone, PartialEq, Eq)]
pub struct PageSecrets {
    first: Vec<u8>,
    others: Vec<Vec<u8>>,
}

impl PageSecrets {
    /// Returns a single secret.
    pub fn of(secret: Vec<u8>) -> Self {
        Self {
            first: secret,
            others: Vec::new(),
        }
    }

    /// Reads secrets that are separated by commas.
    ///
    /// # Errors
    /// `Internal` if one of them has fewer than 32 characters.
    pub fn parse(secrets: &str) -> Result<Self> {
        let mut secrets = secrets.split(',').map(|secret| {
            let secret = secret.trim().as_bytes().to_vec();
            if secret.len() < 32 {
                let message = "PAGE_SECRET must have at least 32 characters, and so must each secret of a list";
                return Err(Error::internal(message));
            }
            Ok(secret)
        });
        Ok(Self {
            first: secrets.next().unwrap_or_else(|| Ok(Vec::new()))?,
            others: secrets.collect::<Result<_>>()?,
        })
    }
}

impl fmt::Debug for PageSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
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
        secrets: &PageSecrets,
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
        let mac = self.mac(&secrets.first, &bytes).finalize().into_bytes();
        bytes.extend(&mac[..MAC]);
        Some(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Returns the position at which the token's page begins; `None` if the token belongs to another tenant or list.
    pub fn open<C: PagePosition>(
        &self,
        secrets: &PageSecrets,
        token: &str,
        kind: Kind,
    ) -> Option<Cursor<C>> {
        let bytes = URL_SAFE_NO_PAD.decode(token.strip_prefix(PREFIX)?).ok()?;
        let (cursor, mac) = bytes.split_last_chunk::<MAC>()?;
        let is_signed_with = |secret: &[u8]| {
            let verified = self.mac(secret, cursor).verify_truncated_left(mac);
            verified.is_ok()
        };
        let mut known = std::iter::once(&secrets.first).chain(&secrets.others);
        known.find(|secret| is_signed_with(secret))?;
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

    fn secrets() -> PageSecrets {
        PageSecrets::of(b"secret".to_vec())
    }

    #[test]
    fn a_token_outlives_a_rotation_of_its_secret() {
        let (old, new) = ("o".repeat(32), "n".repeat(32));
        let deployed = |secrets: String| PageSecrets::parse(&secrets).unwrap();
        let steps = [
            deployed(old.clone()),
            deployed(format!("{old},{new}")),
            deployed(format!("{new}, {old}")),
            deployed(new),
        ];
        let alice = tenant(1);
        let binding = Binding {
            tenant: &alice,
            path: "/v1/fleets",
            filters: &[],
        };
        let from = Cursor::After(Id::from_number(Kind::Fleet, 7));
        let token = |step: usize| binding.token(&steps[step], &from, Kind::Fleet).unwrap();
        let open = |step: usize, token: &str| binding.open::<Id>(&steps[step], token, Kind::Fleet);
        for (signed, read) in [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 3), (3, 2)] {
            assert_eq!(open(read, &token(signed)), Some(from.clone()));
        }
        assert_eq!(open(3, &token(1)), None);
        assert!(PageSecrets::parse(&format!("{old},short")).is_err());
        assert!(PageSecrets::parse("").is_err());
    }

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
        let token = binding.token(&secrets(), &from, Kind::Fleet).unwrap();
        assert_eq!(binding.open(&secrets(), &token, Kind::Fleet), Some(from));
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
            assert_eq!(other.open::<Id>(&secrets(), &token, Kind::Fleet), None);
        }
        assert_eq!(
            binding.open::<Id>(&PageSecrets::of(b"other".to_vec()), &token, Kind::Fleet),
            None
        );
        assert_eq!(
            binding.open::<SearchPosition>(&secrets(), &token, Kind::Fleet),
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
        let token = binding.token(&secrets(), &from, Kind::ChargingStation);
        let token = token.unwrap();
        let opened = binding.open(&secrets(), &token, Kind::ChargingStation);
        assert_eq!(opened, Some(from));
        assert_eq!(
            binding.open::<Id>(&secrets(), &token, Kind::ChargingStation),
            None
        );
    }

    proptest! {
        #[test]
        fn any_flipped_bit_is_noticed(number: u128, at in 0usize..49, bit in 0u8..7) {
            let mine = tenant(1);
            let binding = Binding { tenant: &mine, path: "/v1/fleets", filters: &[] };
            let from = Cursor::Before(Id::from_number(Kind::Fleet, number));
            let token = binding.token(&secrets(), &from, Kind::Fleet).unwrap();
            let mut bytes = token.clone().into_bytes();
            prop_assert_eq!(bytes.len(), 49);
            bytes[at] ^= 1 << bit;
            let edited = String::from_utf8(bytes).unwrap();
            prop_assert_eq!(binding.open::<Id>(&secrets(), &edited, Kind::Fleet), None);
        }
    }
}
