//! The sweep beside a queue that has more work than can be done in a minute: a spike, and an outage.

use tests::backlog::{Rule, play, scenarios};

#[test]
fn the_sweep_makes_no_backlog_longer_and_finds_what_is_lost() {
    for mut scenario in scenarios() {
        scenario.length = 60 * 60;
        let (swept, alone) = (
            play(&scenario, Rule::Repeats),
            play(&scenario, Rule::Nothing),
        );
        let name = scenario.name;
        assert!(swept.duplicated() <= 0.01, "{name}: {swept:?}");
        assert_eq!(swept.undone, 0, "{name}: {swept:?}");
        if let Some(alone) = alone.recovered {
            let recovered = swept.recovered.expect(name);
            assert!(recovered * 10 <= alone * 11, "{name}: {recovered} s");
        }
    }
}
