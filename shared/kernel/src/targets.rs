//! The permitted addresses of requests to other parties: webhooks, and charging networks. They are public addresses only, checked after a
//! name is resolved, so that no request can reach internal addresses. Sources: the IANA special-purpose address registries for IPv4 and
//! IPv6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::error::{Error, Result};
use crate::fields::text::WebUrl;

/// The ports of endpoints in live mode.
const LIVE_PORTS: [u16; 2] = [443, 8443];

/// The permitted addresses of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// Public hosts over https.
    Public,
    /// Public hosts over https, and this machine over either scheme: for local runs.
    PublicAndLoopback,
}

impl Targets {
    /// Checks the URL of an endpoint as far as that is possible without resolving its host. The addresses behind a name
    /// are checked at each request.
    ///
    /// # Errors
    /// 400 with the parameter `url` if the address is not public, or not `https`.
    pub fn check(self, url: &WebUrl) -> Result<()> {
        let Some(url) = url.parts() else {
            return Err(Error::invalid("url", "expected an absolute https URL"));
        };
        let loopback = names_this_machine(&url);
        if loopback && self == Self::PublicAndLoopback {
            return Ok(());
        }
        if url.scheme() != "https" {
            return Err(Error::invalid("url", "must be an https address"));
        }
        if loopback || !self.allow_url(&url) {
            let message = "must not name an internal, loopback or otherwise special IP address";
            return Err(Error::invalid("url", message));
        }
        Ok(())
    }

    /// Checks the URL of an endpoint as [`Targets::check`] does, and in live mode its port: 443 or 8443, unless it is on this machine.
    ///
    /// # Errors
    /// As for [`Targets::check`]; 400 with the parameter `url` for another port in live mode.
    pub fn check_in_mode(self, is_live: bool, url: &WebUrl) -> Result<()> {
        self.check(url)?;
        let port = url.parts().filter(|url| !names_this_machine(url));
        let port = port.and_then(|url| url.port_or_known_default());
        if !is_live || port.is_none_or(|port| LIVE_PORTS.contains(&port)) {
            Ok(())
        } else {
            Err(Error::invalid(
                "url",
                "must have port 443 or 8443 in live mode",
            ))
        }
    }

    /// Returns whether a request may be sent to this address.
    pub fn allow(self, address: IpAddr) -> bool {
        let address = unwrapped(address);
        is_public(address) || (self == Self::PublicAndLoopback && address.is_loopback())
    }

    /// Returns whether a request may be sent to this URL, as far as that is known without resolving a name.
    pub fn allow_url(self, url: &url::Url) -> bool {
        match url.host() {
            Some(url::Host::Ipv4(address)) => self.allow(address.into()),
            Some(url::Host::Ipv6(address)) => self.allow(address.into()),
            Some(url::Host::Domain(_)) => true,
            None => false,
        }
    }
}

/// Returns whether the host of a URL is the machine itself.
fn names_this_machine(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => is_localhost(name),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Returns whether a name is `localhost` or below it: these are names of the machine itself (RFC 6761).
fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

/// Returns the IPv4 address inside a mapped (`::ffff:0:0/96`) or translated (NAT64, `64:ff9b::/96`) address.
fn unwrapped(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            IpAddr::V4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
        }
        _ => address,
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|(base, bits)| {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            u32::from(address) & mask == u32::from(Ipv4Addr::from(*base)) & mask
        }),
        IpAddr::V6(address) => {
            // Only 2000::/3 is assigned for use on the internet.
            let global = address.segments()[0] >> 13 == 1;
            global
                && !SPECIAL_V6.iter().any(|(base, bits)| {
                    let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
                    u128::from(address) & mask == u128::from(Ipv6Addr::from(*base)) & mask
                })
        }
    }
}

/// IPv4 blocks with a special purpose, multicast and reserved ones included.
const SPECIAL_V4: &[([u8; 4], u32)] = &[
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 31, 196, 0], 24),
    ([192, 52, 193, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([192, 175, 48, 0], 24),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// IPv6 blocks within 2000::/3 with a special purpose: protocol assignments (Teredo among them), documentation, 6to4,
/// AS112 and the second documentation block.
const SPECIAL_V6: &[([u16; 8], u32)] = &[
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16),
    ([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_allowed() {
        let allowed = |text: &str| Targets::Public.allow(text.parse().unwrap());
        for public in [
            "8.8.8.8",
            "93.184.216.34",
            "2606:4700::1111",
            "64:ff9b::808:808",
            "::ffff:8.8.8.8",
            "172.32.0.1",
        ] {
            assert!(allowed(public), "{public}");
        }
        for special in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.31.255.255",
            "192.168.1.1",
            "198.19.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "fc00::1",
            "fe80::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2002:a00:1::1",
            "100::1",
            "3fff::1",
        ] {
            assert!(!allowed(special), "{special}");
        }
    }

    #[test]
    fn local_runs_may_deliver_to_loopback_but_not_private_addresses() {
        let allowed = |text: &str| Targets::PublicAndLoopback.allow(text.parse().unwrap());
        assert!(allowed("127.0.0.1") && allowed("::1") && allowed("::ffff:127.0.0.1"));
        assert!(!allowed("10.0.0.1") && !allowed("169.254.169.254"));
    }
}
