//! Rows of a result as text, whatever the types of their columns, and as values.

use oracledb::{Error, OracleNumber, OracleTimestamp, Row};

/// The values of a row as text; `None` is NULL. What has no text is named by its type.
pub(super) fn text_of(row: &Row) -> Result<Vec<Option<String>>, Error> {
    (0..row.columns().len()).map(|index| value_of(row, index)).collect()
}

fn value_of(row: &Row, index: usize) -> Result<Option<String>, Error> {
    let kind = row.columns()[index].db_type();
    let name = kind.name().trim_start_matches("DB_TYPE_");
    Ok(match name {
        "NUMBER" | "BINARY_INTEGER" => row.get::<Option<OracleNumber>>(index)?.map(|number| number.to_string()),
        "BINARY_DOUBLE" => row.get::<Option<f64>>(index)?.map(|number| number.to_string()),
        "BINARY_FLOAT" => row.get::<Option<f32>>(index)?.map(|number| number.to_string()),
        "BOOLEAN" => row.get::<Option<bool>>(index)?.map(|value| value.to_string()),
        "RAW" | "LONG_RAW" => row
            .get::<Option<Vec<u8>>>(index)?
            .map(|bytes| crate::embedded::hex(&bytes)),
        _ if kind.is_date_type() => row.get::<Option<OracleTimestamp>>(index)?.map(moment),
        "CHAR" | "VARCHAR" | "NCHAR" | "NVARCHAR" | "LONG" | "LONG_NVARCHAR" => row.get(index)?,
        other => Some(format!("({other})")),
    })
}

/// A point in time as others show it, without a fraction that is none.
fn moment(moment: OracleTimestamp) -> String {
    let text = moment.to_string().replacen('T', " ", 1);
    match text.split_once('.') {
        Some((whole, rest)) if rest.bytes().all(|byte| byte == b'0') => whole.to_owned(),
        _ => text,
    }
}
