//! Which tables are shown of a load that has thousands of them.

use crate::figures::count;
use dyno_archive::summary::TableGrowth;
use std::cmp::Reverse;

/// More tables than this are not read.
const MOST_TABLES: usize = 20;

/// The tables as they are, or of too many the largest and all of them together.
pub(crate) fn largest(tables: &[TableGrowth]) -> Vec<TableGrowth> {
    if tables.len() <= MOST_TABLES {
        return tables.to_vec();
    }
    let mut largest = tables.to_vec();
    largest.sort_by_key(|table| Reverse(table.table_after_bytes.saturating_add(table.indexes_after_bytes)));
    largest.truncate(MOST_TABLES);
    let sum = |bytes: fn(&TableGrowth) -> u64| tables.iter().map(bytes).fold(0, u64::saturating_add);
    largest.push(TableGrowth {
        table: format!("all {}, including smaller ones", count(tables.len() as u64)),
        table_before_bytes: sum(|table| table.table_before_bytes),
        table_after_bytes: sum(|table| table.table_after_bytes),
        indexes_before_bytes: sum(|table| table.indexes_before_bytes),
        indexes_after_bytes: sum(|table| table.indexes_after_bytes),
    });
    largest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_tables_the_largest_are_shown_and_all_are_summed_up() {
        let table = |number: u64| TableGrowth {
            table: format!("t{number}"),
            table_before_bytes: 0,
            table_after_bytes: number,
            indexes_before_bytes: 0,
            indexes_after_bytes: 1,
        };
        let tables: Vec<TableGrowth> = (1..=100).map(table).collect();
        let shown = largest(&tables);
        assert_eq!((shown.len(), shown[0].table.as_str()), (MOST_TABLES + 1, "t100"));
        let all = &shown[MOST_TABLES];
        assert_eq!((all.table_after_bytes, all.indexes_after_bytes), (5_050, 100));
        assert_eq!(all.table, "all 100, including smaller ones");
        assert_eq!(largest(&tables[..MOST_TABLES]), tables[..MOST_TABLES]);
    }
}
