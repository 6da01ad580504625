//! Conditions, captured results, shell commands and pipelines: the steps a client is led through.
#![allow(clippy::unwrap_used)]

use dyno_script::{Capture, CaptureKind, Cursor, Random, Script, Step, Symbols, Value, Variables};

fn parse(text: &str) -> (Script, Variables, Symbols) {
    let mut symbols = Symbols::new();
    let script = Script::parse("x.sql", text, &mut symbols).unwrap();
    let variables = Variables::new(&symbols);
    (script, variables, symbols)
}

/// The commands at which a client stops that stops at each, and what it is to do there.
fn steps(text: &str) -> Vec<(usize, Step)> {
    let (script, mut variables, _) = parse(text);
    let (mut cursor, mut random) = (Cursor::default(), Random::new(1));
    let mut steps = Vec::new();
    loop {
        let step = script.next(&mut cursor, &mut variables, &mut random, true).unwrap();
        if step == Step::End {
            return steps;
        }
        steps.push((cursor.command(), step));
    }
}

/// The meta commands that count as executed.
fn executed(text: &str) -> Vec<usize> {
    steps(text).into_iter().map(|(command, _)| command).collect()
}

#[test]
fn only_what_is_executed_is_timed() {
    // An \else or \endif that ends a skipped branch is skipped with it, as pgbench's latencies per command show.
    for (condition, expected) in [("1", &[0, 1, 2][..]), ("0", &[0, 2, 3, 4]), ("null", &[0, 2, 3, 4])] {
        let text = format!("\\if {condition}\n\\set x 1\n\\elif 1\n\\set x 2\n\\else\n\\set x 3\n\\endif\n");
        assert_eq!(executed(&text), expected, "{condition}");
    }
    let none = "\\if 0\n\\set x 1\n\\elif 0\n\\set x 2\n\\else\n\\set x 3\n\\endif\n\\set x 4";
    assert_eq!(executed(none), [0, 2, 5, 6, 7]);
    assert_eq!(executed("\\if 0\n\\else\n\\endif"), [0, 2]);
    assert_eq!(executed("\\if 1\n\\else\n\\endif"), [0, 1]);
    assert_eq!(executed("\\if 0\n\\endif\n\\if 1\n\\endif"), [0, 2, 3]);
}

#[test]
fn an_elif_behind_an_inner_condition_is_not_looked_at() {
    let text = "\\if 1\n\\if 0\n\\endif\n\\elif 1 / 0\n\\set x 1\n\\endif\n\\set x 2";
    assert_eq!(executed(text), [0, 1, 3, 6]);
    let text = "\\if 0\n\\if 1 / 0\n\\elif 1 / 0\n\\endif\n\\elif 1\n\\set x 1\n\\endif";
    assert_eq!(executed(text), [0, 4, 5, 6]);
}

#[test]
fn steps_tell_what_to_do() {
    use Step::*;
    let text = "\\startpipeline\nselect 1;\n\\syncpipeline\nselect 2;\n\\endpipeline\n\\shell x\nselect 3";
    assert_eq!(
        steps(text),
        [
            (0, StartPipeline),
            (1, Statement(0)),
            (2, SyncPipeline),
            (3, Statement(1)),
            (4, EndPipeline),
            (5, Shell),
            (6, Statement(2))
        ]
    );
}

#[test]
fn debug_tells_its_command() {
    let (script, mut variables, _) =
        parse("\\set x debug(1.5)\n\\if debug(null)\n\\endif\nselect 1;\n\\set x debug(:x = 2)");
    let (mut cursor, mut random) = (Cursor::default(), Random::new(1));
    let mut shown = |variables: &mut Variables| {
        script.next(&mut cursor, variables, &mut random, false).unwrap();
        let each = variables.debugged().iter();
        each.map(|debugged| format!("{} {debugged}", debugged.command))
            .collect::<Vec<_>>()
    };
    assert_eq!(shown(&mut variables), ["0 double 1.5", "1 null"]);
    assert_eq!(shown(&mut variables), ["4 boolean false"]);
    assert_eq!(shown(&mut variables), Vec::<String>::new());
}

#[test]
fn captures_belong_to_the_statement_before() {
    let (script, mut variables, symbols) =
        parse("select 1 as a \\gset\nselect 2;\n-- text\n\\ASET p_\nselect 3; \\set x :p_a");
    let captures: Vec<_> = (0..3)
        .map(|index| script.statement(index).unwrap().capture().cloned())
        .collect();
    let capture = |prefix: &str, kind| {
        Some(Capture {
            prefix: prefix.to_owned(),
            kind,
        })
    };
    assert_eq!(
        captures,
        [capture("", CaptureKind::Last), capture("p_", CaptureKind::Each), None]
    );
    assert_eq!(script.commands().len(), 4);
    assert_eq!(script.commands()[0].source(), "select 1 as a ");

    assert!(variables.set_named("p_a", Value::from("5")));
    assert!(!variables.set_named("p_b", Value::from("6")));
    assert_eq!(variables.get(symbols.lookup("p_a").unwrap()), Some(&Value::from("5")));
}

#[test]
fn shell_commands_are_put_together() {
    let (script, mut variables, symbols) = parse("\\setshell x  echo\t:n ::y a:n ':n' :null \\\n :t\n\\shell y");
    for (name, value) in [("n", Value::Int(-3)), ("null", Value::Null), ("t", Value::from("a b"))] {
        assert!(variables.set_named(name, value));
    }
    let (mut cursor, mut random) = (Cursor::default(), Random::new(1));
    let x = symbols.lookup("x").unwrap();
    assert_eq!(
        script.next(&mut cursor, &mut variables, &mut random, false),
        Ok(Step::Shell)
    );
    let line = script.shell_line(&cursor, &variables).unwrap();
    assert_eq!(
        (line.text.as_str(), line.wants_output),
        ("echo -3 :y a:n ':n' NULL a b", true)
    );
    // The exit status does not count, and only the first line does.
    script.shell_done(&cursor, &mut variables, false, b" 7\n8\n").unwrap();
    assert_eq!(variables.get(x), Some(&Value::Int(7)));
    for output in [&b""[..], b"a", b"1 2", b"1.5\n", b"\xff"] {
        assert!(script.shell_done(&cursor, &mut variables, true, output).is_err());
    }
    // What is beyond 63 bytes is not read.
    let long = [&b"5"[..], &[b' '; 62], b"x"].concat();
    script.shell_done(&cursor, &mut variables, true, &long).unwrap();
    assert_eq!(variables.get(x), Some(&Value::Int(5)));

    assert_eq!(
        script.next(&mut cursor, &mut variables, &mut random, false),
        Ok(Step::Shell)
    );
    let line = script.shell_line(&cursor, &variables).unwrap();
    assert_eq!((line.text.as_str(), line.wants_output), ("y", false));
    script.shell_done(&cursor, &mut variables, true, b"whatever").unwrap();
    assert!(script.shell_done(&cursor, &mut variables, false, b"").is_err());

    assert_eq!(
        script.next(&mut cursor, &mut variables, &mut random, false),
        Ok(Step::End)
    );
    assert!(script.shell_line(&cursor, &variables).is_err());
}

#[test]
fn names_are_checked_on_request() {
    for (text, expected) in [
        ("\\set x 1\n\\if 0\n\\set 1x 2\n\\endif", Some((3, 6, "1x"))),
        ("\\setshell x- echo 1", Some((1, 11, "x-"))),
        ("\\setrandom \\\n :x 1 2", Some((2, 2, ":x"))),
        ("\\set é_1 1", None),
        ("\\set x 1\n\\shell true", None),
    ] {
        let (script, ..) = parse(text);
        let error = script.check_names().err();
        let found = error.map(|error| {
            (
                error.position().line,
                error.position().column,
                error.message().to_owned(),
            )
        });
        let expected =
            expected.map(|(line, column, name)| (line, column, format!("invalid variable name: \"{name}\"")));
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn a_command_has_at_most_255_arguments() {
    for (count, allowed) in [(255, true), (256, false)] {
        let text = format!("\\shell{}", " x".repeat(count));
        let parsed = Script::parse("x.sql", &text, &mut Symbols::new());
        match parsed {
            Ok(_) => assert!(allowed),
            Err(error) => {
                assert!(!allowed);
                assert_eq!(error.pgbench(), "x.sql:1: too many arguments in command \"shell\"");
            }
        }
    }
}

#[test]
fn dyno_shows_where_it_is() {
    for (text, expected) in [
        (
            "select 1;\n  \\else",
            "x.sql:2:3: \\else without matching \\if\n  \\else\n  ^ error found here",
        ),
        (
            "\\if 1\n\\if 2\nselect 1;\n\\endif",
            "x.sql:1:1: \\if without matching \\endif\n\\if 1\n^ error found here",
        ),
        (
            "\\set x 1\n\\aset",
            "x.sql:2:1: \\aset must follow an SQL command\n\\aset\n^ error found here",
        ),
        (
            "\\endif x",
            "x.sql:1:8: unexpected argument in command \"endif\"\n\\endif x\n       ^ error found here",
        ),
    ] {
        let error = Script::parse("x.sql", text, &mut Symbols::new()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    for (text, expected) in [
        (
            "\\startpipeline\n select 1;\n-- end\n",
            "x.sql:2:2: end of script reached with pipeline open\n select 1;\n ^ error found here",
        ),
        (
            "\\startpipeline\nselect 1 \\aset\n\\endpipeline",
            "x.sql:2:1: \\aset is not allowed in pipeline mode\nselect 1 \\aset\n^ error found here",
        ),
        (
            "\\if 1\n\\endpipeline\n\\endif",
            "x.sql:2:1: not in pipeline mode in command \"endpipeline\"\n\\endpipeline\n^ error found here",
        ),
    ] {
        let (script, mut variables, _) = parse(text);
        let (mut cursor, mut random) = (Cursor::default(), Random::new(1));
        let error = loop {
            match script.next(&mut cursor, &mut variables, &mut random, false) {
                Ok(step) => assert_ne!(step, Step::End),
                Err(error) => break error,
            }
        };
        assert_eq!(error.to_string(), expected);
    }
}
