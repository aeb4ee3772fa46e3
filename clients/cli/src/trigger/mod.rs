//! `fleet trigger`: triggers an event in test mode by creating the objects that lead to it, as an integration would.

mod charging;
mod events;
mod receiver;
mod stage;
mod wait;

use clap::ArgMatches;
use serde_json::{Value, json};

use crate::commands::CATALOG;
use crate::context::Context;
use crate::failure::Failure;
use crate::local::spinner;
use crate::output::{self, Form};

use self::stage::Stage;
use self::wait::wait_for;

pub use self::events::{EVENTS, Event, OTHERS};

/// Runs the command.
///
/// # Errors
/// The key is of live mode, the event requires the clock to be moved and that is not permitted, or a request fails.
pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    if matches.get_flag("list") {
        return list(context);
    }
    let name = matches
        .get_one::<String>("event")
        .map_or("", String::as_str);
    let event = EVENTS.iter().find(|event| event.name == name);
    let event = event.ok_or_else(|| Failure::local("no such event"))?;
    context.needs_key()?;
    let key = context
        .client
        .settings
        .api_key
        .as_deref()
        .unwrap_or_default();
    if !key.contains("_test_") {
        return Err(Failure::local(
            "events are triggered in test mode only: this is not a test key",
        ));
    }
    if event.moves_clock && !matches.get_flag("advance-clock") {
        return Err(Failure::Local(format!(
            "{name} needs the local runner's clock to be moved; permit it with --advance-clock"
        )));
    }
    let begin = context.client.now().await?;
    let bar = spinner(context, &format!("making {name} happen"));
    let mut stage = Stage::new(context);
    let happened = async {
        let object = stage.act(name).await?;
        wait_for(context, name, &object, begin).await
    };
    let happened = happened.await;
    bar.finish_and_clear();
    let left = stage.created.join(" ");
    let event = happened.inspect_err(|_| {
        if !left.is_empty() {
            context.note(&format!("Created before the failure: {left}"));
        }
    })?;
    context.note(&format!("Created for it: {left}"));
    match &context.form {
        Form::Text { .. } => {
            let text = |name: &str| event[name].as_str().unwrap_or("?");
            output::print(&format!(
                "{}\t{}\t{}",
                text("id"),
                text("type"),
                text("created")
            ))
        }
        form => form.object(&event),
    }
}

/// Lists the events that can be triggered, and the others.
fn list(context: &Context) -> Result<(), Failure> {
    let known = |name: &String| EVENTS.iter().find(|event| event.name == name);
    let events: Vec<Value> = CATALOG
        .event_types
        .iter()
        .map(|name| match known(name) {
            Some(event) => json!({"type": name, "triggers": true, "needs_clock": event.moves_clock, "does": event.about}),
            None => {
                let other = OTHERS.iter().find(|(other, _)| other == name);
                json!({"type": name, "triggers": false, "needs_clock": false, "does": other.map_or("", |(_, why)| why)})
            }
        })
        .collect();
    match &context.form {
        Form::Text { .. } => events.iter().try_for_each(|event| {
            let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
            let clock = if event["needs_clock"] == true {
                " (--advance-clock)"
            } else {
                ""
            };
            let sign = if event["triggers"] == true { " " } else { "-" };
            output::print(&format!(
                "{sign} {:<28} {}{clock}",
                text("type"),
                text("does")
            ))
        }),
        form => form.list(&events),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_event_is_one_of_the_document() {
        for name in events::LISTED.iter().map(|event| event.name) {
            assert!(
                CATALOG
                    .event_types
                    .iter()
                    .any(|event_type| event_type == name),
                "{name}"
            );
        }
        assert!(events::LISTED.is_sorted_by_key(|event| event.name));
    }

    #[test]
    fn every_event_of_the_document_is_triggered_or_explained() {
        for name in &CATALOG.event_types {
            let triggered = EVENTS.iter().any(|event| event.name == name);
            let explained = OTHERS.iter().any(|(other, _)| other == name);
            assert!(
                triggered != explained,
                "{name}: src/trigger/events.rs has it in LISTED or in OTHERS"
            );
        }
    }
}
