//! Tests of sysbench's that are not about databases.

/// Their names.
const NAMES: [&str; 5] = ["fileio", "cpu", "memory", "threads", "mutex"];

/// What to say of a test that is not about databases; `None`: this may be one that is.
#[must_use]
pub fn refusal(test: &str) -> Option<String> {
    NAMES.contains(&test).then(|| {
        format!(
            "The '{test}' test is not about databases, and dyno measures only those: run it with sysbench's own program"
        )
    })
}
