//! `fleet`, the command-line tool of the Fleet Charging Service.
//!
//! The commands of the API's operations are made from the OpenAPI document: [`catalog`] is the reduced document that the build embeds,
//! [`commands`] is the tree of commands, [`request`] builds the request of a command line, [`client`] sends it, and [`output`] prints
//! the response. The other modules are commands that the tool adds.

pub mod api;
pub mod catalog;
pub mod client;
pub mod commands;
pub mod completion;
pub mod context;
pub mod depot;
pub mod docs;
pub mod doctor;
pub mod examples;
pub mod failure;
pub mod import;
pub mod input;
pub mod listen;
pub mod local;
pub mod mcp;
pub mod operation;
pub mod output;
pub mod preview;
pub mod profile;
pub mod profiles;
pub mod request;
pub mod time;
pub mod trigger;
pub mod value;
pub mod watch;
pub mod yaml;
