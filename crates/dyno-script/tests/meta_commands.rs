//! Meta commands: what they do, and how a mistake in them is told.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use dyno_script::{Command, Cursor, Random, Script, Step, Symbols, Value, Variables};

/// Executes a script of meta commands with `text` set to "41" and `half` to "0.5", and gives the pause it makes and the
/// value of `x`.
fn execute(text: &str) -> Result<(Option<Duration>, Option<Value>), String> {
    let mut symbols = Symbols::new();
    let script = Script::parse("x.sql", text, &mut symbols).map_err(|error| error.to_string())?;
    let given = [("text", "41"), ("half", "0.5"), ("word", "abc"), ("empty", "")]
        .map(|(name, value)| (symbols.intern(name), value));
    let null = symbols.intern("null");
    let x = symbols.intern("x");
    let mut variables = Variables::new(&symbols);
    for (id, value) in given {
        variables.set(id, Value::from(value));
    }
    variables.set(null, Value::Null);
    let mut random = Random::new(1);
    let mut cursor = Cursor::default();
    let mut pause = None;
    loop {
        let step = script.next(&mut cursor, &mut variables, &mut random, false);
        match step.map_err(|error| error.to_string())? {
            Step::Sleep(duration) => pause = Some(duration),
            Step::End => break,
            _ => {}
        }
    }
    Ok((pause, variables.get(x).cloned()))
}

#[test]
fn text_becomes_typed_on_use() {
    assert_eq!(execute("\\set x :text + 1"), Ok((None, Some(Value::Int(42)))));
    assert_eq!(execute("\\set x :half * 2"), Ok((None, Some(Value::Double(1.0)))));
    assert_eq!(
        execute("\\set x 1 + :word").unwrap_err(),
        "x.sql:1:12: malformed variable \"word\" value: \"abc\" in command \"set\"\n\\set x 1 + :word\n           \
         ^ error found here"
    );
    assert_eq!(
        execute("\\set x :empty").unwrap_err(),
        "x.sql:1:8: invalid input syntax for type bigint: \"\" in command \"set\"\n\\set x :empty\n       ^ error \
         found here"
    );
}

#[test]
fn setrandom_draws_what_the_functions_draw() {
    for (old, new) in [
        ("\\setrandom x 1 :text", "\\set x random(1, :text)"),
        ("\\SETRANDOM x -5 +5 uniform", "\\set x random(-5, 5)"),
        (
            "\\setrandom x 1 1000 gaussian 2.5",
            "\\set x random_gaussian(1, 1000, 2.5)",
        ),
        (
            "\\setrandom x 1 1000 Exponential :half",
            "\\set x random_exponential(1, 1000, 0.5)",
        ),
        (
            "\\setrandom x 1 \\\n 1000 gaussian 5",
            "\\set x random_gaussian(1, 1000, 5)",
        ),
    ] {
        let drawn = execute(old).unwrap();
        assert!(matches!(drawn.1, Some(Value::Int(_))));
        assert_eq!(drawn, execute(new).unwrap(), "{old}");
    }
}

#[test]
fn sleep_knows_its_units() {
    let micros = |count| Ok((Some(Duration::from_micros(count)), None));
    for (text, expected) in [
        ("2", 2_000_000),
        ("2 s", 2_000_000),
        ("2ms", 2_000),
        ("2 MS", 2_000),
        ("+2us", 2),
        ("-2 s", 0),
        (":text us", 41),
        (":half", 0),
        ("0", 0),
    ] {
        assert_eq!(execute(&format!("\\sleep {text}")), micros(expected), "{text}");
    }
    for text in [
        ":word",
        ":null",
        ":empty",
        ":unset",
        ":",
        "99999999999999999999",
        "",
        "x",
        "1 2",
        "1ms s",
        "1 s s",
        "1h",
        "1 h",
    ] {
        assert!(
            execute(&format!("\\sleep {text}"))
                .unwrap_err()
                .contains("in command \"sleep\""),
            "{text}"
        );
    }
}

#[test]
fn a_mistake_is_shown_where_it_is() {
    for (text, expected) in [
        (
            "select 1;\n\n  \\set x 1 + \\\n    (2 ^ 3)\n",
            "x.sql:4:8: unexpected character (^) in command \"set\"\n    (2 ^ 3)\n       ^ error found here",
        ),
        (
            "\\set x 5 / (:text - 41) + 1",
            "x.sql:1:10: division by zero in command \"set\"\n\\set x 5 / (:text - 41) + 1\n         ^ error found \
             here",
        ),
        (
            "\\sett x 1",
            "x.sql:1:1: invalid command \\sett, did you mean \\set? (known \
             commands: \\set, \\setrandom, \\sleep, \\if, \\elif, \\else, \\endif, \\gset, \\aset, \\shell, \
             \\setshell, \\startpipeline, \\syncpipeline, \\endpipeline)\n\\sett x 1\n^ error found here",
        ),
        (
            "\\set x randon(1, 2)",
            "x.sql:1:8: unexpected function name (randon), did you mean random? in command \"set\"\n\\set x \
             randon(1, 2)\n       ^ error found here",
        ),
        (
            "\\set x 1 +",
            "x.sql:1:11: syntax error, unexpected end of command in command \"set\"\n\\set x 1 +\n          ^ \
             error found here",
        ),
        (
            "\\set x 1 < 2 < 3",
            "x.sql:1:14: syntax error, unexpected \"<\" in command \"set\"\n\\set x 1 < 2 < 3\n             ^ \
             error found here",
        ),
        (
            "\\setrandom x 1 10 zipfian 2",
            "x.sql:1:19: unrecognized distribution, must be uniform, gaussian or exponential (zipfian) in \
             command \"setrandom\"\n\\setrandom x 1 10 zipfian 2\n                  ^ error found here",
        ),
        (
            "\\setrandom x 10 1",
            "x.sql:1:1: empty range given to random in command \"setrandom\"\n\\setrandom x 10 1\n^ error found here",
        ),
        (
            "-- nothing\n",
            "x.sql:1:1: empty command list for script \"x.sql\"\n-- nothing\n^ error found here",
        ),
        (
            "select '\0';",
            "x.sql:1:9: the script contains a NUL byte, remove it\nselect ' ';\n        ^ error found here",
        ),
    ] {
        assert_eq!(execute(text).unwrap_err(), expected);
    }
    for text in [
        "\\setrandom x 1",
        "\\setrandom x 1 y",
        "\\setrandom x 1 2 uniform 3",
        "\\setrandom x 1 2 gaussian",
        "\\setrandom x 1 2 gaussian y",
        "\\setrandom x 1 2 exponential 1 1",
        "\\setrandom 1x 1 2",
        "\\setrandom x 1 :unset",
        "\\setrandom x 1 2 gaussian 1.5",
        "\\set",
        "\\set x",
        "\\set x+1 1",
    ] {
        assert!(execute(text).is_err(), "{text}");
    }
}

#[test]
fn messages_stay_short_and_printable() {
    let long = "x".repeat(100_000);
    for text in [
        format!("\\set x {long}(1)"),
        format!("\\sleep 1 {long}"),
        format!("\\{long}"),
        format!("\\sleep \x1b{long}"),
    ] {
        let error = execute(&text).unwrap_err();
        assert!(error.len() < 1000, "{} bytes", error.len());
        assert!(!error.contains('\x1b'));
    }
}

#[test]
fn precedence_is_that_of_the_grammar() {
    for (text, same) in [
        ("1 + 2 * 3", "1 + (2 * 3)"),
        ("1 - 2 - 3", "(1 - 2) - 3"),
        ("- 2 + 3", "(-2) + 3"),
        ("~1 + 2", "~(1 + 2)"),
        ("~1 & 2", "(~1) & 2"),
        ("2 * ~1 + 2 & 3", "(2 * (~(1 + 2))) & 3"),
        ("1 | 2 & 4 # 8", "((1 | 2) & 4) # 8"),
        ("not 1 = 2 and false", "(not (1 = 2)) and false"),
        ("true or false and false", "true or (false and false)"),
        ("not 1 is null", "not (1 is null)"),
        ("1 = 2 is false", "(1 = 2) is false"),
        ("1 is null is null", "(1 is null) is null"),
    ] {
        let value = execute(&format!("\\set x {text}"));
        assert!(value.is_ok(), "{text}: {value:?}");
        assert_eq!(value, execute(&format!("\\set x {same}")), "{text}");
    }
}

#[test]
fn commands_know_their_place_and_text() {
    let text = "-- comment\n  select 1,\n 2;\\set x 1 \\\n + 2\r\n\\\n\\sleep 1 us";
    let mut symbols = Symbols::new();
    let script = Script::parse("x.sql", text, &mut symbols).unwrap();
    let places: Vec<_> = script
        .commands()
        .iter()
        .map(|command| (command.position().line, command.position().column, command.source()))
        .collect();
    assert_eq!(
        places,
        [
            (2, 3, "select 1,"),
            (3, 4, "\\set x 1 \\\n + 2"),
            (6, 1, "\\sleep 1 us")
        ]
    );
    assert_eq!((script.name(), script.statements()), ("x.sql", 1));
    let Command::Set(set) = &script.commands()[1] else {
        unreachable!()
    };
    assert_eq!(symbols.name(set.variable()), "x");
}

#[test]
fn more_than_255_parameters_are_for_the_simple_protocol_only() {
    for (count, allowed) in [(255, true), (256, false)] {
        let text = format!("select 1;\nselect {};", vec![":x"; count].join(", "));
        let script = Script::parse("x.sql", &text, &mut Symbols::new()).unwrap();
        assert_eq!(script.check_parameters().is_ok(), allowed);
        if let Err(error) = script.check_parameters() {
            assert_eq!(error.message(), "statement has too many arguments (maximum is 255)");
            assert_eq!((error.script(), error.position().line), ("x.sql", 2));
        }
    }
}
