//! The HTTP client for requests to addresses of other parties: webhook endpoints and charging networks.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::error::{Error, Result};
use crate::targets::Targets;

const CONNECT: Duration = Duration::from_secs(5);
const TOTAL: Duration = Duration::from_secs(15);

/// The client is created at the first request, so that functions that send none do not pay for it.
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

    /// Returns the client: it connects only to public addresses (and to this machine in local runs), and follows no redirects.
    ///
    /// # Errors
    /// `Internal` if it cannot be created.
    pub fn client(&self) -> Result<&reqwest::Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = client_with(Resolver(self.targets, system))?;
        Ok(self.client.get_or_init(|| client))
    }
}

fn client_with(resolver: impl Resolve + 'static) -> Result<reqwest::Client> {
    // A second installation fails and changes nothing.
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .timeout(TOTAL)
        .redirect(reqwest::redirect::Policy::none())
        .dns_resolver(resolver)
        .no_proxy()
        .user_agent("fleet-charging-service")
        .build()
        .map_err(Error::internal)
}

/// The time limit for resolving the names of hosts.
const RESOLUTION: Duration = Duration::from_secs(3);

impl Outbound {
    /// Checks the addresses behind the names of hosts before any request is sent there. A name that cannot be resolved within three
    /// seconds is checked when it is called.
    ///
    /// # Errors
    /// The first name with an address to which requests may not be sent.
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

/// Resolves the addresses of a name with the operating system.
async fn system(name: Name) -> std::io::Result<Vec<SocketAddr>> {
    let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
    Ok(found.collect())
}

/// Resolves the names of hosts with a function. A name with any refused address is refused as a whole, and the connection uses the
/// addresses just checked: the name is resolved once for a connection.
#[derive(Debug, Clone, Copy)]
struct Resolver<L>(Targets, L);

impl<L, F> Resolve for Resolver<L>
where
    L: Fn(Name) -> F + Send + Sync,
    F: Future<Output = std::io::Result<Vec<SocketAddr>>> + Send + 'static,
{
    fn resolve(&self, name: Name) -> Resolving {
        let targets = self.0;
        let found = self.1(name);
        Box::pin(async move {
            let found = found.await?;
            if !found.iter().all(|address| targets.allow(address.ip())) {
                return Err("the host has an address that is not public".into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

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

    /// Responds to each connection with 204. Returns its port, and the number of connections.
    fn receiver() -> (u16, Arc<AtomicUsize>) {
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let number = port.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = connections.clone();
        std::thread::spawn(move || {
            for connection in port.incoming() {
                let mut connection = connection.unwrap();
                counter.fetch_add(1, Relaxed);
                let mut request = [0; 4096];
                drop(connection.read(&mut request));
                let answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
                drop(connection.write_all(answer));
            }
        });
        (number, connections)
    }

    #[tokio::test]
    async fn a_connection_goes_to_the_address_that_was_checked() {
        let (port, connections) = receiver();
        // The addresses of the name, one result after another.
        let answers = [
            vec!["127.0.0.1"],
            vec!["10.0.0.1"],
            vec!["127.0.0.1", "10.0.0.1"],
            vec!["127.0.0.1", "::ffff:169.254.169.254"],
        ];
        let lookups = Arc::new(AtomicUsize::new(0));
        let counter = lookups.clone();
        let lookup = move |_: Name| {
            let answer = answers.get(counter.fetch_add(1, Relaxed)).cloned();
            let addresses = answer.into_iter().flatten();
            let addresses = addresses.map(|text| SocketAddr::new(text.parse().unwrap(), 0));
            let addresses: Vec<_> = addresses.collect();
            async move { Ok(addresses) }
        };
        let client = client_with(Resolver(Targets::PublicAndLoopback, lookup)).unwrap();
        let url = format!("http://rebinding.example:{port}/");
        let answer = client.post(&url).send().await.unwrap();
        assert_eq!(answer.status(), 204);
        assert_eq!((lookups.load(Relaxed), connections.load(Relaxed)), (1, 1));
        for count in 2..=4 {
            let refused = client.post(&url).send().await.unwrap_err();
            let causes =
                std::iter::successors(Some(&refused as &dyn std::error::Error), |e| e.source());
            let causes: Vec<_> = causes.map(ToString::to_string).collect();
            assert!(causes.join(": ").contains("not public"), "{causes:?}");
            assert_eq!(
                (lookups.load(Relaxed), connections.load(Relaxed)),
                (count, 1)
            );
        }
    }
}
