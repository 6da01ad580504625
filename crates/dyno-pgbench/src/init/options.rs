//! What an initialization is to do.

/// How `pgbench_accounts` is divided into partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionMethod {
    /// By ranges of the account number.
    Range,
    /// By a hash of the account number.
    Hash,
}

/// Options of `pgbench -i`, checked as far as they can be without a server.
#[derive(Clone, Debug)]
pub struct InitOptions {
    /// Steps in the order to be taken: letters of `dtgGvpf`, or spaces.
    pub steps: String,
    /// Scale: 100,000 accounts, 10 tellers and 1 branch each. 1 to 2³¹−1.
    pub scale: i64,
    /// Fill factor of the tables but history, 10 to 100.
    pub fillfactor: u8,
    /// Report progress every five seconds instead of every 100,000 rows.
    pub quiet: bool,
    /// Leave the vacuum step out wherever `steps` has it.
    pub no_vacuum: bool,
    /// Append the foreign key step if `steps` lacks it.
    pub foreign_keys: bool,
    /// Tablespace of the tables.
    pub tablespace: Option<String>,
    /// Tablespace of the primary keys.
    pub index_tablespace: Option<String>,
    /// Tables that skip the write-ahead log.
    pub unlogged: bool,
    /// Partitions of accounts; 0: not partitioned.
    pub partitions: u32,
    /// How to partition; `Range` unless given.
    pub partition_method: Option<PartitionMethod>,
    /// Connections that load accounts and build keys; 1 does as pgbench does.
    pub load_jobs: usize,
    /// Whether progress lines name the table, as in 17 and later.
    pub progress_names_table: bool,
    /// Whether progress lines replace each other (stderr is a terminal) instead of following each other.
    pub progress_in_place: bool,
}

impl Default for InitOptions {
    /// What `pgbench -i` does without further options.
    fn default() -> Self {
        Self {
            steps: "dtgvp".to_owned(),
            scale: 1,
            fillfactor: 100,
            quiet: false,
            no_vacuum: false,
            foreign_keys: false,
            tablespace: None,
            index_tablespace: None,
            unlogged: false,
            partitions: 0,
            partition_method: None,
            load_jobs: 1,
            progress_names_table: false,
            progress_in_place: false,
        }
    }
}
