//! After a checkpoint the first change of each page writes the whole page into the write-ahead log.

use super::super::Cause;
use super::super::recording::Recording;
use super::super::series::Window;
use super::Evidence;

/// How long after the begin of a checkpoint a dip may begin.
const AFTER_S: f64 = 30.0;

/// As many times more images per second than usual are a burst.
const BURST: f64 = 2.0;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    let mut started = recording.checkpoints.iter().map(|checkpoint| checkpoint.start_s);
    let started_s = started.rfind(|start_s| (-2.0..=AFTER_S).contains(&(dip.start_s - start_s)))?;
    let signal = recording.full_page_images.as_ref()?;
    // The median of the rest of the run: right after a checkpoint there are always more than late before the next.
    let raised = signal
        .raised_in(dip, 1.0)
        .filter(|raised| raised.inside >= BURST * raised.usual)?;
    let waited = recording
        .wal_waits
        .as_ref()
        .and_then(|waits| waits.raised_in(dip, 0.15 * recording.clients));
    let mut words = format!(
        "a checkpoint began at {started_s:.1} s; {:.0} full page images per second, usually {:.0}",
        raised.inside, raised.usual
    );
    if let Some(waited) = waited {
        words.push_str(&format!(
            "; {:.1} clients waited for the write-ahead log, usually {:.1}",
            waited.inside, waited.usual
        ));
    }
    Some(Evidence {
        cause: Cause::FullPageImages,
        score: if waited.is_some() { 0.75 } else { 0.45 },
        words,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{DIP, calm, signal};
    use super::*;
    use crate::archive::Checkpoint;

    #[test]
    fn a_burst_of_images_that_clients_wait_for() {
        let mut recording = calm();
        recording.full_page_images = signal(10.0, 900.0);
        recording.wal_waits = signal(1.0, 6.0);
        assert_eq!(look(&recording, DIP), None);
        recording.checkpoints.push(Checkpoint {
            start_s: 58.5,
            ..Checkpoint::default()
        });
        assert_eq!(look(&recording, DIP).unwrap().score, 0.75);
        recording.wal_waits = signal(1.0, 1.0);
        assert!(look(&recording, DIP).unwrap().score < 0.5);
        recording.full_page_images = signal(10.0, 11.0);
        assert_eq!(look(&recording, DIP), None);
    }
}
