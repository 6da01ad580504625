//! What rows hold, and what a person may get wrong in a column.

use super::*;
use proptest::prelude::*;

fn rows(expression: &str) -> Result<Rows, ColumnError> {
    Rows::compile("t", 7, [("c", expression)])
}

/// The value of an expression in row 5.
fn value(expression: &str) -> Option<String> {
    let rows = rows(expression).unwrap_or_else(|error| panic!("{error}"));
    let mut values = rows.writer(RowFormat::Lines).values(5).unwrap();
    values.remove(0)
}

fn text(expression: &str) -> String {
    value(expression).unwrap()
}

fn refused(expression: &str) -> String {
    rows(expression).unwrap_err().message
}

fn line(expression: &str, format: RowFormat) -> String {
    let mut out = Vec::new();
    rows(expression).unwrap().writer(format).append(5, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_column_is_computed_or_a_text() {
    for (expression, expected) in [
        ("row", "5"),
        ("ROW * 2 + 1", "11"),
        ("(row - 1) / 2 % 3", "2"),
        (" -row\n + 1 ", "-4"),
        ("0.1 * 3", "0.3"),
        ("row > 3", "1"),
        ("not (row > 3)", "0"),
        ("case when row > 3 then row else 0 end + 1", "6"),
        ("permute(row, 10) >= 0", "1"),
        ("''", ""),
        ("'it''s'", "it's"),
        ("('a')", "a"),
        ("concat('row ', row, '!')", "row 5!"),
        (
            "case when row > 9 then 'many' when row > 4 then concat('f', 'ew') else 'none' end",
            "few",
        ),
        ("(case when row = 5 then (('x')) end)", "x"),
        ("case when row < 5 then case when true then 'a' end else 'b' end", "b"),
        ("repeat('ab', row - 2)", "ababab"),
        ("repeat('ab', -1)", ""),
        ("repeat('', 5)", ""),
        ("lpad(row, 4, '0')", "0005"),
        ("lpad('é', 6, 'xyz')", "xyzxyé"),
        ("rpad('é', 3, 'ü')", "éüü"),
        ("rpad('é', 3)", "é  "),
        ("lpad('héllo', 2)", "hé"),
        ("date('2024-02-28', row)", "2024-03-04"),
        ("date('2024-01-31', -31)", "2023-12-31"),
        ("timestamp('2024-01-31 23:59:58', row)", "2024-02-01 00:00:03"),
        ("timestamp('2024-01-31', 0.25)", "2024-01-31 00:00:00.250000"),
        ("timestamp('1969-12-31 23:59:59', -0.5)", "1969-12-31 23:59:58.500000"),
        (
            "json_object('a\"b', row, 'c', 'x\"\\\t', 'd', null, 'e', row > 1, 'f', json_array(1.5, 'x', concat('y')))",
            "{\"a\\\"b\": 5, \"c\": \"x\\\"\\\\\\t\", \"d\": null, \"e\": true, \"f\": [1.5, \"x\", \"y\"]}",
        ),
        ("json_array(1 / 0.0, case when false then 'x' end)", "[null, null]"),
    ] {
        assert_eq!(value(expression).as_deref(), Some(expected), "{expression}");
    }
}

#[test]
fn null_in_a_part_is_null_as_a_whole() {
    for expression in [
        "null",
        "row + null",
        "concat('a', null, 'b')",
        "case when row > 9 then 'many' end",
        "case when row > 9 then 'many' else null end",
        "repeat('a', null)",
        "lpad(null, 3)",
        "words(null)",
        "words(1, null)",
        "date('2024-01-31', null)",
        "timestamp('2024-01-31', null)",
    ] {
        assert_eq!(value(expression), None, "{expression}");
        assert_eq!(line(expression, RowFormat::Lines), "\\N\n", "{expression}");
        assert_eq!(line(expression, RowFormat::Literals), "(null)", "{expression}");
        assert_eq!(line(expression, RowFormat::Values), "\u{1}", "{expression}");
    }
}

#[test]
fn what_is_special_is_escaped() {
    let special = "concat('a\tb\nc\r', '\\', '''\"é')";
    assert_eq!(line(special, RowFormat::Lines), "a\\tb\\nc\\r\\\\'\"é\n");
    assert_eq!(line(special, RowFormat::Literals), "('a\tb\nc\r\\\\''\"é')");
    let json = "json_object('k', 'a\"')";
    assert_eq!(line(json, RowFormat::Lines), "{\"k\": \"a\\\\\"\"}\n");
    assert_eq!(line("row", RowFormat::Literals), "('5')");
    assert_eq!(line(special, RowFormat::Values), "\0\u{b}a\tb\nc\r\\'\"é");
    let rows = Rows::compile("t", 7, [("a", "row"), ("b", "null"), ("c", "'x'")]).unwrap();
    let mut out = Vec::new();
    for format in [RowFormat::Lines, RowFormat::Literals, RowFormat::Values] {
        rows.writer(format).append(1, &mut out).unwrap();
    }
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "1\t\\N\tx\n('1',null,'x')\0\u{1}1\u{1}\0\u{1}x"
    );
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (expression, expected) in [
        ("", "syntax error, unexpected end, at character 1"),
        ("row +", "syntax error, unexpected end, at character 6"),
        ("row row", "unexpected \":row\", at character 5"),
        ("'a' + 1", "unexpected \"+\", at character 5"),
        ("1 + 'a'", "syntax error, unexpected 'a', at character 5"),
        ("'é", "a text lacks the quotation mark (') at its end, at character 1"),
        ("gen_uuid()", "unknown name gen_uuid, at character 1"),
        (
            "patern('#')",
            "unknown name patern, did you mean pattern?, at character 1",
        ),
        ("id + 1", "unknown name id, at character 1"),
        (
            ":scale",
            "there is no variable :scale; row, the number of the row, is the only one",
        ),
        (
            "pattern(row)",
            "unexpected \":row\" (write pattern('###-@@')), at character 9",
        ),
        (
            "lpad('a')",
            "unexpected \")\" (write lpad(value, length) or lpad(value, length, 'with')), at character 9",
        ),
        (
            "lpad('a', 5, '')",
            "nothing can be filled up with an empty text, at character 14",
        ),
        (
            "repeat('a', 'b')",
            "'b' is a text, where a number must be, at character 13",
        ),
        (
            "repeat('a', words(1))",
            "\"words\" is a text, where a number must be, at character 13",
        ),
        (
            "concat()",
            "unexpected \")\" (write concat(value, value, …)), at character 8",
        ),
        (
            "json_object('a')",
            "unexpected \")\" (write json_object('key', value, …)), at character 16",
        ),
        (
            "date('2024-02-30', 1)",
            "'2024-02-30' is not a day such as '2024-01-31', at character 6",
        ),
        (
            "case when 'a' then 'b' end",
            "'a' is a text, where a number must be, at character 11",
        ),
        (
            "case when true then 'a'",
            "unexpected end (write case when condition then value else value end), at character 24",
        ),
        ("'a\0'", "a text cannot hold the character NUL, at character 1"),
    ] {
        assert_eq!(refused(expression), expected, "{expression}");
    }
    for opening in ["concat(", "(", "case when true then ", "-", "json_array("] {
        assert!(refused(&opening.repeat(100_000)).contains("too deep"), "{opening}");
    }
}

#[test]
fn a_row_without_a_value_is_told_and_not_written() {
    for (expression, expected) in [
        ("1 / (row - 5)", "division by zero"),
        ("random(2, 1)", "empty range given to random"),
        ("repeat('a', 1 << 40)", "a text would have more than 16 MiB"),
        (
            "repeat(repeat('a', 10000), 10000)",
            "a text would have more than 16 MiB",
        ),
        ("lpad('a', 1 << 40)", "a text would have more than 16 MiB"),
        ("words(1 << 40)", "a text would have more than 16 MiB"),
        ("date('2024-01-31', 1 << 40)", "a date is outside the years 1 to 9999"),
        ("date('0001-01-01', -1)", "a date is outside the years 1 to 9999"),
        (
            "timestamp('9999-12-30', 86400 * 5)",
            "a date is outside the years 1 to 9999",
        ),
        (
            "timestamp('2024-01-31', 1 / 0.0)",
            "a date is outside the years 1 to 9999",
        ),
        ("timestamp('2024-01-31', true)", "cannot coerce boolean to int"),
    ] {
        let rows = Rows::compile("t", 7, [("a", "'written before'"), ("c", expression)]).unwrap();
        let mut out = b"x".to_vec();
        let error = rows.writer(RowFormat::Lines).append(5, &mut out).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("row 5, column c: {expected}"),
            "{expression}"
        );
        assert_eq!(out, b"x");
    }
}

/// What a seed has once given it gives for good: caches of loaded data rely on it.
#[test]
fn a_seed_gives_the_same_for_good() {
    let columns = [
        ("id", "row"),
        ("k", "random(1, 1000000)"),
        ("c", "pattern('###########-@@@@-##')"),
        ("w", "words(2, 4)"),
        ("h", "hash(row) % 1000"),
        ("g", "random_gaussian(1, 100, 4.0)"),
    ];
    let rows = Rows::compile("sbtest1", 42, columns).unwrap();
    let mut out = Vec::new();
    let mut writer = rows.writer(RowFormat::Lines);
    for row in [1, 2, 1_000_000_000_000] {
        writer.append(row, &mut out).unwrap();
    }
    assert_eq!(String::from_utf8(out).unwrap(), GOLDEN);
}

const GOLDEN: &str = "\
1\t221340\t75899872868-mdra-23\tcross centre cake\t87\t43
2\t14557\t77088308008-gtfz-00\tedge ask call\t585\t34
1000000000000\t697257\t38646913511-vabc-86\tart cup come\t-664\t50
";

#[test]
fn seeds_tables_and_rows_differ_and_quotation_marks_do_not_count() {
    let of = |table: &str, seed: u64, row: u64| {
        let rows = Rows::compile(table, seed, [("c", "pattern('################')")]).unwrap();
        rows.writer(RowFormat::Lines).values(row).unwrap()
    };
    let first = of("t", 0, 1);
    for other in [of("t", 0, 2), of("t", 1, 1), of("u", 0, 1), of("T", 0, 1)] {
        assert_ne!(first, other);
    }
    assert_eq!(first, of("\"t\"", 0, 1));
    assert_eq!(first, of("`t`", 0, 1));
}

#[test]
fn words_have_spaces_between_them() {
    assert_eq!(text("words(0)"), "");
    assert_eq!(text("words(3)").split(' ').count(), 3);
    let rows = rows("words(1, 3)").unwrap();
    let count = |row| {
        let values = rows.writer(RowFormat::Lines).values(row).unwrap();
        values[0].as_ref().unwrap().split(' ').count()
    };
    let counts: Vec<_> = (1..200).map(count).collect();
    assert!((1..=3).all(|count| counts.contains(&count)));
    assert!(counts.iter().all(|count| (1..=3).contains(count)));
}

/// Pieces that expressions are made of, in any order.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "row",
            "concat(",
            "pattern(",
            "words(",
            "lpad(",
            "rpad(",
            "repeat(",
            "date(",
            "timestamp(",
            "json_object(",
            "json_array(",
            "random(",
            "case ",
            "when ",
            "then ",
            "else ",
            "end",
            "'a'",
            "'##@'",
            "'2024-01-31'",
            ",",
            ",",
            ")",
            ")",
            "(",
            "+",
            "-",
            "1",
            "3",
            "0.5",
            "null",
            "true",
            "'",
            "\n",
            " ",
            "=",
            "é",
            "9223372036854775807",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,3}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(expression in soup(), row in any::<u64>()) {
        if let Ok(rows) = rows(&expression) {
            let mut out = Vec::new();
            for format in [RowFormat::Lines, RowFormat::Literals, RowFormat::Values] {
                let _ = rows.writer(format).append(row, &mut out);
            }
            prop_assert!(std::str::from_utf8(&out).is_ok(), "{}", expression);
            let _ = rows.mean_bytes(row.min(3));
        }
    }

    /// A row is the same whoever makes it after which other rows.
    #[test]
    fn rows_do_not_depend_on_each_other(order in prop::collection::vec(1_u64..50, 1..20)) {
        let columns = [("a", "random_zipfian(1, 9, 1.5)"), ("b", "words(1, 5)"), ("c", "pattern('#@#')")];
        let rows = Rows::compile("t", 1, columns).unwrap();
        let mut one = rows.writer(RowFormat::Lines);
        for row in order {
            let (mut now, mut alone) = (Vec::new(), Vec::new());
            one.append(row, &mut now).unwrap();
            rows.writer(RowFormat::Lines).append(row, &mut alone).unwrap();
            prop_assert_eq!(now, alone);
        }
    }

    /// A line is one line, and its values are found again, whatever is in them.
    #[test]
    fn lines_hold_what_values_say(part in "[a\\\\\t\n\r'\"é\u{1}]{0,8}") {
        let expression = format!("'{}'", part.replace('\'', "''"));
        let written = line(&expression, RowFormat::Lines);
        let body = written.strip_suffix('\n').unwrap();
        prop_assert!(!body.contains(['\t', '\n', '\r']));
        let read = body.replace("\\\\", "\u{0}").replace("\\t", "\t").replace("\\n", "\n").replace("\\r", "\r");
        prop_assert_eq!(read.replace('\u{0}', "\\"), part);
    }
}
