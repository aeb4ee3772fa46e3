//! Schemas in the OpenAPI document of resource types that have rules of their own.

use utoipa::__dev::ComposeSchema;
use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat,
    SchemaType, Type,
};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::analytics::Day;
use super::charge_card::{CardUid, VisualNumber};
use super::charging_station::Plug;
use super::event::EventType;
use super::policy::{Degrees, PriceCap, Radius, TimeOfDay};
use super::reservation::{AreaRadius, ConnectorTypes, MOST_CONNECTOR_TYPES, MOST_RADIUS};
use super::transaction::TopUpAmount;
use super::webhook_endpoint::{SigningSecret, Subscription};
use super::webhooks::headers::{
    CustomHeaders, HeadersChange, MOST_HEADERS, MOST_NAME, MOST_VALUE, NAME_PATTERN,
};
use super::{Distinct, Limited, MAX_LIST, NonEmpty};
use kernel::fields::schema::{nullable, string};
use kernel::schemas;

/// The name of a schema, and this schema and the schemas that it refers to, by their names.
pub type Named = (String, Vec<(String, RefOr<Schema>)>);

/// Returns the schema of a type.
pub fn named<T: ToSchema>() -> Named {
    let name = T::name().into_owned();
    let mut schemas = vec![(name.clone(), T::schema())];
    T::schemas(&mut schemas);
    (name, schemas)
}

fn number(least: f64, most: f64) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::Number))
        .minimum(Some(least))
        .maximum(Some(most))
}

schemas! {
    (Day) "Day", string().format(Some(SchemaFormat::KnownFormat(KnownFormat::Date))).max_length(Some(10));
    (CardUid) "CardUid", string().pattern(Some(r"^([!-\x2d\x2f-~][!-~]?|\.[!-\x2d\x2f-~]|[!-~]{3,36})$")).description(Some("As the reader of a charging station reads it, for example the hexadecimal UID of an RFID card. Not case-sensitive."));
    (VisualNumber) "VisualNumber", string().pattern(Some("^[0-9A-Za-z][0-9A-Za-z ./-]{0,63}$")).description(Some("The number that is printed on the card."));
    (ConnectorTypes) "ConnectorTypes", ArrayBuilder::new().items(Ref::from_schema_name("ConnectorType")).min_items(Some(1)).max_items(Some(MOST_CONNECTOR_TYPES)).unique_items(true);
    (AreaRadius) "AreaRadius", ObjectBuilder::new().schema_type(SchemaType::Type(Type::Integer)).minimum(Some(1)).maximum(Some(MOST_RADIUS));
    (TimeOfDay) "TimeOfDay", string().pattern(Some("^([01][0-9]|2[0-3]):[0-5][0-9]$"));
    [MOST: u16] (Degrees<MOST>) format!("Degrees{MOST}"), number(-f64::from(MOST), f64::from(MOST));
    (Radius) "Radius", number(1e-9, 50_000_000.0);
    (PriceCap) "PriceCap", number(0.0, 1e9);
    (TopUpAmount) "TopUpAmount", ObjectBuilder::new().schema_type(SchemaType::Type(Type::Integer)).minimum(Some(1)).maximum(Some(99_999_999));
    (Plug) "Plug", string().description(Some("`CCS`, `CHAdeMO`, `Type2`, or the name of a plug that is never matched."));
    (SigningSecret) "SigningSecret", string().description(Some("`whsec_` and 32 base64 characters: the key of `Service-Signature`."));
    (CustomHeaders) "CustomHeaders", headers(string().max_length(Some(MOST_VALUE)).into()).description(Some("Values by name, in lowercase."));
    (Subscription) "Subscription", string()
        .enum_values(Some(std::iter::once("*").chain(EventType::ALL.iter().map(|kind| kind.as_str()))))
        .description(Some("A type of events; `*` is every type."));
    (EventType) "EventType", string().enum_values(Some(EventType::ALL.iter().map(|kind| kind.as_str())));
}

/// Returns the schema of headers by name, with this schema for their values.
fn headers(value: RefOr<Schema>) -> ObjectBuilder {
    let names = string()
        .min_length(Some(1))
        .max_length(Some(MOST_NAME))
        .pattern(Some(NAME_PATTERN));
    ObjectBuilder::new()
        .property_names(Some(names))
        .max_properties(Some(MOST_HEADERS))
        .additional_properties(Some(AdditionalProperties::RefOr(value)))
}

impl PartialSchema for HeadersChange {
    fn schema() -> RefOr<Schema> {
        let visible = string()
            .max_length(Some(MOST_VALUE))
            .pattern(Some("^[!-~]([ -~]*[!-~])?$|^$"));
        let set = headers(nullable(visible.into())).description(Some(
            "Headers to set; a null or empty value removes its header. Names are tokens of RFC 9110. Those about the connection and the \
             body, and names that begin with `content-`, `proxy-`, `service-` or `webhook-`, are refused.",
        ));
        nullable(set.into())
    }
}

impl ToSchema for HeadersChange {}

impl<T: PartialSchema> ComposeSchema for Limited<T> {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        ArrayBuilder::new()
            .items(T::schema())
            .max_items(Some(MAX_LIST))
            .into()
    }
}

impl<T: ToSchema> ToSchema for Limited<T> {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
    }
}

/// Checks whether a schema is a list of permitted values.
fn is_enumeration(schema: &RefOr<Schema>) -> bool {
    matches!(schema, RefOr::T(Schema::Object(object)) if object.enum_values.is_some())
}

impl<T: ToSchema> ComposeSchema for Distinct<T> {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        let items = T::schema();
        // Without a name, openapi-generator generates a set of such values that the Java compiler rejects.
        let items = if is_enumeration(&items) {
            Ref::from_schema_name(T::name()).into()
        } else {
            items
        };
        ArrayBuilder::new()
            .items(items)
            .max_items(Some(MAX_LIST))
            .unique_items(true)
            .into()
    }
}

impl<T: ToSchema> ToSchema for Distinct<T> {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
        if is_enumeration(&T::schema()) {
            schemas.push((T::name().into_owned(), T::schema()));
        }
    }
}

impl<T: ToSchema> ComposeSchema for NonEmpty<T> {
    fn compose(generics: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        match Distinct::<T>::compose(generics) {
            RefOr::T(Schema::Array(mut list)) => {
                list.min_items = Some(1);
                list.into()
            }
            other => other,
        }
    }
}

impl<T: ToSchema> ToSchema for NonEmpty<T> {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Distinct::<T>::schemas(schemas);
    }
}
