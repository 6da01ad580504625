//! Clients waited for another server, which the one that they asked had to ask itself.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::Window;
use dyno_archive::analysis::Cause;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    let raised = recording
        .remote_waits
        .as_ref()?
        .raised_in(dip, 0.2 * recording.clients)?;
    let share = ((raised.inside - raised.usual) / recording.clients.max(1.0)).min(1.0);
    Some(Evidence {
        cause: Cause::Remote,
        score: 0.5 + 0.4 * share,
        words: format!(
            "{:.1} clients waited for the remote server of foreign tables, usually {:.1}",
            raised.inside, raised.usual
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm, signal};

    #[test]
    fn clients_that_wait_for_a_remote_server() {
        let mut recording = calm();
        assert_eq!(look(&recording, DIP), None);
        recording.remote_waits = signal(1.0, 7.5);
        let evidence = look(&recording, DIP).unwrap();
        assert!(evidence.score > 0.8 && evidence.cause == Cause::Remote, "{evidence:?}");
        // A proxy always waits for its remote, and the more the less it does itself.
        recording.remote_waits = signal(7.0, 7.2);
        assert_eq!(look(&recording, DIP), None);
    }
}
