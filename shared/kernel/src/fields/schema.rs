//! The schemas of types with rules of their own in the OpenAPI document. All other types derive their schemas.

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, KnownFormat, ObjectBuilder, OneOfBuilder, Schema,
    SchemaFormat, SchemaType, Type,
};
// The derive macro calls this trait on the type of a field that has type arguments. Only generic types implement it.
use utoipa::__dev::ComposeSchema;
use utoipa::{PartialSchema, ToSchema};

use super::address::Country;
use super::metadata::{Metadata, MetadataChange, MetadataPair, SearchableKeys};
use super::party::{AddressScheme, Bic, Iban, InvoicePrefix, PaymentTerm, TaxPercent, VatId};
use super::patch::{Change, Patch};
use super::text::{Email, Memo, Text, WebUrl, ZoneName};
use crate::id::{Id, Kind, Resource};
use crate::money::Currency;
use crate::scope::Scope;
use crate::time::Timestamp;

pub fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::Type(Type::String))
}

/// Defines a schema for each type, which is inlined wherever the type is used.
#[macro_export]
macro_rules! schemas {
    ($($([$max:ident: $size:ty])? ($type:ty) $name:expr, $schema:expr;)*) => {
        $(
            impl $(<const $max: $size>)? utoipa::PartialSchema for $type {
                fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                    $schema.into()
                }
            }

            impl $(<const $max: $size>)? utoipa::ToSchema for $type {
                fn name() -> std::borrow::Cow<'static, str> {
                    $name.into()
                }
            }
        )*
    };
}

schemas! {
    (Id) "Id", string().max_length(Some(Id::MAX_LENGTH));
    (Kind) "Kind", string();
    (Timestamp) "Timestamp", string().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    (Currency) "Currency", string().pattern(Some("^[a-z]{3}$")).description(Some("Lowercase ISO 4217 code."));
    [MAX: usize] (Text<MAX>) format!("Text{MAX}"), string().min_length(Some(1)).max_length(Some(MAX)).pattern(Some(r"\S"));
    [MAX: usize] (Memo<MAX>) format!("Memo{MAX}"), string().max_length(Some(MAX));
    (Email) "Email", string().max_length(Some(254)).pattern(Some("^[!-?A-~]{1,64}@[0-9A-Za-z]([0-9A-Za-z.-]{0,187}[0-9A-Za-z])?$"));
    (ZoneName) "ZoneName", string().description(Some("IANA time zone, such as `Europe/London`."));
    (WebUrl) "WebUrl", string().max_length(Some(2048)).description(Some("Absolute `https` URL without user information."));
    (Country) "Country", string().pattern(Some("^[A-Z]{2}$")).description(Some("Two-letter ISO 3166-1 code."));
    (VatId) "VatId", string().min_length(Some(4)).description(Some("VAT identifier with the prefix of its country, such as `DE123456789`."));
    (Iban) "Iban", string().min_length(Some(15)).description(Some("IBAN; blanks are removed."));
    (Bic) "Bic", string().min_length(Some(8)).description(Some("BIC of 8 or 11 characters."));
    (InvoicePrefix) "InvoicePrefix", string().pattern(Some("^[0-9A-Za-z_/.-]{1,20}$"));
    (AddressScheme) "AddressScheme", string().min_length(Some(2)).max_length(Some(4));
    (PaymentTerm) "PaymentTerm", ObjectBuilder::new().schema_type(SchemaType::Type(Type::Integer)).minimum(Some(0)).maximum(Some(365));
    (TaxPercent) "TaxPercent", string().pattern(Some(r"^\d{1,3}(\.\d{1,4})?$")).description(Some("Decimal number of percent, 0 to 100."));
    (Metadata) "Metadata", ObjectBuilder::new()
        .additional_properties(Some(AdditionalProperties::RefOr(RefOr::T(Schema::Object(string().max_length(Some(500)).build())))))
        .description(Some("Key-value pairs that belong to the client; empty when unset."));
    (MetadataPair) "MetadataPair", string().max_length(Some(541)).pattern(Some("^[^:]+:.+$"));
    (SearchableKeys) "SearchableKeys", ArrayBuilder::new()
        .items(string().min_length(Some(1)).max_length(Some(40)).pattern(Some("^[^:]+$")))
        .max_items(Some(SearchableKeys::MOST))
        .unique_items(true);
    (Scope) "Scope", string()
        .enum_values(Some(Scope::every().map(|scope| scope.to_string())))
        .description(Some("`*` is everything; `<resource>:write` includes reading."));
    (Resource) "Resource", string().enum_values(Some(Resource::ALL.iter().map(|resource| resource.as_str())));
}

/// Returns a schema, or null.
pub fn nullable(schema: RefOr<Schema>) -> RefOr<Schema> {
    let null = ObjectBuilder::new().schema_type(SchemaType::Type(Type::Null));
    OneOfBuilder::new().item(null).item(schema).into()
}

impl PartialSchema for MetadataChange {
    fn schema() -> RefOr<Schema> {
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

impl<T: PartialSchema> ComposeSchema for Change<T> {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        T::schema()
    }
}

impl<T: PartialSchema> ComposeSchema for Patch<T> {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        nullable(T::schema())
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
