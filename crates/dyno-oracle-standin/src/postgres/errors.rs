//! PostgreSQL's errors as Oracle's.

use crate::executor::OracleError;
use postgres::error::{DbError, SqlState};

/// What Oracle would have said.
pub(super) fn oracle_error(error: &postgres::Error) -> OracleError {
    let Some(told) = error.as_db_error() else {
        if error.is_closed() {
            return OracleError::new(3113, "end-of-file on communication channel");
        }
        return OracleError::new(600, &format!("the server behind the stand-in: {error}"));
    };
    let name = |part: Option<&str>| part.unwrap_or_default().to_uppercase();
    let told_of = |what: &str| format!("{what} ({})", told.message());
    match told.code() {
        code if *code == SqlState::UNIQUE_VIOLATION => {
            let schema = name(told.schema());
            OracleError::new(
                1,
                &format!("unique constraint ({schema}.{}) violated", name(told.constraint())),
            )
        }
        code if *code == SqlState::NOT_NULL_VIOLATION => {
            let place = format!(
                r#""{}"."{}"."{}""#,
                name(told.schema()),
                name(told.table()),
                name(told.column())
            );
            OracleError::new(1400, &format!("cannot insert NULL into ({place})"))
        }
        code if *code == SqlState::FOREIGN_KEY_VIOLATION => {
            let constraint = format!("({}.{})", name(told.schema()), name(told.constraint()));
            if told.message().starts_with("insert") {
                OracleError::new(
                    2291,
                    &format!("integrity constraint {constraint} violated - parent key not found"),
                )
            } else {
                OracleError::new(
                    2292,
                    &format!("integrity constraint {constraint} violated - child record found"),
                )
            }
        }
        code if *code == SqlState::UNDEFINED_COLUMN || *code == SqlState::UNDEFINED_FUNCTION => {
            OracleError::new(904, &format!("{}: invalid identifier", quoted(told).to_uppercase()))
        }
        code if *code == SqlState::SYNTAX_ERROR => syntax(told),
        code => match TABLE.iter().find(|(known, _, _)| known == code) {
            Some((_, number, says)) => OracleError::new(*number, &told_of(says)),
            None => OracleError::new(
                600,
                &format!("the server behind the stand-in: {} {}", code.code(), told.message()),
            ),
        },
    }
}

/// The rest, of which only the number matters.
const TABLE: [(SqlState, u32, &str); 23] = [
    (SqlState::UNDEFINED_TABLE, 942, "table or view does not exist"),
    (SqlState::UNDEFINED_OBJECT, 942, "table or view does not exist"),
    (SqlState::INVALID_SCHEMA_NAME, 942, "table or view does not exist"),
    (SqlState::CHECK_VIOLATION, 2290, "check constraint violated"),
    (
        SqlState::T_R_DEADLOCK_DETECTED,
        60,
        "deadlock detected while waiting for resource",
    ),
    (
        SqlState::T_R_SERIALIZATION_FAILURE,
        8177,
        "can't serialize access for this transaction",
    ),
    (
        SqlState::LOCK_NOT_AVAILABLE,
        54,
        "resource busy and acquire with NOWAIT specified or timeout expired",
    ),
    (
        SqlState::QUERY_CANCELED,
        1013,
        "user requested cancel of current operation",
    ),
    (SqlState::INVALID_TEXT_REPRESENTATION, 1722, "invalid number"),
    (
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        1438,
        "value larger than specified precision allowed for this column",
    ),
    (
        SqlState::STRING_DATA_RIGHT_TRUNCATION,
        12_899,
        "value too large for column",
    ),
    (SqlState::DIVISION_BY_ZERO, 1476, "divisor is equal to zero"),
    (
        SqlState::DUPLICATE_TABLE,
        955,
        "name is already used by an existing object",
    ),
    (
        SqlState::DUPLICATE_OBJECT,
        955,
        "name is already used by an existing object",
    ),
    (
        SqlState::DUPLICATE_COLUMN,
        1430,
        "column being added already exists in table",
    ),
    (SqlState::AMBIGUOUS_COLUMN, 918, "column ambiguously defined"),
    (SqlState::DATATYPE_MISMATCH, 932, "inconsistent datatypes"),
    (
        SqlState::CARDINALITY_VIOLATION,
        1427,
        "single-row subquery returns more than one row",
    ),
    (SqlState::INSUFFICIENT_PRIVILEGE, 1031, "insufficient privileges"),
    (SqlState::GROUPING_ERROR, 979, "not a GROUP BY expression"),
    (
        SqlState::READ_ONLY_SQL_TRANSACTION,
        1456,
        "may not perform insert/delete/update operation inside a READ ONLY transaction",
    ),
    (
        SqlState::INVALID_TABLE_DEFINITION,
        2260,
        "table can have only one primary key",
    ),
    (SqlState::ADMIN_SHUTDOWN, 3113, "end-of-file on communication channel"),
];

/// The name that a message holds in quotes, or what it begins with.
fn quoted(told: &DbError) -> String {
    let message = told.message();
    match message.split('"').nth(1) {
        Some(name) => format!("\"{name}\""),
        None => format!("\"{}\"", message.split(' ').nth(1).unwrap_or_default()),
    }
}

/// What Oracle says of a text that it does not understand depends on where it stopped.
fn syntax(told: &DbError) -> OracleError {
    match quoted(told).trim_matches('"') {
        "from" | "," | ")" | "where" | "=" => OracleError::new(936, "missing expression"),
        _ => OracleError::new(933, "SQL command not properly ended"),
    }
}
