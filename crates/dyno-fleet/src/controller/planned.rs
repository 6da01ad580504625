//! Which intervals a load can have: what an agent tells of another time would spoil what the others tell.

use dyno_engine::Phase;
use dyno_record::Interval;
use std::time::Duration;

/// Whether phases that are cut in steps of `step` have such an interval. Steps count from the begin of each phase. An
/// interval that ends early is the last, as the next would begin between two steps. Phases that last until their work
/// is done end at times of their own.
pub(super) fn is_planned<H, S>(interval: &Interval<H, S>, phases: &[Phase], step: Duration) -> bool {
    let Some(phase) = phases.get(interval.phase).filter(|_| !interval.duration.is_zero()) else {
        return false;
    };
    let before = phases.iter().take(interval.phase);
    if before.clone().any(|phase| !phase.until.is_empty()) {
        return interval.duration <= step;
    }
    let begin = before.fold(Duration::ZERO, |begin, phase| begin.saturating_add(phase.duration));
    let since = interval.start.checked_sub(begin);
    let Some(since) = since.filter(|since| *since < phase.duration) else {
        return false;
    };
    let is_at_step = since.as_nanos() % step.as_nanos().max(1) == 0;
    is_at_step && interval.duration <= step.min(phase.duration - since)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_record::Recording;

    #[test]
    fn what_is_told_has_the_places_that_the_plan_has() {
        let ms = Duration::from_millis;
        let phases = [250, 1000].map(|lasts_ms| Phase::new("phase", ms(lasts_ms)));
        let is_planned = |phase: usize, start_ms: u64, lasts_ms: u64| {
            let interval = Interval::<Recording> {
                phase,
                start: ms(start_ms),
                duration: ms(lasts_ms),
                first_thread_whole: true,
                recordings: Vec::new(),
            };
            is_planned(&interval, &phases, ms(100))
        };
        for (phase, start_ms, lasts_ms) in [(0, 0, 100), (0, 200, 50), (1, 250, 100), (1, 1150, 100), (1, 450, 30)] {
            assert!(is_planned(phase, start_ms, lasts_ms), "{start_ms}");
        }
        // Without end, too long, over the end of its phase, after an early end, in another phase, after the end.
        for (phase, start_ms, lasts_ms) in [
            (0, 100, 0),
            (1, 350, 900),
            (0, 200, 100),
            (1, 480, 70),
            (0, 350, 100),
            (1, 1250, 1),
        ] {
            assert!(!is_planned(phase, start_ms, lasts_ms), "{start_ms}");
        }
        assert!(!is_planned(2, 0, 100));
    }
}
