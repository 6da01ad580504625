//! What is in quotes or comments by MySQL's rules reaches the server byte for byte, whatever it looks like.
#![allow(clippy::panic, clippy::unwrap_used)]

use dyno_script::{Command, Lexis, Script, Statement, Symbols, Variables};
use proptest::prelude::*;

fn statements(text: &str, symbols: &mut Symbols) -> Vec<Statement> {
    let script = Script::parse_by(Lexis::Mysql, "x.sql", text, symbols).unwrap_or_else(|error| panic!("{error}"));
    let statements = script.commands().iter().map(|command| match command {
        Command::Statement(statement) => statement.clone(),
        other => panic!("{other:?}"),
    });
    statements.collect()
}

/// A text in quotes or a comment, of each kind there is.
fn hidden() -> impl Strategy<Value = String> {
    let content = r#"[a:;#'"`\\\-/*$ é]{0,12}"#;
    prop_oneof![
        content.prop_map(|text| format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))),
        content.prop_map(|text| format!("'{}'", text.replace('\\', r"\\").replace('\'', "''"))),
        content.prop_map(|text| format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))),
        content.prop_map(|text| format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\"\""))),
        content.prop_map(|text| format!("`{}`", text.replace('`', "``"))),
        content.prop_map(|text| format!("/*{}*/", text.replace('*', ""))),
        content.prop_map(|text| format!("#{text}\n")),
        content.prop_map(|text| format!("-- {text}\n")),
    ]
}

/// A statement without its semicolon; `None` is a variable.
fn pieces() -> impl Strategy<Value = Vec<Option<String>>> {
    let piece = prop_oneof![3 => hidden().prop_map(Some), 1 => Just(None), 1 => Just(Some("b.c = 1 -1".to_owned()))];
    prop::collection::vec(piece, 0..6)
}

/// The statement with `variable` written so by its number, from 1.
fn written(pieces: &[Option<String>], variable: impl Fn(usize) -> String) -> String {
    let mut number = 0;
    let each = pieces.iter().map(|piece| match piece {
        Some(piece) => format!(" {piece}"),
        None => {
            number += 1;
            format!(" {}", variable(number))
        }
    });
    format!("select{};", each.collect::<String>())
}

proptest! {
    #[test]
    fn what_is_quoted_is_kept(all in prop::collection::vec(pieces(), 1..4)) {
        let texts: Vec<String> = all.iter().map(|pieces| written(pieces, |_| ":v".to_owned())).collect();
        let mut symbols = Symbols::new();
        let statements = statements(&texts.concat(), &mut symbols);
        prop_assert_eq!(statements.iter().map(Statement::text).collect::<Vec<_>>(), texts.clone());
        let variables = Variables::new(&symbols);
        for ((statement, pieces), text) in statements.iter().zip(&all).zip(&texts) {
            prop_assert_eq!(statement.parameterized(), written(pieces, |number| format!("${number}")));
            let mut out = Vec::new();
            statement.write_simple(&variables, &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), text.clone());
        }
    }
}

#[test]
fn a_script_of_mariadb_is_split_where_the_server_would() {
    let text = r"
create table `odd;name` (`a:b` int); # comment; with :n
insert into t values ('a\'b;c', :n), ('12:34:56', @x := :n); -- :n
select :n\; select 'it\'s :n';
";
    let mut symbols = Symbols::new();
    let parameterized: Vec<_> = statements(text, &mut symbols)
        .iter()
        .map(|statement| statement.parameterized().to_owned())
        .collect();
    assert_eq!(
        parameterized,
        [
            "create table `odd;name` (`a:b` int);",
            r"insert into t values ('a\'b;c', $1), ('12:34:56', @x := $2);",
            r"select $1; select 'it\'s :n';",
        ]
    );
}

#[test]
fn names_in_quotes_need_not_be_set() {
    let mut symbols = Symbols::new();
    let script = Script::parse_by(Lexis::Mysql, "x.sql", r"select 'it\'s :a', `b:c` # :d", &mut symbols).unwrap();
    let none = dyno_script::Defined::default();
    for quoted in [false, true] {
        script.check_defined(&none, &symbols, quoted).unwrap();
    }
    let script = Script::parse_by(Lexis::Mysql, "x.sql", "select `b`, :d", &mut symbols).unwrap();
    let error = script.check_defined(&none, &symbols, true).unwrap_err().to_string();
    assert!(error.contains("nothing sets the variable \":d\""), "{error}");
}

#[test]
fn comments_that_the_server_executes_are_sql() {
    let mut symbols = Symbols::new();
    let text = "select /*! straight_join :a, */ /* :b */ /*!50100 :c; '/*! :d */', */ /*M!100100 :e */ 1;";
    let parameterized: Vec<_> = statements(text, &mut symbols)
        .iter()
        .map(|statement| statement.parameterized().to_owned())
        .collect();
    let expected = "select /*! straight_join $1, */ /* :b */ /*!50100 $2; '/*! :d */', */ /*M!100100 $3 */ 1;";
    assert_eq!(parameterized, [expected]);
}

#[test]
fn without_escapes_a_backslash_ends_no_string_later() {
    let text = r"select '\', :a; select 'C:\', '\\:b', :c;";
    let read = |lexis: Lexis| {
        let mut symbols = Symbols::new();
        let script = Script::parse_by(lexis, "x.sql", text, &mut symbols).ok()?;
        let statements = script.commands().iter().map(|command| match command {
            Command::Statement(statement) => statement.parameterized().to_owned(),
            other => panic!("{other:?}"),
        });
        Some(statements.collect::<Vec<_>>())
    };
    let plain = [r"select '\', $1;", r"select 'C:\', '\\:b', $1;"];
    assert_eq!(read(Lexis::MysqlNoEscapes).unwrap(), plain);
    // Where strings end elsewhere, what is in them is taken for a command.
    assert_eq!(read(Lexis::Mysql), None);
    assert_eq!(Lexis::Mysql.alternative(), Some(Lexis::MysqlNoEscapes));
}
