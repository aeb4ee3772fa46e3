//! How the types with rules of their own look in the interface's document. Everything else derives its schema.

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, KnownFormat, ObjectBuilder, OneOfBuilder, Schema,
    SchemaFormat, SchemaType, Type,
};
// What the derive macro itself builds on; lists and generics take nothing less.
use utoipa::__dev::ComposeSchema;
use utoipa::{PartialSchema, ToSchema};

use super::api_key::{Resource, Scope};
use super::charge_card::{CardUid, VisualNumber};
use super::charging_station::Plug;
use super::event::EventType;
use super::policy::{Degrees, PriceCap, Radius, TimeOfDay};
use super::transaction::TopUpAmount;
use super::webhook_endpoint::{SigningSecret, Subscription};
use super::{Distinct, MAX_LIST};
use crate::fields::address::Country;
use crate::fields::metadata::{Metadata, MetadataChange};
use crate::fields::patch::{Change, Patch};
use crate::fields::text::{Email, Memo, Text, WebUrl, ZoneName};
use crate::id::{Id, Kind};
use crate::money::Currency;
use crate::time::Timestamp;

/// The name of a schema, and that schema and those it refers to by their names.
pub type Named = (String, Vec<(String, RefOr<Schema>)>);

/// The schema of a type.
pub fn named<T: ToSchema>() -> Named {
    let name = T::name().into_owned();
    let mut schemas = vec![(name.clone(), T::schema())];
    T::schemas(&mut schemas);
    (name, schemas)
}

fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::Type(Type::String))
}

fn number(least: f64, most: f64) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::Number))
        .minimum(Some(least))
        .maximum(Some(most))
}

macro_rules! schemas {
    ($($([$max:ident: $size:ty])? ($type:ty) $name:expr, $schema:expr;)*) => {
        $(
            impl $(<const $max: $size>)? ComposeSchema for $type {
                fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
                    RefOr::T(Schema::Object($schema.build()))
                }
            }

            impl $(<const $max: $size>)? ToSchema for $type {
                fn name() -> std::borrow::Cow<'static, str> {
                    $name.into()
                }
            }
        )*
    };
}

schemas! {
    (Id) "Id", string();
    (Kind) "Kind", string();
    (Timestamp) "Timestamp", string().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    (Currency) "Currency", string().pattern(Some("^[a-z]{3}$")).description(Some("Lowercase ISO 4217 code."));
    [MAX: usize] (Text<MAX>) format!("Text{MAX}"), string().min_length(Some(1)).max_length(Some(MAX)).pattern(Some(r"\S"));
    [MAX: usize] (Memo<MAX>) format!("Memo{MAX}"), string().max_length(Some(MAX));
    (Email) "Email", string().max_length(Some(254)).pattern(Some("^[!-?A-~]{1,64}@[0-9A-Za-z]([0-9A-Za-z.-]{0,187}[0-9A-Za-z])?$"));
    (CardUid) "CardUid", string().pattern(Some("^[!-~]{1,36}$")).description(Some("As the reader of a charging station reads it, for example the hexadecimal UID of an RFID card. Not case-sensitive."));
    (VisualNumber) "VisualNumber", string().pattern(Some("^[0-9A-Za-z][0-9A-Za-z ./-]{0,63}$")).description(Some("The number that is printed on the card."));
    (ZoneName) "ZoneName", string().description(Some("IANA time zone, such as `Europe/London`."));
    (TimeOfDay) "TimeOfDay", string().pattern(Some("^([01][0-9]|2[0-3]):[0-5][0-9]$"));
    [MOST: u16] (Degrees<MOST>) format!("Degrees{MOST}"), number(-f64::from(MOST), f64::from(MOST));
    (Radius) "Radius", number(1e-9, 50_000_000.0);
    (PriceCap) "PriceCap", number(0.0, 1e9);
    (TopUpAmount) "TopUpAmount", ObjectBuilder::new().schema_type(SchemaType::Type(Type::Integer)).minimum(Some(1)).maximum(Some(99_999_999));
    (WebUrl) "WebUrl", string().max_length(Some(2048)).description(Some("Absolute `https` URL without user information."));
    (Country) "Country", string().pattern(Some("^[A-Z]{2}$")).description(Some("Two-letter ISO 3166-1 code."));
    (Plug) "Plug", string().description(Some("`CCS`, `CHAdeMO`, `Type2`, or the name of a plug that is never matched."));
    (SigningSecret) "SigningSecret", string().description(Some("`whsec_` and 32 base64 characters: the key of `Service-Signature`."));
    (Metadata) "Metadata", ObjectBuilder::new()
        .additional_properties(Some(AdditionalProperties::RefOr(RefOr::T(Schema::Object(string().max_length(Some(500)).build())))))
        .description(Some("Key-value pairs that belong to the client; empty when unset."));
    (Scope) "Scope", string()
        .enum_values(Some(Scope::every().map(|scope| scope.to_string())))
        .description(Some("`*` is everything; `<resource>:write` includes reading."));
    (Subscription) "Subscription", string()
        .enum_values(Some(std::iter::once("*").chain(EventType::ALL.iter().map(|kind| kind.as_str()))))
        .description(Some("A type of events; `*` is every type."));
    (EventType) "EventType", string().enum_values(Some(EventType::ALL.iter().map(|kind| kind.as_str())));
    (Resource) "Resource", string().enum_values(Some(Resource::ALL.iter().map(|resource| resource.as_str())));
}

fn nullable(schema: RefOr<Schema>) -> RefOr<Schema> {
    let null = ObjectBuilder::new().schema_type(SchemaType::Type(Type::Null));
    OneOfBuilder::new().item(null).item(schema).into()
}

impl ComposeSchema for MetadataChange {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        let value = nullable(string().max_length(Some(500)).into());
        let names = string().min_length(Some(1)).max_length(Some(40));
        let pairs = ObjectBuilder::new()
            .property_names(Some(names))
            .max_properties(Some(50))
            .additional_properties(Some(AdditionalProperties::RefOr(value)))
            .description(Some("Pairs to set; a null or empty value removes its key."));
        nullable(pairs.into())
    }
}

impl ToSchema for MetadataChange {}

fn first(generics: Vec<RefOr<Schema>>, otherwise: fn() -> RefOr<Schema>) -> RefOr<Schema> {
    generics.into_iter().next().unwrap_or_else(otherwise)
}

impl<T: PartialSchema> ComposeSchema for Change<T> {
    fn compose(generics: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        first(generics, T::schema)
    }
}

impl<T: PartialSchema> ComposeSchema for Patch<T> {
    fn compose(generics: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        nullable(first(generics, T::schema))
    }
}

impl<T: ComposeSchema> ComposeSchema for Distinct<T> {
    fn compose(generics: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        ArrayBuilder::new()
            .items(first(generics, T::schema))
            .max_items(Some(MAX_LIST))
            .unique_items(true)
            .into()
    }
}

impl<T: ToSchema + ComposeSchema> ToSchema for Distinct<T> {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
    }
}

impl<T: ToSchema> ToSchema for Change<T> {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
    }
}

impl<T: ToSchema> ToSchema for Patch<T> {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
    }
}
