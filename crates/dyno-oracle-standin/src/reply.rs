//! Replies, put together.

use crate::auth::Pair;
use crate::codec::{Writer, encode_date, encode_number, encode_timestamp, encode_timestamp_tz};
use crate::executor::OracleError;
use crate::options::Profile;
use crate::rare::{self, Form, Rare, RareValue};
use crate::request::Terms;
use crate::value::{Column, Kind, Value};
use jiff::civil::date;

/// The number of the character set AL32UTF8.
const UTF8: u16 = 873;
/// The code of "no more rows".
pub(crate) const NO_MORE_ROWS: u32 = 1403;

/// How the protocol is spoken.
pub(crate) fn protocol(writer: &mut Writer, profile: Profile, end_of_response: bool) {
    let mut compile = [0; 55];
    compile[0] = 6;
    compile[4] = 0xff;
    compile[7] = profile.field_version();
    compile[15] = 0x29;
    compile[27] = 1;
    compile[37] = 0x20;
    compile[40] = if end_of_response { 0x20 } else { 0 };
    let mut runtime = [0; 13];
    runtime[0] = 2;
    // Text of 32767 bytes.
    runtime[6] = 4;
    writer.raw(&[1, 6, 0]).raw(b"dyno's stand-in\0");
    writer.u16_little(UTF8).u8(1).u16_little(0);
    writer.u16(11).zeros(9).u16(2000);
    writer.bytes(&compile).bytes(&runtime);
}

/// How types are written: as the client proposes.
pub(crate) fn types(writer: &mut Writer) {
    writer.raw(&[2, 0, 0]);
}

/// Pairs of the log-in.
pub(crate) fn pairs(writer: &mut Writer, pairs: &[Pair]) {
    writer.u8(8).length(pairs.len());
    for pair in pairs {
        writer.optional_bytes(pair.key.as_bytes());
        writer.optional_bytes(pair.value.as_bytes()).number(pair.flags);
    }
}

/// The short end of a reply.
pub(crate) fn status(writer: &mut Writer, in_transaction: bool) {
    writer.u8(9).number(if in_transaction { 2 } else { 0 }).number(0);
}

/// The columns of a query.
pub(crate) fn describe(writer: &mut Writer, terms: Terms, columns: &[Column]) {
    writer.raw(&[0x10, 0]);
    describe_columns(writer, terms, columns);
}

#[allow(clippy::cast_sign_loss, reason = "a scale below zero is its two's complement")]
fn describe_columns(writer: &mut Writer, terms: Terms, columns: &[Column]) {
    let row: u64 = columns.iter().map(|column| u64::from(column.size)).sum();
    writer.number(row).length(columns.len());
    if !columns.is_empty() {
        writer.u8(1);
    }
    for (position, column) in (1..).zip(columns) {
        let is_text = column.kind.is_text();
        writer.u8(column.kind.code());
        writer.u8(if column.kind == Kind::Number { 0x80 } else { 0 });
        writer.u8(column.precision);
        // Types whose scale is a number as others are, to clients that want it so.
        let scaled = matches!(column.kind.code(), 2 | 180 | 181 | 183 | 231);
        if !terms.lengths && scaled {
            writer.integer(i64::from(column.scale));
        } else {
            writer.u8(column.scale as u8);
        }
        let size = u64::from(column.size);
        writer.number(if is_text { size * 4 } else { size });
        let object = match column.kind {
            Kind::Rare(rare) => rare.object(),
            _ => None,
        };
        let (identifier, schema, name) = object.unwrap_or_default();
        writer.zeros(2).optional_bytes(identifier);
        writer.number(u64::from(object.is_some()));
        let (form, characters) = match column.kind {
            Kind::Rare(rare) => rare.characters(),
            _ if is_text => (1, u64::from(UTF8)),
            _ => (0, 0),
        };
        writer.number(characters).u8(form);
        writer.number(if form > 0 { size } else { 0 });
        if terms.field_version >= 8 {
            writer.number(0);
        }
        writer.u8(u8::from(column.nullable));
        let own = column.name.as_bytes();
        writer
            .u8(u8::try_from(own.len()).unwrap_or(u8::MAX))
            .optional_bytes(own);
        writer.optional_bytes(schema.as_bytes()).optional_bytes(name.as_bytes());
        writer.number(position).number(0);
        if terms.field_version >= 17 {
            writer.zeros(2);
        }
        if terms.field_version >= 20 {
            writer.number(0);
        }
        if terms.field_version >= 24 {
            let is_vector = column.kind == Kind::Rare(Rare::Vector);
            // Any number of dimensions, 32-bit floats.
            writer
                .number(0)
                .u8(if is_vector { 2 } else { 0 })
                .u8(u8::from(is_vector));
        }
    }
    writer.optional_bytes(&encode_date(date(2026, 1, 1).at(0, 0, 0, 0)));
    writer.zeros(5);
}

/// What comes before rows.
pub(crate) fn row_header(writer: &mut Writer, asked: usize) {
    writer.raw(&[6, 0]).zeros(2).length(asked).zeros(3);
}

/// What writes rows.
pub(crate) struct RowWriter<'a> {
    pub(crate) terms: Terms,
    pub(crate) columns: &'a [Column],
    /// In what form the columns are wanted; none: nobody has said so.
    pub(crate) forms: &'a [Form],
    /// The numbers of the cursors in the rows to come.
    pub(crate) nested: std::vec::IntoIter<u32>,
}

impl RowWriter<'_> {
    /// Writes a row. With the one before it, values that repeat it are left out.
    pub(crate) fn write(&mut self, writer: &mut Writer, values: &[Value], before: Option<&[Value]>) {
        // Each cursor is another one.
        let is_cursor = |at: usize| matches!(values.get(at), Some(Value::Rare(RareValue::Cursor(..))));
        let repeats = |at: usize| before.is_some_and(|before| !is_cursor(at) && before.get(at) == values.get(at));
        let sent = (0..values.len()).filter(|at| !repeats(*at)).count();
        if sent < values.len() {
            let mut bits = vec![0; values.len().div_ceil(8)];
            for at in (0..values.len()).filter(|at| !repeats(*at)) {
                bits[at / 8] |= 1 << (at % 8);
            }
            writer.u8(0x15).length(sent).raw(&bits);
        }
        writer.u8(7);
        for (at, (column, value)) in self.columns.iter().zip(values).enumerate() {
            if repeats(at) {
                continue;
            }
            let Kind::Rare(rare) = column.kind else {
                self::value(writer, column, value);
                continue;
            };
            let mut cursor = 0;
            if let Value::Rare(RareValue::Cursor(columns, _)) = value {
                cursor = self.nested.next().unwrap_or_default();
                writer.u8(4);
                describe_columns(writer, self.terms, columns);
            }
            rare::write(writer, rare, value, self.forms.get(at).copied(), cursor);
        }
    }
}

fn value(writer: &mut Writer, column: &Column, value: &Value) {
    // A column of this size is always null, and nothing is sent for it.
    if column.size == 0 {
        return;
    }
    match (column.kind, value) {
        (Kind::Number, Value::Number(text)) => match encode_number(text) {
            Some(bytes) => writer.bytes(&bytes),
            None => writer.u8(0),
        },
        (Kind::Date, Value::Time(at)) => writer.bytes(&encode_date(*at)),
        (Kind::Timestamp, Value::Time(at)) => writer.bytes(&encode_timestamp(*at)),
        (Kind::TimestampTz, Value::Time(at)) => writer.bytes(&encode_timestamp_tz(*at)),
        (Kind::Double, Value::Double(number)) => {
            let bits = number.to_bits();
            let bits = if bits >> 63 == 1 { !bits } else { bits | (1 << 63) };
            writer.bytes(&bits.to_be_bytes())
        }
        (Kind::Varchar | Kind::Char, Value::Text(text)) => writer.bytes(text.as_bytes()),
        (Kind::Raw, Value::Raw(bytes)) => writer.bytes(bytes),
        // An executor whose values are not those of its columns.
        _ => writer.u8(0),
    };
}

/// What is returned beside rows: the cursor, and rows changed by each execution.
pub(crate) fn returned(writer: &mut Writer, cursor: u32, counts: Option<&[u64]>) {
    writer
        .u8(8)
        .number(6)
        .zeros(2)
        .number(u64::from(cursor))
        .zeros(3)
        .zeros(3);
    if let Some(counts) = counts {
        writer.length(counts.len());
        for count in counts {
            writer.number(*count);
        }
    }
}

/// That binds of a block are only read.
pub(crate) fn block_binds(writer: &mut Writer, count: usize) {
    writer.raw(&[0x0b, 0]).length(count).number(0).number(1).zeros(3);
    writer.raw(&vec![0x20; count]);
}

/// The long end of a reply, with or without an error.
#[derive(Default)]
pub(crate) struct End<'a> {
    pub(crate) in_transaction: bool,
    pub(crate) sequence: u8,
    pub(crate) cursor: u32,
    pub(crate) rows: u64,
    pub(crate) error: Option<&'a OracleError>,
    pub(crate) batch: &'a [(usize, OracleError)],
}

impl End<'_> {
    pub(crate) fn write(&self, writer: &mut Writer, terms: Terms) {
        let code = u64::from(self.error.map_or(0, |error| error.code));
        writer.u8(4).number(if self.in_transaction { 2 } else { 0 }).number(0);
        writer.number(self.rows & 0xffff_ffff).number(code.min(0xffff)).zeros(2);
        writer.number(u64::from(self.cursor)).number(0).zeros(6);
        // A row's id, of which there is none.
        writer.zeros(5);
        writer.number(0).u8(0).u8(self.sequence).zeros(3);
        if self.batch.is_empty() {
            writer.zeros(3);
        } else {
            self.write_batch(writer);
        }
        writer.number(code).number(self.rows);
        if terms.field_version >= 14 {
            writer.zeros(2);
        }
        if let Some(error) = self.error {
            writer.bytes(format!("{}\n", error.message).as_bytes());
        }
    }

    fn write_batch(&self, writer: &mut Writer) {
        writer.length(self.batch.len()).u8(1);
        for (_, error) in self.batch {
            writer.number(u64::from(error.code));
        }
        writer.length(self.batch.len()).u8(1);
        for (row, _) in self.batch {
            writer.length(*row);
        }
        writer.length(self.batch.len()).u8(1);
        for (_, error) in self.batch {
            let message = error.message.as_bytes();
            writer.length(message.len()).bytes(message).zeros(2);
        }
    }
}
