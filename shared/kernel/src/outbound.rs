//! The HTTP client of requests to addresses that others have given: webhook endpoints and charging networks.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::error::{Error, Result};
use crate::targets::Targets;

const CONNECT: Duration = Duration::from_secs(5);
const TOTAL: Duration = Duration::from_secs(15);

/// The client is made at the first request, so that functions that send none do not pay for it.
pub struct Outbound {
    targets: Targets,
    client: OnceLock<reqwest::Client>,
}

impl Outbound {
    pub fn new(targets: Targets) -> Self {
        Self {
            targets,
            client: OnceLock::new(),
        }
    }

    /// The client: it connects to public addresses only (and to this machine in
    /// local runs), and follows no redirects.
    ///
    /// # Errors
    /// `Internal` if it cannot be made.
    pub fn client(&self) -> Result<&reqwest::Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // A second installation fails and changes nothing.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .timeout(TOTAL)
            .redirect(reqwest::redirect::Policy::none())
            .dns_resolver(Resolver(self.targets))
            .no_proxy()
            .user_agent("fleet-charging-service")
            .build()
            .map_err(Error::internal)?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// The most time that the names of hosts are resolved for.
const RESOLUTION: Duration = Duration::from_secs(3);

impl Outbound {
    /// Checks the addresses behind the names of hosts before any request is sent there. A name that cannot be resolved within three
    /// seconds is checked when it is called.
    ///
    /// # Errors
    /// The first name that has an address which requests may not go to.
    pub async fn check_names(&self, names: BTreeSet<&str>) -> std::result::Result<(), String> {
        let resolved = async {
            for name in names {
                let found = tokio::net::lookup_host((name, 0)).await;
                let mut found = found.into_iter().flatten();
                if !found.all(|address| self.targets.allow(address.ip())) {
                    return Err(format!("{name} has an address that is not public"));
                }
            }
            Ok(())
        };
        let resolved = tokio::time::timeout(RESOLUTION, resolved).await;
        resolved.unwrap_or(Ok(()))
    }
}

/// Resolves the names of hosts. A name with any address that is refused is refused as a whole, and the connection goes
/// to the addresses just checked.
#[derive(Debug, Clone, Copy)]
struct Resolver(Targets);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let targets = self.0;
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if !found.iter().all(|address| targets.allow(address.ip())) {
                return Err("the host has an address that is not public".into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_of_an_address_inside_is_refused_before_it_is_called() {
        let check = async |targets| {
            let outbound = Outbound::new(targets);
            let names = BTreeSet::from(["localhost", "does-not-exist.invalid"]);
            outbound.check_names(names).await
        };
        let refused = check(Targets::Public).await.unwrap_err();
        assert!(refused.contains("localhost"), "{refused}");
        assert_eq!(check(Targets::PublicAndLoopback).await, Ok(()));
    }
}
