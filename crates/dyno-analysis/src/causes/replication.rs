//! Commits waited for a standby.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::Window;
use dyno_archive::analysis::Cause;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    let raised = recording
        .standby_waits
        .as_ref()?
        .raised_in(dip, 0.2 * recording.clients)?;
    let share = ((raised.inside - raised.usual) / recording.clients.max(1.0)).min(1.0);
    Some(Evidence {
        cause: Cause::Replication,
        score: 0.5 + 0.4 * share,
        words: format!(
            "{:.1} clients waited for a standby (SyncRep), usually {:.1}",
            raised.inside, raised.usual
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm, signal};

    #[test]
    fn clients_that_wait_for_a_standby() {
        let mut recording = calm();
        assert_eq!(look(&recording, DIP), None);
        recording.standby_waits = signal(0.0, 8.0);
        assert!(look(&recording, DIP).unwrap().score > 0.85);
        // A cluster where all commits always wait.
        recording.standby_waits = signal(6.0, 6.2);
        assert_eq!(look(&recording, DIP), None);
    }
}
