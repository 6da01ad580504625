//! How much disk a plan takes, estimated without a server: for the order of magnitude, before anything is made.

use dyno_archive::plan::{Data, Fill, Resolved};
use dyno_record::Storage;
use indexmap::IndexMap;

/// An entry of an index on a number, with its pointer, in pages that are nine tenths full.
const INDEX_ENTRY_BYTES: u64 = 22;
/// A text of which nothing is known.
const TEXT_BYTES: u64 = 32;

/// A row of sysbench's tables: two numbers, and texts of 120 and 60 characters.
const SYSBENCH_ROW_BYTES: u64 = 4 + 4 + 121 + 61;

/// About how many bytes the tables of `fill` and their indexes take once, and those that one of dyno's own workloads in
/// Lua prepares. What `setup`, `finish` and scripts of others fill is not seen.
#[must_use]
pub fn data_bytes(data: &Data, storage: Storage) -> u64 {
    let sql = format!("{}\n{}", data.setup, data.finish).to_lowercase();
    let of = |fill: &Fill| {
        let columns: u64 = fill
            .columns
            .iter()
            .map(|(column, expression)| column_bytes(&sql, column, expression))
            .sum();
        let row = storage.row_bytes + columns.next_multiple_of(8);
        let indexes = indexes(&sql, &fill.table, storage.is_clustered);
        fill.rows.saturating_mul(row + indexes * INDEX_ENTRY_BYTES)
    };
    let filled = data.fill.iter().map(of).fold(0, u64::saturating_add);
    filled.saturating_add(prepared(data).map_or(0, |prepared| prepared.bytes(storage)))
}

/// How many rows a script prepares, as far as [`data_bytes`] sees them.
#[must_use]
pub fn prepared_rows(data: &Data) -> u64 {
    prepared(data).map_or(0, |prepared| prepared.rows)
}

/// Sysbench's tables.
struct Prepared {
    /// Of all tables.
    rows: u64,
    /// Whether there is an index beside that on the id.
    has_secondary: bool,
}

impl Prepared {
    fn bytes(&self, storage: Storage) -> u64 {
        let row = storage.row_bytes + SYSBENCH_ROW_BYTES.next_multiple_of(8);
        let indexes = u64::from(self.has_secondary) + u64::from(!storage.is_clustered);
        self.rows.saturating_mul(row + indexes * INDEX_ENTRY_BYTES)
    }
}

/// What the command `prepare` of one of dyno's own workloads makes, or of a script that shares their module; `None`:
/// nothing is prepared, or nobody knows what.
fn prepared(data: &Data) -> Option<Prepared> {
    let script = &data.prepare.as_ref()?.script;
    let name = script.script.script_name.as_str();
    let option = |name: &str| script.lua.options.get(name);
    let number = |name: &str, usual: u64| match option(name) {
        // Below zero there is nothing to be made.
        Some(value) => value.to_float().map_or(usual, |number| number.max(0.0) as u64),
        None => usual,
    };
    let is_off = |name: &str| {
        let given = option(name).map(ToString::to_string);
        given.is_some_and(|text| matches!(text.as_str(), "off" | "false" | "0"))
    };
    let (tables, rows, has_secondary) = match name {
        // Its tables are made empty.
        "bulk_insert" => return None,
        // Those of sysbench 0.5.
        "oltp" | "parallel_prepare" => ("oltp_tables_count", "oltp_table_size", true),
        _ if !script.lua.modules.contains_key("oltp_common") => return None,
        _ => ("tables", "table_size", !is_off("create_secondary")),
    };
    // As in sysbench: where it draws the ids, there is nothing to begin with.
    let is_empty = name == "oltp_insert" && is_off("auto_inc");
    Some(Prepared {
        rows: match is_empty {
            true => 0,
            false => number(tables, 1).saturating_mul(number(rows, 10_000)),
        },
        has_secondary,
    })
}

/// How many indexes `sql` makes beside a table, as far as that is written in the usual way.
fn indexes(sql: &str, table: &str, is_clustered: bool) -> u64 {
    let table = table.to_lowercase();
    let makes = |statement: &str| {
        let words: Vec<_> = statement
            .split(|c: char| c.is_whitespace() || "(),\"".contains(c))
            .collect();
        let index = statement.contains(" index ") || statement.contains("unique");
        let index = index || (!is_clustered && statement.contains("primary key"));
        index && words.contains(&table.as_str())
    };
    sql.split(';').filter(|statement| makes(statement)).count() as u64
}

/// The width of a column: by the type that `sql` gives a column of that name, else by the expression that fills it.
fn column_bytes(sql: &str, column: &str, expression: &str) -> u64 {
    let column = column.to_lowercase();
    let mut words = sql
        .split(|c: char| c.is_whitespace() || "(),;\"".contains(c))
        .filter(|word| !word.is_empty());
    let mut kind = None;
    while let Some(word) = words.next() {
        if word == column
            && let Some(bytes) = words
                .clone()
                .next()
                .and_then(|kind| type_bytes(kind, words.clone().nth(1), expression))
        {
            kind = Some(bytes);
            break;
        }
    }
    kind.unwrap_or_else(|| text_bytes(expression))
}

/// The width of a value of a type; `None` if the word is none. `length` is the word after it.
fn type_bytes(kind: &str, length: Option<&str>, expression: &str) -> Option<u64> {
    let bytes = match kind {
        "bool" | "boolean" => 1,
        "smallint" | "int2" => 2,
        "int" | "integer" | "int4" | "serial" | "real" | "float4" | "date" => 4,
        "bigint" | "int8" | "bigserial" | "double" | "float8" | "timestamp" | "timestamptz" | "numeric" | "decimal" => {
            8
        }
        "uuid" => 16,
        // Padded to its length whatever is filled in.
        "char" | "character" => length
            .and_then(|length| length.parse::<u64>().ok())
            .map_or(2, |length| length + 1),
        "text" | "varchar" | "json" | "jsonb" | "bytea" => text_bytes(expression),
        _ => return None,
    };
    Some(bytes)
}

/// The width of the text that an expression gives.
fn text_bytes(expression: &str) -> u64 {
    let expression = expression.trim();
    let literal = expression.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    match literal {
        Some(literal) => literal.len() as u64 + 1,
        None => TEXT_BYTES,
    }
}

/// About how many bytes a run leaves in the archive.
#[must_use]
pub fn archive_bytes(experiment: &Resolved) -> u64 {
    // As runs were seen to leave them: a row of intervals and a histogram per tag and interval, and a row of each
    // sampler per second.
    const INTERVAL_BYTES: u64 = 200;
    const HISTOGRAM_BYTES: u64 = 700;
    const SAMPLE_BYTES: u64 = 6_000;
    let lasts_s = experiment.duration().unwrap_or_default().as_secs_f64();
    let intervals = (lasts_s / experiment.interval.as_secs_f64().max(0.01)).ceil() as u64;
    // What a script in Lua executes is not known beforehand: about as much as those that come with dyno.
    const LUA_STATEMENTS: u64 = 10;
    // The transactions of a workload and the statements of its scripts, which end with semicolons.
    let tags = |workload: &dyno_archive::plan::Workload| {
        if workload.scripts.lua().is_some() {
            return 1 + LUA_STATEMENTS;
        }
        let scripts = workload.scripts.iter();
        1 + scripts
            .map(|(script, _)| script.script.matches(';').count() as u64)
            .sum::<u64>()
    };
    let tags: u64 = experiment.workloads.iter().map(tags).sum();
    let rows = experiment.workloads.len() as u64 * INTERVAL_BYTES + tags * HISTOGRAM_BYTES;
    intervals
        .saturating_mul(rows)
        .saturating_add(lasts_s as u64 * SAMPLE_BYTES)
}

/// The different sets of data of some experiments, each with the first that needs it.
#[must_use]
pub fn data_sets<'a>(experiments: impl IntoIterator<Item = &'a Resolved>) -> Vec<&'a Resolved> {
    let mut sets: IndexMap<String, &Resolved> = IndexMap::new();
    for experiment in experiments {
        let data = &experiment.data;
        let same = serde_json::to_string(&(
            &experiment.target,
            &experiment.locale,
            &data.setup,
            &data.fill,
            &data.prepare,
            &data.finish,
        ));
        sets.entry(same.unwrap_or_default()).or_insert(experiment);
    }
    sets.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_table_is_as_large_as_published() {
        let experiment = dyno_lab::experiment::find("pk-update").unwrap();
        let plan = experiment
            .plan(dyno_archive::plan::Size::Full, &[], None, 1, 2)
            .unwrap();
        let run = &plan.cells[0].experiment;
        let heap = Storage {
            row_bytes: 28,
            is_clustered: false,
            makes_copies: true,
        };
        let megabytes = data_bytes(&run.data, heap) / (1 << 20);
        // 3,634 MB and an index of 1,063 MB.
        assert!((4_230..5_160).contains(&megabytes), "{megabytes}");
    }

    #[test]
    fn what_own_workloads_prepare_is_known() {
        let data = |text: &str| {
            let text = format!("title = \"t\"\n[data]\n{text}\n[[workload]]\nscript = \"select 1;\"\n");
            let path = std::path::Path::new("t.toml");
            let experiment = dyno_lab::experiment::Experiment::parse(path, &text).unwrap();
            let mut plan = experiment
                .plan(dyno_archive::plan::Size::Full, &[], None, 1, 2)
                .unwrap();
            plan.cells.remove(0).experiment.data
        };
        let clustered = Storage {
            row_bytes: 18,
            is_clustered: true,
            makes_copies: false,
        };
        let four = data("lua = \"oltp_read_write\"\noptions = { tables = 4, table_size = 250_000 }");
        assert_eq!(prepared_rows(&four), 1_000_000);
        // As MariaDB was seen to keep them: 225 bytes a row without the index.
        let megabytes = data_bytes(&four, clustered) / (1 << 20);
        assert!((190..260).contains(&megabytes), "{megabytes}");
        let bare = data("lua = \"oltp_read_write\"\noptions = { create_secondary = false }");
        assert_eq!(data_bytes(&bare, clustered), 10_000 * (18 + 192));
        let old = data("lua = \"oltp\"\noptions = { oltp-tables-count = 3, oltp-table-size = 50 }");
        assert_eq!(prepared_rows(&old), 150);
        assert_eq!(prepared_rows(&data("lua = \"bulk_insert\"")), 0);
    }

    #[test]
    fn widths_follow_the_types() {
        let sql = "create table t (id bigint, filler char(84), note text, t_at timestamp); create index on t (id)";
        let widths = [
            ("id", "row"),
            ("filler", "''"),
            ("note", "'abc'"),
            ("t_at", "now()"),
            ("other", "x"),
        ];
        let widths = widths.map(|(column, expression)| column_bytes(sql, column, expression));
        assert_eq!(widths, [8, 85, 4, 8, 32]);
        assert_eq!((indexes(sql, "T", false), indexes(sql, "u", false)), (1, 0));
        let sql = "create table t (id int); alter table t add primary key (id); alter table t add unique (id)";
        assert_eq!((indexes(sql, "t", false), indexes(sql, "t", true)), (2, 1));
    }
}
