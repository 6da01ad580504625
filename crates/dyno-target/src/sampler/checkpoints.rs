//! Checkpoints as the counters show them, for servers whose log is not ours to read.
//!
//! A checkpoint counts as timed or requested when it begins; its times for writing and syncing are added when it is complete (PostgreSQL's
//! `CheckpointerMain` and `LogCheckpointEnd`). In between lies the checkpoint, as exact as the samples are close.

use super::{Checkpoint, Happening, Moment, Sink};

/// The names of each counter: in `pg_stat_checkpointer` from version 17 on, in `pg_stat_bgwriter` before.
const COUNTERS: [[&str; 2]; 5] = [
    ["pg_stat_checkpointer.num_timed", "pg_stat_bgwriter.checkpoints_timed"],
    ["pg_stat_checkpointer.num_requested", "pg_stat_bgwriter.checkpoints_req"],
    [
        "pg_stat_checkpointer.write_time",
        "pg_stat_bgwriter.checkpoint_write_time",
    ],
    [
        "pg_stat_checkpointer.sync_time",
        "pg_stat_bgwriter.checkpoint_sync_time",
    ],
    [
        "pg_stat_checkpointer.buffers_written",
        "pg_stat_bgwriter.buffers_checkpoint",
    ],
];

/// Follows the counters from sample to sample.
#[derive(Debug, Default)]
pub(super) struct CheckpointCounters {
    last: Option<(f64, [f64; COUNTERS.len()])>,
    open: Option<Checkpoint>,
}

impl CheckpointCounters {
    pub(super) fn advance(&mut self, moment: Moment, columns: &[String], numbers: &[Option<f64>], sink: &mut dyn Sink) {
        let at_s = moment.at_s();
        let mut now = [0.0; COUNTERS.len()];
        for (value, names) in now.iter_mut().zip(COUNTERS) {
            let column = columns.iter().position(|column| names.contains(&column.as_str()));
            let Some(number) = column.and_then(|column| numbers.get(column).copied().flatten()) else {
                return;
            };
            *value = number;
        }
        let Some((last_s, before)) = self.last.replace((at_s, now)) else {
            return;
        };
        let [timed, requested, write_ms, sync_ms, buffers]: [f64; COUNTERS.len()] =
            std::array::from_fn(|index| now[index] - before[index]);
        let began = (timed > 0.0 || requested > 0.0).then(|| Checkpoint {
            reason: if timed > 0.0 { "time" } else { "requested" }.to_owned(),
            start_s: last_s,
            buffers: Some(0),
            ..Checkpoint::default()
        });
        let completed = write_ms > 0.0 || sync_ms > 0.0;
        // What was under way has ended, or else the next could not begin.
        if began.is_some() && !completed {
            self.finish(sink);
        }
        let open = self.open.get_or_insert_with(|| began.clone().unwrap_or_default());
        if let Some(sum) = &mut open.buffers {
            *sum += buffers.max(0.0) as u64;
        }
        if completed {
            let (write_s, sync_s) = (write_ms / 1e3, sync_ms / 1e3);
            let known = !open.reason.is_empty();
            if !known {
                // It began before the samples did.
                "requested or time".clone_into(&mut open.reason);
            }
            let began_and_ended = began.is_some() && open.start_s >= last_s;
            if began_and_ended || !known {
                open.start_s = at_s - write_s - sync_s;
            }
            (open.end_s, open.write_s, open.sync_s) = (Some(at_s), Some(write_s), Some(sync_s));
            self.finish(sink);
        } else if open.reason.is_empty() {
            self.open = None;
        }
    }

    /// Tells of a checkpoint that is still going on, as far as is known.
    pub(super) fn finish(&mut self, sink: &mut dyn Sink) {
        if let Some(checkpoint) = self.open.take() {
            sink.event(Happening::Checkpoint(checkpoint));
        }
    }
}
