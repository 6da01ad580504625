//! The steps of an initialization, one letter each.

use super::InitError;

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `d`: drop pgbench's tables.
    Drop,
    /// `t`: create them.
    Create,
    /// `g`: fill them with rows made here.
    GenerateClientSide,
    /// `G`: fill them with rows made by the server.
    GenerateServerSide,
    /// `v`: vacuum and analyze.
    Vacuum,
    /// `p`: primary keys.
    PrimaryKeys,
    /// `f`: foreign keys.
    ForeignKeys,
}

impl Step {
    /// Reads letters; spaces mean nothing.
    ///
    /// # Errors
    /// There is no character at all, or another one.
    pub fn parse_all(letters: &str) -> Result<Vec<Self>, InitError> {
        if letters.is_empty() {
            return Err(InitError::NoSteps);
        }
        letters
            .chars()
            .filter(|letter| *letter != ' ')
            .map(Self::parse)
            .collect()
    }

    fn parse(letter: char) -> Result<Self, InitError> {
        Ok(match letter {
            'd' => Self::Drop,
            't' => Self::Create,
            'g' => Self::GenerateClientSide,
            'G' => Self::GenerateServerSide,
            'v' => Self::Vacuum,
            'p' => Self::PrimaryKeys,
            'f' => Self::ForeignKeys,
            _ => return Err(InitError::UnknownStep { letter }),
        })
    }

    /// The name in the closing sentence.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop tables",
            Self::Create => "create tables",
            Self::GenerateClientSide => "client-side generate",
            Self::GenerateServerSide => "server-side generate",
            Self::Vacuum => "vacuum",
            Self::PrimaryKeys => "primary keys",
            Self::ForeignKeys => "foreign keys",
        }
    }

    /// What is said when it begins.
    pub(super) fn announcement(self) -> &'static str {
        match self {
            Self::Drop => "dropping old tables...\n",
            Self::Create => "creating tables...\n",
            Self::GenerateClientSide => "generating data (client-side)...\n",
            Self::GenerateServerSide => "generating data (server-side)...\n",
            Self::Vacuum => "vacuuming...\n",
            Self::PrimaryKeys => "creating primary keys...\n",
            Self::ForeignKeys => "creating foreign keys...\n",
        }
    }

    /// In what state the tables are when it ends early; `several` connections were at work.
    pub(super) fn interrupted(self, several: bool) -> &'static str {
        match self {
            Self::Drop => "the old tables are still there",
            Self::Create => "some of the tables may be there, without rows",
            Self::GenerateClientSide if several => {
                "branches and tellers may be filled and accounts may lack rows or be empty"
            }
            Self::GenerateClientSide | Self::GenerateServerSide => "the tables hold the rows they held before it",
            Self::Vacuum => "the rows are complete, but not all tables have been vacuumed and analyzed",
            Self::PrimaryKeys => "the rows are complete, but primary keys may be missing",
            Self::ForeignKeys => "rows and primary keys are complete, but foreign keys may be missing",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_letters_and_spaces() {
        use Step::*;
        let all = Step::parse_all(" dt gGv pf").unwrap();
        assert_eq!(
            all,
            [
                Drop,
                Create,
                GenerateClientSide,
                GenerateServerSide,
                Vacuum,
                PrimaryKeys,
                ForeignKeys
            ]
        );
        assert_eq!(Step::parse_all(" ").unwrap(), []);
    }

    #[test]
    fn refuses_what_is_no_step_as_pgbench_words_it() {
        let error = Step::parse_all("dx").unwrap_err();
        assert_eq!(error.to_string(), "unrecognized initialization step \"x\"");
        assert_eq!(error.detail().unwrap(), "Allowed step characters are: \"dtgGvpf\".");
        assert_eq!(
            Step::parse_all("").unwrap_err().to_string(),
            "no initialization steps specified"
        );
    }
}
