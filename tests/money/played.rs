//! Counts the cases that the seeds have covered, and fails if one is missing.

use crate::Played;
use crate::provider::CERTAIN_FAULTS;

impl Played {
    /// The events in the seeds of all workers.
    pub(super) fn of(workers: Vec<Self>) -> Self {
        let mut all = Self::default();
        for played in workers {
            all.paid += played.paid;
            all.credited += played.credited;
            all.refunded_top_ups += played.refunded_top_ups;
            for (fault, times) in played.faults {
                *all.faults.entry(fault).or_default() += times;
            }
            for (outcome, times) in played.refunds_of_top_ups {
                *all.refunds_of_top_ups.entry(outcome).or_default() += times;
            }
            for (what, times) in played.credit_notes {
                *all.credit_notes.entry(what).or_default() += times;
            }
            for (what, times) in played.charged {
                *all.charged.entry(what).or_default() += times;
            }
        }
        all
    }

    /// Fails unless the runs have covered all cases, including credit notes of these kinds, these outcomes of sessions at the network, and
    /// these of refunds of top-ups.
    pub(super) fn check(&self, kinds: &[&str], outcomes: &[&str], refunds: &[&str]) {
        let Self {
            paid,
            faults,
            credited,
            charged,
            credit_notes,
            ..
        } = self;
        let taken_out = &self.refunds_of_top_ups;
        let taken_out = refunds
            .iter()
            .all(|outcome| taken_out.contains_key(*outcome));
        let topped_up = *credited > 0 && self.refunded_top_ups > 0 && taken_out;
        let failed = CERTAIN_FAULTS
            .iter()
            .all(|fault| faults.contains_key(fault));
        let credited_enough = kinds.iter().all(|kind| credit_notes.contains_key(*kind));
        assert!(
            *paid > 0
                && topped_up
                && failed
                && credited_enough
                && outcomes.iter().all(|outcome| charged.contains_key(outcome)),
            "{paid} paid, {credited} top-ups, {taken_out}, {charged:?}, {credit_notes:?} and {faults:?} prove nothing"
        );
        // With --nocapture, the number of cases that a long run covers.
        let (more, back) = (self.refunded_top_ups, &self.refunds_of_top_ups);
        let summary = format!(
            "{credited} top-ups credited, {more} not credited, refunds {back:?}, {faults:?}; sessions at the network {charged:?}, credit notes {credit_notes:?}\n"
        );
        drop(std::io::Write::write_all(
            &mut std::io::stderr(),
            summary.as_bytes(),
        ));
    }
}
