//! `cargo bench --workspace --bench sweep`: simulates a spike of work that is due at once, and an outage, in virtual time: with the
//! sweep, and without one. Prints how many messages were repeated unnecessarily, and when no work was late any more.

#![allow(clippy::print_stdout)]

use tests::backlog::{Rule, play, scenarios};

fn main() {
    println!(
        "| Scenario | Sweep | Sent again | For nothing | Not done after 90 minutes | Nothing late after |"
    );
    println!("|---|---|--:|--:|--:|--:|");
    for scenario in scenarios() {
        for (name, rule) in [("without", Rule::Nothing), ("with", Rule::Repeats)] {
            let course = play(&scenario, rule);
            let recovered = course
                .recovered
                .map_or_else(|| "never".to_owned(), |second| format!("{second} s"));
            println!(
                "| {} | {name} | {} | {:.2} % | {} | {recovered} |",
                scenario.name,
                course.repeated,
                course.duplicated() * 100.0,
                course.undone,
            );
        }
    }
}
