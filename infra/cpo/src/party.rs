//! The identity of the simulated operator, and random text for tokens and ids.

/// The party of the operator.
pub const COUNTRY_CODE: &str = "GB";
pub const PARTY_ID: &str = "NET";
pub const NAME: &str = "Demo Network";

/// The version of OCPI.
pub const VERSION: &str = "2.2.1";

/// Random bytes in hexadecimal.
pub fn random(bytes: usize) -> String {
    let mut buffer = vec![0; bytes];
    match getrandom::fill(&mut buffer) {
        Ok(()) => hex::encode(buffer),
        Err(error) => panic!("the system has no random numbers: {error}"),
    }
}
