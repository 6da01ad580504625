//! The scripts that pgbench brings along.

/// A built-in script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Name for `-b`.
    pub name: &'static str,
    /// What reports call it.
    pub description: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The draws that all but the read-only script begin with; a seed gives the same values with either.
macro_rules! draws {
    () => {
        "\\set aid random(1, 100000 * :scale)\n\
         \\set bid random(1, 1 * :scale)\n\
         \\set tid random(1, 10 * :scale)\n\
         \\set delta random(-5000, 5000)\n"
    };
}

/// All of them, in the order in which they are listed.
pub const BUILTINS: [Builtin; 3] = [
    Builtin {
        name: "tpcb-like",
        description: "<builtin: TPC-B (sort of)>",
        text: concat!(
            draws!(),
            "BEGIN;\n\
             UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
             SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\
             UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n\
             UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n\
             INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, \
             CURRENT_TIMESTAMP);\n\
             END;\n"
        ),
    },
    Builtin {
        name: "simple-update",
        description: "<builtin: simple update>",
        text: concat!(
            draws!(),
            "BEGIN;\n\
             UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
             SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\
             INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, \
             CURRENT_TIMESTAMP);\n\
             END;\n"
        ),
    },
    Builtin {
        name: "select-only",
        description: "<builtin: select only>",
        text: "\\set aid random(1, 100000 * :scale)\n\
               SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n",
    },
];

/// Why a name stands for no built-in script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuiltinError {
    /// None begins so.
    #[error("no builtin script found for name \"{0}\"")]
    Unknown(String),
    /// Several begin so.
    #[error("ambiguous builtin name: {count} builtin scripts found for prefix \"{prefix}\"")]
    Ambiguous {
        /// How many.
        count: usize,
        /// As given.
        prefix: String,
    },
}

/// The script whose name begins with `prefix`.
///
/// # Errors
/// None or several do.
pub fn find(prefix: &str) -> Result<Builtin, BuiltinError> {
    let found: Vec<&Builtin> = BUILTINS
        .iter()
        .filter(|builtin| builtin.name.starts_with(prefix))
        .collect();
    match found[..] {
        [only] => Ok(*only),
        [] => Err(BuiltinError::Unknown(prefix.to_owned())),
        _ => Err(BuiltinError::Ambiguous {
            count: found.len(),
            prefix: prefix.to_owned(),
        }),
    }
}

/// The list that `-b list` prints, and that follows an error about a name.
pub fn listing() -> String {
    let mut text = "Available builtin scripts:\n".to_owned();
    for builtin in BUILTINS {
        text += &format!("  {:>13}: {}\n", builtin.name, builtin.description);
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_be_abbreviated() {
        assert_eq!(find("se").map(|builtin| builtin.name), Ok("select-only"));
        assert_eq!(find("tpcb-like").map(|builtin| builtin.name), Ok("tpcb-like"));
        let text = |name: &str| find(name).unwrap_err().to_string();
        assert_eq!(text("x"), "no builtin script found for name \"x\"");
        assert_eq!(
            text("s"),
            "ambiguous builtin name: 2 builtin scripts found for prefix \"s\""
        );
    }
}
