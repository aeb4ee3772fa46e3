//! The query of a request: known names only, and each once unless it is a list (`connector_type[]`).

use crate::error::{Error, Result, excerpt};

/// The pairs of a query, decoded, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the part of an address after `?`.
    ///
    /// # Errors
    /// 400 with the name at fault: not among `known`, or given twice.
    pub fn parse(text: &str, known: &[&str]) -> Result<Self> {
        let pairs: Vec<(String, String)> = url::form_urlencoded::parse(text.as_bytes())
            .into_owned()
            .collect();
        for (n, (name, _)) in pairs.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                return Err(Error::invalid(excerpt(name), "unknown query parameter"));
            }
            if !name.ends_with("[]") && pairs[..n].iter().any(|(other, _)| other == name) {
                return Err(Error::invalid(name.clone(), "must be given once"));
            }
        }
        Ok(Self(pairs))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Every value of a list.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = move |pair: &&(String, String)| pair.0 == name;
        self.0.iter().filter(named).map(|(_, value)| value.as_str())
    }

    /// All but the page and its size, in the order of their names: what a sequence of pages is bound to.
    pub fn filters(&self) -> Vec<(&str, &str)> {
        let mut filters: Vec<_> = self
            .0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        filters.retain(|(name, _)| !matches!(*name, "limit" | "page"));
        filters.sort_unstable();
        filters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_and_single() {
        let known = &["status", "limit", "operator[]"];
        let query =
            Query::parse("status=active&limit=5&operator%5B%5D=a&operator[]=b", known).unwrap();
        assert_eq!(query.get("status"), Some("active"));
        assert_eq!(
            query.filters(),
            [
                ("operator[]", "a"),
                ("operator[]", "b"),
                ("status", "active")
            ]
        );
        assert!(Query::parse("statis=active", known).is_err());
        assert!(Query::parse("status=a&status=b", known).is_err());
    }
}
