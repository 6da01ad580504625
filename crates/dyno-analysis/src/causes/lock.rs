//! Another session held a lock that the clients needed.

use crate::causes::Evidence;
use crate::recording::Recording;
use crate::series::Window;
use dyno_archive::analysis::Cause;

pub(super) fn look(recording: &Recording, dip: Window) -> Option<Evidence> {
    let foreign = recording.blocked.iter().filter(|blocked| blocked.holder.is_some());
    let overlap_s = |blocked: &&dyno_record::Blocked| {
        Window {
            start_s: blocked.start_s,
            end_s: blocked.end_s,
        }
        .widened(0.2)
        .overlap_s(dip)
    };
    let longest = foreign.max_by(|one, other| overlap_s(one).total_cmp(&overlap_s(other)));
    if let Some(blocked) = longest.filter(|blocked| overlap_s(blocked) > 0.0) {
        let time = (overlap_s(&blocked) / dip.length_s()).min(1.0);
        let clients = (blocked.waiting as f64 / recording.losing_clients.max(1.0)).min(1.0);
        let relation = blocked
            .relation
            .as_ref()
            .map_or_else(String::new, |relation| format!(" on {relation}"));
        let holder = blocked.holder.as_deref().unwrap_or("unknown");
        let lock = blocked.lock.as_deref().unwrap_or("lock");
        return Some(Evidence {
            cause: Cause::Lock,
            // Few clients that wait for a moment cost little.
            score: 0.98 * (time * clients).sqrt(),
            words: format!(
                "{} sessions waited up to {:.1} s for a {lock}{relation} held by {holder}",
                blocked.waiting,
                blocked.end_s - blocked.start_s
            ),
        });
    }
    let raised = recording
        .lock_waits
        .as_ref()?
        .raised_in(dip, 0.25 * recording.clients)?;
    // Who held the lock is not known: perhaps the clients themselves, which is the workload's nature, unless they
    // hardly ever wait otherwise. What else would explain the dip has them wait for each other as well.
    let is_rare = raised.inside >= 0.5 * recording.clients && raised.usual <= 0.05 * recording.clients;
    Some(Evidence {
        cause: Cause::Lock,
        score: if is_rare { 0.52 } else { 0.4 },
        words: format!(
            "{:.1} clients waited for locks, usually {:.1}",
            raised.inside, raised.usual
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{DIP, calm, signal};
    use dyno_record::Blocked;

    fn blocked(waiting: u64, holder: Option<&str>) -> Recording {
        let mut recording = calm();
        recording.blocked.push(Blocked {
            start_s: 60.0,
            end_s: 63.0,
            waiting,
            holder: holder.map(str::to_owned),
            lock: None,
            relation: Some("tbl".to_owned()),
        });
        recording
    }

    #[test]
    fn a_lock_that_all_wait_for_is_the_cause() {
        let found = look(&blocked(8, Some("4711 psql")), DIP).unwrap();
        assert!(found.score > 0.9, "{found:?}");
        assert_eq!(
            found.words,
            "8 sessions waited up to 3.0 s for a lock on tbl held by 4711 psql"
        );
    }

    #[test]
    fn the_kind_of_lock_is_told_where_the_server_tells_it() {
        let mut recording = blocked(8, Some("connection 7"));
        recording.blocked[0].lock = Some("metadata lock".to_owned());
        let words = look(&recording, DIP).unwrap().words;
        assert!(
            words.contains("for a metadata lock on tbl held by connection 7"),
            "{words}"
        );
    }

    #[test]
    fn a_lock_that_one_of_eight_waits_for_is_not() {
        assert!(look(&blocked(1, Some("4711 psql")), DIP).unwrap().score < 0.4);
    }

    #[test]
    fn waiting_for_each_other_is_a_mention_unless_it_is_rare() {
        let mut recording = blocked(8, None);
        assert_eq!(look(&recording, DIP), None);
        recording.lock_waits = signal(1.0, 6.0);
        assert_eq!(look(&recording, DIP).unwrap().score, 0.4);
        recording.lock_waits = signal(0.1, 6.0);
        assert!(look(&recording, DIP).unwrap().score > 0.5);
    }
}
