//! What a client binds: descriptions, and rows of values.

use crate::codec::{Flaw, Reader, decode_number, decode_time, text};
use crate::rare::Form;
use crate::request::Terms;
use crate::value::{Kind, Value};

/// Values that may be longer come behind all others of their row.
const LONG: u64 = 32_767;
/// In a description's flags: a value may come with its locator.
const WITH_VALUE: i64 = 0x200_0000;
/// Text in UTF-16, as of NVARCHAR2.
const NATIONAL: u8 = 2;

/// A bind as it was described.
#[derive(Clone, Debug)]
pub(crate) struct Bind {
    pub(crate) kind: Kind,
    size: u64,
    form: u8,
}

/// A description as it was sent.
struct Described {
    code: u8,
    size: u64,
    flags: i64,
    form: u8,
    /// How much of a value is to come with its locator.
    value: i64,
}

fn read_described(reader: &mut Reader<'_>, terms: Terms) -> Result<Described, Flaw> {
    let code = reader.u8()?;
    reader.skip(3)?;
    let size = reader.number()?.unsigned_abs();
    reader.number()?;
    let flags = reader.number()?;
    if reader.count()? > 0 {
        reader.bytes()?;
    }
    reader.number()?;
    reader.number()?;
    let form = reader.u8()?;
    let value = reader.number()?;
    if terms.field_version >= 8 {
        reader.number()?;
    }
    Ok(Described {
        code,
        size,
        flags,
        form,
        value,
    })
}

/// In what form the columns of a query are wanted.
pub(crate) fn read_forms(reader: &mut Reader<'_>, terms: Terms, count: usize) -> Result<Vec<Form>, Flaw> {
    let mut forms = Vec::new();
    for _ in 0..count {
        let described = read_described(reader, terms)?;
        forms.push(Form {
            code: described.code,
            with_value: described.flags & WITH_VALUE != 0 && described.value > 0,
        });
    }
    Ok(forms)
}

/// Descriptions.
pub(crate) fn read_binds(reader: &mut Reader<'_>, terms: Terms, count: usize) -> Result<Vec<Bind>, Flaw> {
    let mut binds = Vec::new();
    for _ in 0..count {
        let Described { code, size, form, .. } = read_described(reader, terms)?;
        let kind = Kind::of_bind(code).ok_or_else(|| Flaw::Wrong(format!("a bind of type {code}")))?;
        binds.push(Bind { kind, size, form });
    }
    Ok(binds)
}

/// A row of values for each execution.
pub(crate) fn read_rows(reader: &mut Reader<'_>, binds: &[Bind], executions: usize) -> Result<Vec<Vec<Value>>, Flaw> {
    let is_long = |at: &usize| binds[*at].size > LONG;
    let short = (0..binds.len()).filter(|at| !is_long(at));
    let order: Vec<_> = short.chain((0..binds.len()).filter(is_long)).collect();
    let mut rows = Vec::new();
    for _ in 0..executions {
        let at = reader.at();
        match reader.u8()? {
            7 => {}
            other => {
                return Err(Flaw::Wrong(format!(
                    "a message of type {other} at {at} instead of a row of binds"
                )));
            }
        }
        let mut row = vec![Value::Null; binds.len()];
        for at in &order {
            if let Some(bytes) = reader.bytes()? {
                row[*at] = read_value(&binds[*at], bytes)?;
            }
        }
        rows.push(row);
    }
    Ok(rows)
}

fn read_value(bind: &Bind, bytes: Vec<u8>) -> Result<Value, Flaw> {
    Ok(match bind.kind {
        Kind::Number => Value::Number(decode_number(&bytes)?),
        Kind::Varchar | Kind::Char if bind.form == NATIONAL => {
            let units: Vec<_> = bytes
                .chunks(2)
                .map(|unit| u16::from_be_bytes([unit[0], *unit.last().unwrap_or(&0)]))
                .collect();
            Value::Text(String::from_utf16_lossy(&units))
        }
        Kind::Varchar | Kind::Char => Value::Text(text(&bytes)),
        Kind::Raw | Kind::Rare(_) => Value::Raw(bytes),
        Kind::Date | Kind::Timestamp | Kind::TimestampTz => Value::Time(decode_time(&bytes)?),
        Kind::Double => {
            let bits: [u8; 8] = bytes
                .try_into()
                .map_err(|bytes: Vec<u8>| Flaw::Wrong(format!("a BINARY_DOUBLE of {} bytes", bytes.len())))?;
            let bits = u64::from_be_bytes(bits);
            // Positive numbers have their sign turned, negative ones all bits: so they sort as bytes.
            Value::Double(f64::from_bits(if bits >> 63 == 1 { bits ^ (1 << 63) } else { !bits }))
        }
    })
}
