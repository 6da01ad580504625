//! How much room there is, as a finding.

use dyno_record::{Finding, Topic};
use std::path::Path;

/// With less than this no experiment can be made ready.
const TOO_LITTLE: u64 = 200_000_000;

/// The data of the larger experiments takes more.
const LITTLE: u64 = 5_000_000_000;

/// What so much room in a folder means for data.
#[must_use]
pub fn room_for_data(topic: Topic, subject: &str, folder: &Path, free_bytes: u64) -> Finding {
    let found = format!("{:.1} GB are free in {}", free_bytes as f64 / 1e9, folder.display());
    match free_bytes {
        LITTLE.. => Finding::ok(topic, subject, found),
        TOO_LITTLE.. => Finding::note(topic, subject, format!("{found}: not enough for large data"))
            .remedy("free some space, or keep to --size small"),
        _ => Finding::problem(topic, subject, format!("{found}: too little for any data")).remedy("free some space"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_record::Mark;

    #[test]
    fn little_room_is_said() {
        let marks = [100_000_000_000, 2_000_000_000, 1_000_000]
            .map(|bytes| room_for_data(Topic::Dyno, "room", Path::new("/x"), bytes).mark);
        assert_eq!(marks, [Mark::Ok, Mark::Note, Mark::Problem]);
    }
}
