//! The environment of the process.

/// Returns the value of an environment variable; `None` if it is not set or empty.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns whether a URL names this machine.
pub fn is_loopback(url: &str) -> bool {
    let url = url::Url::parse(url).ok();
    match url.as_ref().and_then(url::Url::host) {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}
