//! The query of a request: only known names are accepted, and each only once unless it is a list (`connector_type[]`). The names that a
//! route accepts are the members of the types that its handler reads from the query.

use std::borrow::Cow;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_path_to_error::Segment;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::errors::Rejection;
use kernel::error::excerpt;
use kernel::time::millis;
use kernel::{Error, Id, Result, Timestamp};
use models::Condition;
use table::list::PageRequest;

/// The query of a request, read as `T`: a struct whose members have the names of the query parameters.
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Rejection> {
        Ok(Self(QueryString::of(parts).read()?))
    }
}

/// Returns the names of the members of a struct that is read from a query.
pub fn names<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &[&str] = &[];
    let nothing = Members {
        query: &QueryString::default(),
        names: &mut names,
    };
    // This fails if a member is required, which does not matter for the names.
    T::deserialize(nothing).ok();
    names
}

/// Filters by the time at which objects were created.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub struct Created {
    /// Created after this moment.
    #[serde(rename = "created[gt]")]
    after: Option<Timestamp>,
    /// Created at or after this moment.
    #[serde(rename = "created[gte]")]
    from: Option<Timestamp>,
    /// Created before this moment.
    #[serde(rename = "created[lt]")]
    before: Option<Timestamp>,
    /// Created at or before this moment.
    #[serde(rename = "created[lte]")]
    until: Option<Timestamp>,
}

impl Created {
    /// Returns the page request, limited to the ids of these times.
    pub fn narrow(&self, mut page_request: PageRequest) -> PageRequest {
        let first = |at: Option<Timestamp>| at.map(Id::first_number);
        let after = |at: Option<Timestamp>| first(at.map(|at| at.plus(millis(1))));
        let (low, high) = &mut page_request.range;
        for bound in [first(self.from), after(self.after)] {
            *low = (*low).max(bound.unwrap_or(0));
        }
        for bound in [after(self.until), first(self.before)] {
            *high = (*high).min(bound.map_or(u128::MAX, |bound| bound.saturating_sub(1)));
        }
        page_request
    }
}

/// Filters by the time at which objects were finalized.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub struct Finalized {
    /// Finalized after this moment.
    #[serde(rename = "finalized[gt]")]
    after: Option<Timestamp>,
    /// Finalized at or after this moment.
    #[serde(rename = "finalized[gte]")]
    from: Option<Timestamp>,
    /// Finalized before this moment.
    #[serde(rename = "finalized[lt]")]
    before: Option<Timestamp>,
    /// Finalized at or before this moment.
    #[serde(rename = "finalized[lte]")]
    until: Option<Timestamp>,
}

impl Finalized {
    /// Returns the first and the last of these times, if they are set.
    pub fn bounds(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        let last = [self.before, self.until].into_iter().flatten().min();
        (self.from.max(self.after), last)
    }

    /// Returns the conditions of these times.
    pub fn conditions(&self) -> impl Iterator<Item = Condition<'static>> {
        let member = "finalized_at";
        let next = |at: Option<Timestamp>| at.map(|at| at.plus(millis(1)));
        let from = [self.from, next(self.after)].into_iter().flatten();
        let before = [self.before, next(self.until)].into_iter().flatten();
        let from = from.map(move |at| Condition::From { member, at });
        from.chain(before.map(move |at| Condition::Before { member, at }))
    }
}

/// A whole number from `LEAST` to `MOST`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Whole<const LEAST: u32, const MOST: u32>(pub u32);

impl<const LEAST: u32, const MOST: u32> TryFrom<String> for Whole<LEAST, MOST> {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.parse() {
            Ok(number) if (LEAST..=MOST).contains(&number) => Ok(Self(number)),
            _ => Err(format!("must be a whole number from {LEAST} to {MOST}")),
        }
    }
}

impl<const LEAST: u32, const MOST: u32> PartialSchema for Whole<LEAST, MOST> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(LEAST))
            .maximum(Some(MOST))
            .into()
    }
}

impl<const LEAST: u32, const MOST: u32> ToSchema for Whole<LEAST, MOST> {
    fn name() -> Cow<'static, str> {
        format!("WholeFrom{LEAST}To{MOST}").into()
    }
}

/// The pairs of a query, decoded, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryString(Vec<(String, String)>);

impl QueryString {
    /// Reads the part of an address after `?`.
    ///
    /// # Errors
    /// 400 with the invalid name: it is not among `known`, or occurs twice.
    pub fn parse(text: &str, known: &[&str]) -> Result<Self> {
        let pairs: Vec<(String, String)> = url::form_urlencoded::parse(text.as_bytes())
            .into_owned()
            .collect();
        for (n, (name, _)) in pairs.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                return Err(Error::unknown_parameter(excerpt(name)));
            }
            if !name.ends_with("[]") && pairs[..n].iter().any(|(other, _)| other == name) {
                return Err(Error::invalid(name.clone(), "must be given once"));
            }
        }
        Ok(Self(pairs))
    }

    /// Returns the query of a request that the edge has admitted.
    pub fn of(parts: &Parts) -> Self {
        parts.extensions.get::<Self>().cloned().unwrap_or_default()
    }

    /// Returns the query as a struct. Names that are not members of it are ignored: other structs read them.
    ///
    /// # Errors
    /// 400 for the first member, in the order of the struct, whose value cannot be read.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        let members = Members {
            query: self,
            names: &mut (&[] as &[&str]),
        };
        serde_path_to_error::deserialize(members).map_err(|error| {
            let at = match error.path().iter().next() {
                Some(Segment::Map { key }) => key.clone(),
                _ => String::new(),
            };
            match error.into_inner() {
                Fault::Missing(name) => Error::missing(name),
                Fault::Invalid(message) => Error::invalid(at, message),
            }
        })
    }

    /// Returns every value of a list.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = move |pair: &&(String, String)| pair.0 == name;
        self.0.iter().filter(named).map(|(_, value)| value.as_str())
    }

    /// Returns all parameters but the page and its size, in the order of their names: a sequence of pages is bound to them.
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

/// Deserializes a struct from a query, and records the names of its members.
struct Members<'a> {
    query: &'a QueryString,
    names: &'a mut &'static [&'static str],
}

impl<'de> Deserializer<'de> for Members<'_> {
    type Error = Fault;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        *self.names = fields;
        let given = fields.iter().filter_map(|name| {
            let values: Vec<&str> = self.query.all(name).collect();
            (!values.is_empty()).then_some((*name, Values(values)))
        });
        visitor.visit_map(MapDeserializer::new(given))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Fault> {
        Err(de::Error::custom("a query is read as a struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq
        tuple tuple_struct map enum identifier ignored_any
    }
}

/// The values of one name: several if it is a list, otherwise one.
struct Values<'a>(Vec<&'a str>);

impl Values<'_> {
    fn parse<T: std::str::FromStr>(&self, message: &str) -> Result<T, Fault> {
        self.0[0].parse().map_err(|_| de::Error::custom(message))
    }
}

impl<'de> IntoDeserializer<'de, Fault> for Values<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Values<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_str(self.0[0])
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_seq(SeqDeserializer::new(self.0.into_iter()))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_enum(self.0[0].into_deserializer())
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_bool(self.parse("must be true or false")?)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_u32(self.parse("must be a whole number, at least 0")?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_f64(self.parse("must be a number within its limits")?)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 u8 u16 u64 f32 char str string bytes byte_buf unit unit_struct newtype_struct tuple tuple_struct map struct identifier
        ignored_any
    }
}

/// The error of a query.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("{0}")]
    Invalid(String),
    #[error("{0} is required")]
    Missing(&'static str),
}

impl de::Error for Fault {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::Invalid(message.to_string())
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::Invalid(format!("must be one of {}", expected.join(", ")))
    }

    fn missing_field(name: &'static str) -> Self {
        Self::Missing(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_and_single() {
        let known = &["status", "limit", "operator[]"];
        let query =
            QueryString::parse("status=active&limit=5&operator%5B%5D=a&operator[]=b", known)
                .unwrap();
        assert_eq!(
            query.filters(),
            [
                ("operator[]", "a"),
                ("operator[]", "b"),
                ("status", "active")
            ]
        );
        assert!(QueryString::parse("statis=active", known).is_err());
        assert!(QueryString::parse("status=a&status=b", known).is_err());
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Filters {
        available: Option<bool>,
        distance: Option<Whole<1, 9>>,
        #[serde(rename = "status[]", default)]
        statuses: Vec<kernel::Mode>,
    }

    #[test]
    fn a_struct_names_and_reads_its_members() {
        let known = names::<Filters>();
        assert_eq!(known, ["available", "distance", "status[]"]);
        let read = |text| {
            let query = QueryString::parse(text, known)?;
            query.read::<Filters>()
        };
        let filters = Filters {
            available: Some(true),
            distance: None,
            statuses: vec![kernel::Mode::Live, kernel::Mode::Test],
        };
        assert_eq!(
            read("status[]=live&available=true&status[]=test").unwrap(),
            filters
        );
        let fault = |text| match read(text).unwrap_err() {
            Error::Client(refusal) => (refusal.param.unwrap(), refusal.message.into_owned()),
            other => panic!("{other}"),
        };
        for (text, param, message) in [
            ("available=yes", "available", "must be true or false"),
            (
                "distance=10",
                "distance",
                "must be a whole number from 1 to 9",
            ),
            (
                "status[]=live&status[]=x",
                "status[]",
                "must be one of test, live",
            ),
        ] {
            assert_eq!(fault(text), (param.to_owned(), message.to_owned()));
        }
    }
}
