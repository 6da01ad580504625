//! What an archived run says of events of scripts in Lua that began again: its figures do not show them, as an event
//! whose error is ignored counts once, when it succeeds.

use dyno_archive::figures::counted;

/// What is to be known of a workload that had so many events begin again; nothing of none.
#[must_use]
pub fn begun_again(workload: &str, events: u64) -> Option<String> {
    let counted = counted(events, "event");
    (events > 0).then(|| {
        format!(
            "\"{workload}\": {counted}, the warm-up included, began again after an error that mysql_ignore_errors \
             names or that the script ignores; the latency of each holds all attempts."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_began_again_is_told() {
        assert_eq!(begun_again("main", 0), None);
        let told = begun_again("main", 3).unwrap();
        assert!(
            told.starts_with("\"main\": 3 events, the warm-up included, began again"),
            "{told}"
        );
        let told = begun_again("main", 1).unwrap();
        assert!(told.starts_with("\"main\": 1 event, "), "{told}");
    }
}
