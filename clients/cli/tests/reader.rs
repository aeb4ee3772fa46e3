//! The conversion of the document's structure to commands and flags, which is independent of the names of its schemas.

#[path = "../src/catalog.rs"]
#[allow(dead_code)]
mod catalog;
#[path = "../build/reader.rs"]
mod reader;

use catalog::{Field, Kind, Operation, Presence};
use serde_json::{Value, json};

/// A document with one operation, whose body has this schema.
fn document(id: &str, tag: &str, body: Value, schemas: Value) -> Value {
    json!({"info": {"version": "2026-03-01"}, "tags": [{"name": tag, "description": "Things."}],
        "paths": {"/v1/things": {"post": {"operationId": id, "tags": [tag], "summary": "Create a thing",
            "requestBody": {"content": {"application/json": {"schema": body}}},
            "responses": {"200": {"description": "The thing."}}}}},
        "components": {"schemas": schemas}})
}

fn operation(document: &Value) -> Operation {
    let catalog = reader::read(document).expect("a catalog");
    catalog.resources[0].operations[0].clone()
}

fn fields(body: Value, schemas: Value) -> Vec<Field> {
    operation(&document("createThing", "things", body, schemas))
        .body
        .expect("a body")
        .fields
}

fn field(schema: Value) -> Field {
    let schemas = json!({"Colour": {"type": "string", "enum": ["red", "blue"]}, "Text": {"type": "string", "maxLength": 9}});
    fields(
        json!({"type": "object", "properties": {"x": schema}}),
        schemas,
    )
    .remove(0)
}

#[test]
fn references_and_alternatives_with_null_become_one_type() {
    for (schema, kind, nullable) in [
        (json!({"type": "string"}), Kind::Text, false),
        (json!({"type": ["string", "null"]}), Kind::Text, true),
        (
            json!({"$ref": "#/components/schemas/Text"}),
            Kind::Text,
            false,
        ),
        (
            json!({"oneOf": [{"$ref": "#/components/schemas/Text"}, {"type": "null"}]}),
            Kind::Text,
            true,
        ),
        (
            json!({"anyOf": [{"type": "null"}, {"type": "integer"}]}),
            Kind::Integer,
            true,
        ),
        (
            json!({"allOf": [{"$ref": "#/components/schemas/Text"}], "description": "More"}),
            Kind::Text,
            false,
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            Kind::Time,
            false,
        ),
        (json!({"type": "boolean"}), Kind::Boolean, false),
        (json!({"type": "number"}), Kind::Number, false),
        (
            json!({"type": "object", "additionalProperties": {"type": ["string", "null"]}}),
            Kind::Pairs,
            false,
        ),
        (
            json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
            Kind::Json,
            false,
        ),
        (json!({}), Kind::Json, false),
    ] {
        let field = field(schema.clone());
        assert_eq!((field.kind, field.nullable), (kind, nullable), "{schema}");
    }
    let referenced = field(
        json!({"oneOf": [{"$ref": "#/components/schemas/Text", "description": "Here"}, {"type": "null"}]}),
    );
    assert_eq!(
        (
            referenced.description.as_str(),
            referenced.limits.max_length
        ),
        ("Here", Some(9))
    );
}

#[test]
fn enums_are_found_however_they_are_written() {
    for schema in [
        json!({"$ref": "#/components/schemas/Colour"}),
        json!({"oneOf": [{"$ref": "#/components/schemas/Colour"}, {"type": "null"}]}),
        json!({"type": ["string", "null"], "enum": ["red", "blue", null]}),
        json!({"enum": ["red", "blue"]}),
        json!({"oneOf": [{"const": "red", "type": "string"}, {"const": "blue", "type": "string"}]}),
        json!({"type": "array", "items": {"$ref": "#/components/schemas/Colour"}}),
    ] {
        let field = field(schema.clone());
        assert_eq!(field.values, ["red", "blue"], "{schema}");
        assert_eq!(field.list, schema["type"] == "array");
    }
}

#[test]
fn the_members_of_objects_get_flags_with_dots() {
    let place = json!({"type": "object", "required": ["latitude"], "properties": {
        "latitude": {"type": "number"}, "address_line": {"type": "string"}}});
    let body = json!({"type": "object", "required": ["here"], "properties": {
        "here": {"$ref": "#/components/schemas/Place"},
        "there": {"oneOf": [{"$ref": "#/components/schemas/Place"}, {"type": "null"}]}}});
    let fields = fields(body, json!({"Place": place}));
    let shown: Vec<_> = fields
        .iter()
        .map(|field| (field.flag.as_str(), field.kind, field.presence))
        .collect();
    assert_eq!(
        shown,
        [
            ("here", Kind::Json, Presence::Optional),
            ("here.latitude", Kind::Number, Presence::Required),
            ("here.address-line", Kind::Text, Presence::Optional),
            ("there", Kind::Json, Presence::Optional),
            ("there.latitude", Kind::Number, Presence::WithParent),
            ("there.address-line", Kind::Text, Presence::Optional),
        ]
    );
}

#[test]
fn alternatives_that_are_objects_become_one_object() {
    let body = json!({"oneOf": [
        {"type": "object", "required": ["type", "token"], "properties": {"type": {"const": "card", "type": "string"}, "token": {"type": "string"}}},
        {"type": "object", "required": ["type"], "properties": {"type": {"const": "wallet", "type": "string"}}}],
        "discriminator": {"propertyName": "type"}});
    let fields = fields(body, json!({}));
    assert_eq!(
        (fields[0].flag.as_str(), fields[0].presence),
        ("type", Presence::Required)
    );
    assert_eq!(fields[0].values, ["card", "wallet"]);
    assert_eq!(
        (fields[1].flag.as_str(), fields[1].presence),
        ("token", Presence::Optional)
    );
}

#[test]
fn commands_are_named_after_the_operation_without_its_tag() {
    for (id, tag, group, command) in [
        ("createThing", "things", "things", "create"),
        ("create", "things", "things", "create"),
        ("things.create", "things", "things", "create"),
        ("things_create", "Things", "things", "create"),
        (
            "listInvoiceLineItems",
            "invoices",
            "invoices",
            "list-line-items",
        ),
        ("listPolicies", "policies", "policies", "list"),
        ("createPolicy", "policies", "policies", "create"),
        ("createAPIKey", "api_keys", "api-keys", "create"),
        (
            "rotateWebhookEndpointSecret",
            "Webhook endpoints",
            "webhook-endpoints",
            "rotate-secret",
        ),
        ("topUpDriver", "drivers", "drivers", "top-up"),
        ("things", "things", "things", "post"),
    ] {
        let catalog = reader::read(&document(id, tag, json!({}), json!({}))).expect("a catalog");
        let resource = &catalog.resources[0];
        assert_eq!(
            (
                resource.name.as_str(),
                resource.operations[0].command.as_str()
            ),
            (group, command),
            "{id} of {tag}"
        );
    }
}

#[test]
fn names_that_flags_of_the_tool_have_get_another_ending() {
    let body = json!({"type": "object", "properties": {"profile": {"type": "string"}, "version": {"type": "string"}}});
    let flags: Vec<String> = fields(body, json!({}))
        .into_iter()
        .map(|field| field.flag)
        .collect();
    assert_eq!(flags, ["profile-field", "version-field"]);
}

#[test]
fn a_page_is_recognized_by_its_members_in_referenced_schemas() {
    let mut document = document(
        "listThings",
        "things",
        json!({}),
        json!({
        "List": {"type": "object", "properties": {"next_page_url": {"type": ["string", "null"]}}},
        "Things": {"allOf": [{"$ref": "#/components/schemas/List"}, {"properties": {"data": {"type": "array"}}}]}}),
    );
    let response = &mut document["paths"]["/v1/things"]["post"]["responses"]["200"];
    response["content"]["application/json"]["schema"] =
        json!({"$ref": "#/components/schemas/Things"});
    let found = operation(&document);
    assert!(found.paged);
    assert_eq!(found.members, ["next_page_url", "data"]);
    document["components"]["schemas"]["Things"]["allOf"][1] = json!({});
    assert!(!operation(&document).paged);
}

#[test]
fn a_document_that_cannot_be_read_is_refused_with_the_place() {
    let circle = json!({"A": {"$ref": "#/components/schemas/A"}});
    for (body, schemas, reason) in [
        (
            json!({"$ref": "#/components/schemas/None"}),
            json!({}),
            "leads nowhere",
        ),
        (json!({"$ref": "#/components/schemas/A"}), circle, "circle"),
    ] {
        let error =
            reader::read(&document("createThing", "things", body, schemas)).expect_err("an error");
        assert!(
            error.contains(reason) && error.contains("post /v1/things"),
            "{error}"
        );
    }
    let error = reader::read(&document("", "things", json!({}), json!({}))).expect_err("an error");
    assert!(error.contains("operationId"), "{error}");
}
