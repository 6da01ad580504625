//! Settings a server reports about itself, such as its version.

/// How much is kept per connection, in bytes; a PostgreSQL server reports about 350.
const MAX_BYTES: usize = 4096;

/// The reported settings, packed as `name NUL value NUL …`: with 10,000 connections a map each would weigh.
#[derive(Debug, Clone, Default)]
pub(super) struct ParameterStatus(Vec<u8>);

impl ParameterStatus {
    /// Takes a ParameterStatus message's body in, replacing an earlier value; one that is malformed or that no longer
    /// fits is left out.
    pub(super) fn report(&mut self, body: &[u8]) {
        let mut fields = body.split(|&byte| byte == 0);
        let (Some(name), Some(value), Some(b"")) = (fields.next(), fields.next(), fields.next()) else {
            return;
        };
        if let Some(old) = self.find(name) {
            self.0.drain(old);
        }
        if self.0.len() + name.len() + value.len() + 2 <= MAX_BYTES {
            for part in [name, b"\0", value, b"\0"] {
                self.0.extend_from_slice(part);
            }
        }
    }

    /// The value of a setting, if the server reported it.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let entry = self.0.get(self.find(name.as_bytes())?)?;
        let value = entry.get(name.len() + 1..entry.len() - 1)?;
        str::from_utf8(value).ok()
    }

    /// Gives back memory reserved while the reports came in.
    pub(super) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Where the entry of a setting stands.
    fn find(&self, name: &[u8]) -> Option<std::ops::Range<usize>> {
        let mut start = 0;
        let mut fields = self.0.split(|&byte| byte == 0);
        while let (Some(found), Some(value)) = (fields.next(), fields.next()) {
            let end = start + found.len() + value.len() + 2;
            if found == name {
                return Some(start..end);
            }
            start = end;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_report_counts() {
        let mut status = ParameterStatus::default();
        status.report(b"server_version\x0018.1\0");
        status.report(b"TimeZone\0UTC\0");
        status.report(b"empty\0\0");
        status.report(b"server_version\x0019\0");
        assert_eq!(status.get("server_version"), Some("19"));
        assert_eq!(status.get("TimeZone"), Some("UTC"));
        assert_eq!(status.get("empty"), Some(""));
        assert_eq!(status.get("UTC"), None);
        assert_eq!(status.get(""), None);
    }

    #[test]
    fn malformed_and_excessive_reports_are_left_out() {
        let mut status = ParameterStatus::default();
        status.report(b"");
        status.report(b"name");
        status.report(b"name\0value");
        assert_eq!(status.get("name"), None);
        for i in 0..10_000 {
            status.report(format!("setting{i}\0value\0").as_bytes());
        }
        assert_eq!(status.get("setting0"), Some("value"));
        assert_eq!(status.get("setting9999"), None);
        assert!(status.0.len() <= MAX_BYTES);
    }
}
