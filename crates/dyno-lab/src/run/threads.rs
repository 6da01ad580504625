//! How a load's threads work, as a campaign's record keeps it.

use dyno_archive::CampaignRecord;
use dyno_engine::ThreadOptions;

/// `record` with threads that work like this.
pub(super) fn kept(record: CampaignRecord, threads: &ThreadOptions) -> CampaignRecord {
    CampaignRecord {
        transport: threads.transport.to_string(),
        cpus: threads.cpus.to_string(),
        ..record
    }
}

/// How the load's threads are to work; as is usual where this dyno does not know what is meant.
pub(super) fn of(record: &CampaignRecord) -> ThreadOptions {
    ThreadOptions {
        transport: record.transport.parse().unwrap_or_default(),
        cpus: record.cpus.parse().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::plan::Resolved;
    use jiff::Zoned;

    #[test]
    fn a_record_keeps_what_was_asked_for() {
        let experiment = Resolved::of_load("load".to_owned(), String::new(), Vec::new());
        let record = CampaignRecord::new(experiment, String::new(), Zoned::now(), 1, Vec::new());
        assert_eq!(of(&record), ThreadOptions::default());
        assert_eq!(kept(record.clone(), &ThreadOptions::default()), record);
        let threads = ThreadOptions {
            transport: "epoll".parse().unwrap(),
            cpus: "0-1,3".parse().unwrap(),
        };
        assert_eq!(of(&kept(record, &threads)), threads);
    }
}
