//! The statements that make pgbench's tables, exactly as pgbench 15 sends them: the server's log and error messages
//! show them.

use super::options::{InitOptions, PartitionMethod};

/// Accounts per unit of scale.
pub(super) const ACCOUNTS: i64 = 100_000;
/// Tellers per unit of scale.
pub(super) const TELLERS: i64 = 10;

/// From this scale on account numbers are bigint: 2³¹ accounts would be reached at 21,475; pgbench chose a rounder
/// number.
const BIGINT_SCALE: i64 = 20_000;

pub(super) const BEGIN: &str = "begin";
pub(super) const COMMIT: &str = "commit";

pub(super) const DROP: &str =
    "drop table if exists pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";

pub(super) const TRUNCATE: &str = "truncate table pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";

pub(super) const VACUUM: [&str; 4] = [
    "vacuum analyze pgbench_branches",
    "vacuum analyze pgbench_tellers",
    "vacuum analyze pgbench_accounts",
    "vacuum analyze pgbench_history",
];

pub(super) const FOREIGN_KEYS: [&str; 5] = [
    "alter table pgbench_tellers add constraint pgbench_tellers_bid_fkey foreign key (bid) references pgbench_branches",
    "alter table pgbench_accounts add constraint pgbench_accounts_bid_fkey foreign key (bid) references \
     pgbench_branches",
    "alter table pgbench_history add constraint pgbench_history_bid_fkey foreign key (bid) references pgbench_branches",
    "alter table pgbench_history add constraint pgbench_history_tid_fkey foreign key (tid) references pgbench_tellers",
    "alter table pgbench_history add constraint pgbench_history_aid_fkey foreign key (aid) references pgbench_accounts",
];

/// A table and its primary key's column.
pub(super) const KEYS: [(&str, &str); 3] = [
    ("pgbench_branches", "bid"),
    ("pgbench_tellers", "tid"),
    ("pgbench_accounts", "aid"),
];

/// From this major version on a server refuses a partitioned table that is unlogged, and its pgbench makes only the
/// partitions so.
const NO_UNLOGGED_WHOLE_SINCE: u32 = 18;

fn unlogged(options: &InitOptions) -> &'static str {
    if options.unlogged { " unlogged" } else { "" }
}

/// The four tables, without partitions, for a server of this major version.
pub(super) fn create(options: &InitOptions, server_major: u32) -> [String; 4] {
    let aid = if options.scale >= BIGINT_SCALE {
        "aid bigint"
    } else {
        "aid    int"
    };
    let unlogged = if options.partitions > 0 && server_major >= NO_UNLOGGED_WHOLE_SINCE {
        ""
    } else {
        unlogged(options)
    };
    let fillfactor = format!(" with (fillfactor={})", options.fillfactor);
    let accounts_storage = match (options.partitions, options.partition_method) {
        (0, _) => fillfactor.clone(),
        (_, Some(PartitionMethod::Hash)) => " partition by hash (aid)".to_owned(),
        (_, Some(PartitionMethod::Range) | None) => " partition by range (aid)".to_owned(),
    };
    let tablespace = options
        .tablespace
        .as_ref()
        .map(|name| format!(" tablespace {}", identifier(name)))
        .unwrap_or_default();
    [
        (
            "history",
            format!("tid int,bid int,{aid},delta int,mtime timestamp,filler char(22)"),
            "",
        ),
        (
            "tellers",
            "tid int not null,bid int,tbalance int,filler char(84)".to_owned(),
            &fillfactor,
        ),
        (
            "accounts",
            format!("{aid} not null,bid int,abalance int,filler char(84)"),
            &accounts_storage,
        ),
        (
            "branches",
            "bid int not null,bbalance int,filler char(88)".to_owned(),
            &fillfactor,
        ),
    ]
    .map(|(name, columns, storage)| format!("create{unlogged} table pgbench_{name}({columns}){storage}{tablespace}"))
}

/// The partitions of accounts, in order; none if it has none.
pub(super) fn create_partitions(options: &InitOptions) -> impl Iterator<Item = String> {
    let partitions = i64::from(options.partitions);
    let unlogged = unlogged(options);
    let fillfactor = options.fillfactor;
    // The last partition may get less than the others, as with pgbench.
    let size = (ACCOUNTS * options.scale + partitions - 1) / partitions.max(1);
    (1..=partitions).map(move |number| {
        let values = match options.partition_method {
            Some(PartitionMethod::Hash) => format!("with (modulus {partitions}, remainder {})", number - 1),
            Some(PartitionMethod::Range) | None => {
                let bound = |before: i64, end: &str, open: bool| {
                    if open {
                        end.to_owned()
                    } else {
                        (before * size + 1).to_string()
                    }
                };
                format!(
                    "from ({}) to ({})",
                    bound(number - 1, "minvalue", number == 1),
                    bound(number, "maxvalue", number == partitions)
                )
            }
        };
        format!(
            "create{unlogged} table pgbench_accounts_{number}\n  partition of pgbench_accounts\n  for values \
             {values} with (fillfactor={fillfactor})"
        )
    })
}

/// Gives `table` its primary key.
pub(super) fn primary_key(table: &str, column: &str, options: &InitOptions) -> String {
    let tablespace = options
        .index_tablespace
        .as_ref()
        .map(|name| format!(" using index tablespace {}", identifier(name)))
        .unwrap_or_default();
    format!("alter table {table} add primary key ({column}){tablespace}")
}

/// Rows made by the server.
pub(super) fn generate(scale: i64) -> [String; 3] {
    [
        format!("insert into pgbench_branches(bid,bbalance) select bid, 0 from generate_series(1, {scale}) as bid"),
        format!(
            "insert into pgbench_tellers(tid,bid,tbalance) select tid, (tid - 1) / {TELLERS} + 1, 0 from \
             generate_series(1, {}) as tid",
            TELLERS * scale
        ),
        format!(
            "insert into pgbench_accounts(aid,bid,abalance,filler) select aid, (aid - 1) / {ACCOUNTS} + 1, 0, '' \
             from generate_series(1, {}) as aid",
            ACCOUNTS * scale
        ),
    ]
}

/// A name in quotes, as libpq quotes identifiers: always.
pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> InitOptions {
        InitOptions::default()
    }

    #[test]
    fn account_numbers_widen_at_20000() {
        let made = |scale| create(&InitOptions { scale, ..options() }, 15);
        assert!(made(19_999)[2].contains("(aid    int not null,"));
        assert!(made(20_000)[2].contains("(aid bigint not null,"));
        assert_eq!(
            made(20_000)[0],
            "create table pgbench_history(tid int,bid int,aid bigint,delta int,mtime timestamp,filler char(22))"
        );
    }

    #[test]
    fn storage_options_go_where_pgbench_puts_them() {
        let options = InitOptions {
            unlogged: true,
            fillfactor: 70,
            partitions: 2,
            tablespace: Some("a\"b".to_owned()),
            ..options()
        };
        let made = create(&options, 17);
        assert_eq!(
            made[2],
            "create unlogged table pgbench_accounts(aid    int not null,bid int,abalance int,filler char(84)) \
             partition by range (aid) tablespace \"a\"\"b\""
        );
        assert_eq!(
            made[3],
            "create unlogged table pgbench_branches(bid int not null,bbalance int,filler char(88)) with \
             (fillfactor=70) tablespace \"a\"\"b\""
        );
        assert!(made[0].ends_with("filler char(22)) tablespace \"a\"\"b\""));
        // The whole of a partitioned table cannot be unlogged there.
        assert!(create(&options, 18).iter().all(|sql| sql.starts_with("create table ")));
        assert!(create_partitions(&options).all(|sql| sql.starts_with("create unlogged table ")));
    }

    #[test]
    fn ranges_are_of_equal_size_and_open_at_the_ends() {
        let bounds = |scale, partitions| {
            let options = InitOptions {
                scale,
                partitions,
                ..options()
            };
            let all: Vec<String> = create_partitions(&options)
                .map(|sql| {
                    sql.split(" for values ")
                        .nth(1)
                        .unwrap()
                        .split(" with")
                        .next()
                        .unwrap()
                        .to_owned()
                })
                .collect();
            all
        };
        assert_eq!(bounds(1, 0), Vec::<String>::new());
        assert_eq!(bounds(1, 1), ["from (minvalue) to (maxvalue)"]);
        assert_eq!(
            bounds(1, 3),
            [
                "from (minvalue) to (33335)",
                "from (33335) to (66669)",
                "from (66669) to (maxvalue)"
            ]
        );
        let hashed = InitOptions {
            partitions: 2,
            partition_method: Some(PartitionMethod::Hash),
            unlogged: true,
            ..options()
        };
        assert_eq!(
            create_partitions(&hashed).last().unwrap(),
            "create unlogged table pgbench_accounts_2\n  partition of pgbench_accounts\n  for values with (modulus \
             2, remainder 1) with (fillfactor=100)"
        );
    }
}
