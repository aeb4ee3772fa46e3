//! The catalog of the API: the operations of the OpenAPI document, reduced at build time to the data that commands need.
//!
//! `build.rs` writes the catalog with `build/reader.rs`; the executable contains it as JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The whole API.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Catalog {
    /// The API's version, a date.
    pub version: String,
    pub resources: Vec<Resource>,
    /// Every type of event that a webhook can carry.
    pub event_types: Vec<String>,
}

/// The operations of one tag: a group of commands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Resource {
    /// The name of the group, such as `charging-sessions`.
    pub name: String,
    pub description: String,
    pub operations: Vec<Operation>,
}

/// One method of one path: a command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Operation {
    /// The `operationId` of the document.
    pub id: String,
    /// The name of the command in its group, such as `create`.
    pub command: String,
    /// The name of the method in the clients, which is a second name of the command.
    pub alias: String,
    /// In capital letters.
    pub method: String,
    /// With its parameters in braces.
    pub path: String,
    pub summary: String,
    pub description: String,
    /// The parameters of the path, in its order.
    pub arguments: Vec<Field>,
    pub query: Vec<Field>,
    pub headers: Vec<Field>,
    /// None if the operation has no body.
    pub body: Option<Body>,
    /// The names of the members of the response; empty if the document does not describe them.
    pub members: Vec<String>,
    /// Whether the response is a page with `data` and `next_page_url`.
    pub paged: bool,
    /// A value for each of `arguments`, for examples.
    pub sample_arguments: Vec<String>,
}

/// A JSON body.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Body {
    pub fields: Vec<Field>,
    /// The document's example.
    pub example: Option<Value>,
}

/// A parameter, or a member of a body.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Field {
    /// The names that lead to the member from the top of the body; the one name of a parameter.
    pub path: Vec<String>,
    /// The name of the flag without its hyphens, such as `location.radius`.
    pub flag: String,
    pub kind: Kind,
    /// Whether the value is an array, to which each use of the flag adds an element.
    pub list: bool,
    pub presence: Presence,
    /// Whether the value may be null.
    pub nullable: bool,
    pub description: String,
    /// The permitted values of an enum; empty for other kinds.
    pub values: Vec<String>,
    pub default: Option<String>,
    pub limits: Limits,
}

/// The type of a value, or of the elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    /// An RFC 3339 timestamp.
    Time,
    /// An object with keys that the client chooses and text as values.
    Pairs,
    /// Anything else, written as JSON.
    Json,
}

/// Whether a value may be omitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Presence {
    Optional,
    /// Required if the object that it is a member of is sent.
    WithParent,
    Required,
}

/// The constraints of the document on values, besides their type.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Limits {
    pub minimum: Option<f64>,
    pub maximum: Option<f64>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    /// The maximum for an array.
    pub max_items: Option<u64>,
    /// A regular expression.
    pub pattern: Option<String>,
}
