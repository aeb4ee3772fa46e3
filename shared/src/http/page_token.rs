//! Page tokens: a cursor and a direction, authenticated together with the tenant, the path and the filters, so that a
//! token that was edited, or belongs to somebody else or to another list, is refused.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::id::{Id, Kind};
use crate::origin::Tenant;
use crate::store::list::From;

const PREFIX: &str = "page_";
const CURSOR: usize = 17;
const MAC: usize = 16;

/// What a token belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Binding<'a> {
    pub tenant: &'a Tenant,
    pub path: &'a str,
    pub filters: &'a [(&'a str, &'a str)],
}

impl Binding<'_> {
    fn mac(&self, secret: &[u8], cursor: &[u8]) -> [u8; MAC] {
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
        let mut short = [0; MAC];
        short.copy_from_slice(&mac.finalize().into_bytes()[..MAC]);
        short
    }

    /// The token of a page that begins at this place; none for the first page.
    pub fn token(&self, secret: &[u8], from: &From, kind: Kind) -> Option<String> {
        let (direction, id) = match from {
            From::Newest => return None,
            From::After(id) => (0, id),
            From::Before(id) => (1, id),
        };
        let mut bytes = vec![direction];
        bytes.extend(id.number(kind)?.to_be_bytes());
        let mac = self.mac(secret, &bytes);
        bytes.extend(mac);
        Some(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Where the token's page begins, if it is a token of this list and of nobody else.
    pub fn open(&self, secret: &[u8], token: &str, kind: Kind) -> Option<From> {
        let bytes = URL_SAFE_NO_PAD.decode(token.strip_prefix(PREFIX)?).ok()?;
        if bytes.len() != CURSOR + MAC {
            return None;
        }
        let (cursor, mac) = bytes.split_at(CURSOR);
        let differences = self
            .mac(secret, cursor)
            .iter()
            .zip(mac)
            .fold(0, |all, (a, b)| all | (a ^ b));
        if differences != 0 {
            return None;
        }
        let id = Id::from_number(kind, u128::from_be_bytes(cursor[1..].try_into().ok()?));
        match cursor[0] {
            0 => Some(From::After(id)),
            1 => Some(From::Before(id)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;
    use proptest::prelude::*;

    fn tenant(number: u128) -> Tenant {
        Tenant {
            account: Id::from_number(Kind::Account, number),
            mode: Mode::Test,
        }
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
        let from = From::After(Id::from_number(Kind::Fleet, 9));
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
            assert_eq!(other.open(b"secret", &token, Kind::Fleet), None);
        }
        assert_eq!(binding.open(b"other", &token, Kind::Fleet), None);
    }

    proptest! {
        #[test]
        fn any_flipped_bit_is_noticed(number: u128, at in 0usize..49, bit in 0u8..7) {
            let mine = tenant(1);
            let binding = Binding { tenant: &mine, path: "/v1/fleets", filters: &[] };
            let from = From::Before(Id::from_number(Kind::Fleet, number));
            let token = binding.token(b"secret", &from, Kind::Fleet).unwrap();
            let mut bytes = token.clone().into_bytes();
            prop_assert_eq!(bytes.len(), 49);
            bytes[at] ^= 1 << bit;
            let edited = String::from_utf8(bytes).unwrap();
            prop_assert_eq!(binding.open(b"secret", &edited, Kind::Fleet), None);
        }
    }
}
