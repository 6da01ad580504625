//! Tables in memory with columns of rare types, the same for all tests that read them.

use crate::instant::Instant;
use crate::rare::{Rare, RareValue};
use crate::value::{Column, Kind, Value};
use jiff::SignedDuration;
use jiff::civil::date;
use std::sync::Arc;

/// The columns: their names, their types, and the value of a row that has one.
fn columns() -> [(&'static str, Rare, Value); 19] {
    let place = RareValue::Place(70_000, 5, 131, 7);
    let nested = RareValue::Cursor(
        Arc::from([Column::new("N", Kind::Number), Column::new("V", Kind::Varchar)]),
        Arc::from([
            vec![Value::number(7), Value::text("seven")],
            vec![Value::number(8), Value::Null],
        ]),
    );
    [
        ("LONGS", Rare::Long, Value::text("a long text")),
        ("LONG_RAWS", Rare::LongRaw, Value::Raw(vec![0, 254, 255])),
        ("CLOBS", Rare::Clob, Value::Text("grün 漢 ".repeat(3000))),
        ("NCLOBS", Rare::Nclob, Value::text("grün 漢")),
        ("BLOBS", Rare::Blob, Value::Raw((0..=255).collect())),
        ("BFILES", Rare::Bfile, Value::text("file.txt")),
        ("JSONS", Rare::Json, Value::text("a document")),
        (
            "VECTORS",
            Rare::Vector,
            Value::Rare(RareValue::Vector(vec![1.5, -2.0, 0.0])),
        ),
        ("ROWIDS", Rare::Rowid, Value::Rare(place)),
        (
            "UROWIDS",
            Rare::Urowid,
            Value::Raw(vec![2, 4, 1, 0xc1, 2, 0xfe, 0, 0, 0, 0, 0, 0, 0]),
        ),
        ("MONTHS", Rare::IntervalYm, Value::Rare(RareValue::Months(-14))),
        (
            "DURATIONS",
            Rare::IntervalDs,
            Value::Rare(RareValue::Duration(SignedDuration::new(
                -(3 * 86_400 + 3661),
                -500_000_000,
            ))),
        ),
        (
            "LOCALS",
            Rare::TimestampLtz,
            Value::Time(date(2026, 11, 24).at(16, 15, 9, 500_000_000)),
        ),
        ("NCHARS", Rare::Nchar, Value::text("漢   ")),
        ("NVARCHARS", Rare::Nvarchar, Value::text("é€")),
        ("BOOLEANS", Rare::Boolean, Value::Rare(RareValue::Boolean(true))),
        ("XMLS", Rare::Xml, Value::text("<a>b</a>")),
        ("OBJECTS", Rare::Object, Value::Raw(vec![0x84, 1, 6, 2, 0xc1, 2])),
        ("CURSORS", Rare::Cursor, Value::Rare(nested)),
    ]
}

impl Instant {
    /// Queries that hold `from` and one of these words get so many rows with a column of a rare type between a number,
    /// `ID`, and a text, `TAIL`: `longs`, `long_raws`, `clobs`, `nclobs`, `blobs`, `bfiles`, `jsons`, `vectors`,
    /// `rowids`, `urowids`, `months`, `durations`, `locals`, `nchars`, `nvarchars`, `booleans`, `xmls`, `objects`,
    /// `cursors`. `rare` has them all. Every third row has NULL there, but a cursor is never NULL.
    #[must_use]
    pub fn with_rare(self, rows: i64) -> Self {
        let of = |chosen: &[(&str, Rare, Value)]| {
            let mut columns = vec![Column::new("ID", Kind::Number)];
            columns.extend(
                chosen
                    .iter()
                    .map(|(name, rare, _)| Column::new(name, Kind::Rare(*rare))),
            );
            columns.push(Column::new("TAIL", Kind::Varchar));
            let row = |id: i64| {
                let mut row = vec![Value::number(id)];
                row.extend(chosen.iter().map(|(_, rare, value)| match id % 3 {
                    0 if *rare != Rare::Cursor => Value::Null,
                    _ => value.clone(),
                }));
                row.push(Value::Text(format!("tail {id}")));
                row
            };
            (columns, (1..=rows).map(row).collect())
        };
        let all = columns();
        let mut instant = self;
        for column in &all {
            let (columns, rows) = of(std::slice::from_ref(column));
            instant = instant.answer(&format!("from {}", column.0), columns, rows);
        }
        let (columns, rows) = of(&all);
        let unknown = vec![
            Column::new("ID", Kind::Number),
            Column::new("OWNER", Kind::Rare(Rare::Unknown)),
        ];
        instant
            .answer("from rare", columns, rows)
            .answer("from unknown", unknown, Vec::new())
    }
}
