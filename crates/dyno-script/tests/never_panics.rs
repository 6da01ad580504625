//! No script makes the crate panic, whatever is in it. PROPTEST_CASES sets the number of inputs of each kind.

mod soup;

use dyno_script::{Command, Cursor, Random, Script, Step, Symbols, Value, Variables};
use proptest::prelude::*;

/// Parses a script and does with it whatever a caller can. Says whether it could be parsed.
fn exercise(text: impl AsRef<[u8]>) -> bool {
    let text = text.as_ref();
    let mut symbols = Symbols::new();
    let script = match Script::parse("soup.sql", text, &mut symbols) {
        Ok(script) => script,
        Err(error) => {
            let shown = error.to_string();
            assert!(
                shown.starts_with(&format!("soup.sql:{}:", error.position().line)),
                "{shown}"
            );
            return false;
        }
    };
    let automatic = [
        ("a", Value::Int(5)),
        ("b", Value::Double(-0.5)),
        ("text", Value::from(&*dyno_text::decode(text))),
        ("default_seed", Value::Int(1)),
    ]
    .map(|(name, value)| (symbols.intern(name), value));
    let mut variables = Variables::new(&symbols);
    for (id, value) in automatic {
        variables.set(id, value);
    }
    let mut random = Random::new(1);
    let mut out = Vec::new();
    let mut statements = 0;
    for command in script.commands() {
        assert!(command.position().line >= 1);
        assert!(!command.source().contains('\0'));
        if let Command::Statement(statement) = command {
            assert_eq!(statement.index(), statements);
            statements += 1;
            out.clear();
            statement.write_simple(&variables, &mut out);
            assert!(std::str::from_utf8(&out).is_ok() || std::str::from_utf8(text).is_err());
            assert_eq!(
                statement.parameterized().contains('$'),
                statement.text().contains('$') || !statement.parameters().is_empty()
            );
        }
    }
    assert_eq!(statements, script.statements());
    for each in [false, true] {
        drive(&script, &mut variables.clone(), &mut random, each);
    }
    true
}

/// Executes a script until it ends or fails. Whatever it does, it goes forward.
fn drive(script: &Script, variables: &mut Variables, random: &mut Random, each: bool) {
    let mut cursor = Cursor::default();
    let mut before = None;
    loop {
        let mut step = script.next(&mut cursor, variables, random, each);
        if step == Ok(Step::End) {
            assert_eq!(cursor.command(), script.commands().len());
            assert!(!cursor.in_pipeline());
            return;
        }
        if step == Ok(Step::Shell) {
            let line = script.shell_line(&cursor, variables);
            let done = line
                .and_then(|line| script.shell_done(&cursor, variables, line.text.len() % 2 == 0, line.text.as_bytes()));
            step = done.map(|()| Step::Shell);
        }
        if let Err(error) = step {
            assert!(error.to_string().ends_with("error found here"));
            assert!(error.aborted(0, 0).starts_with("client 0 aborted"));
            return;
        }
        assert!(before < Some(cursor.command()));
        before = Some(cursor.command());
    }
}

proptest! {
    #[test]
    fn noise(text in soup::noise()) {
        exercise(text);
    }

    #[test]
    fn bytes(text in soup::script(), changed: Vec<(usize, u8)>) {
        let mut bytes = text.into_bytes();
        let length = bytes.len().max(1);
        for (at, byte) in changed {
            if let Some(place) = bytes.get_mut(at % length) {
                *place = byte | 0x80;
            }
        }
        exercise(bytes);
    }

    #[test]
    fn scripts(text in soup::script()) {
        exercise(text);
    }

    #[test]
    fn control(text in soup::control()) {
        exercise(text);
    }

    #[test]
    fn words(text in soup::words()) {
        exercise(text);
    }

    #[test]
    fn expressions(text in soup::expression()) {
        prop_assert!(exercise(text));
    }
}

#[test]
fn deep_nesting_is_an_error() {
    let deep = 100_000;
    // Half of what a thread has by default.
    let thread = std::thread::Builder::new().stack_size(1024 * 1024).spawn(move || {
        for text in [
            "(".repeat(deep),
            format!("{}1{}", "(".repeat(deep), ")".repeat(deep)),
            format!("{}1", "- ".repeat(deep)),
            format!("{}1", "not ".repeat(deep)),
            format!("{}1", "~".repeat(deep)),
            format!("1{}", " + 1".repeat(deep)),
            format!("1{}", " isnull".repeat(deep)),
            format!("{}1", "1 + (".repeat(deep)),
            "abs(".repeat(deep),
            "case when ".repeat(deep),
            "case when 1 then 2 else ".repeat(deep),
        ] {
            let error = Script::parse("deep.sql", &format!("\\set x {text}"), &mut Symbols::new()).unwrap_err();
            assert!(error.message().contains("too deep"), "{error}");
        }
        // What is just possible can be parsed, evaluated and dropped.
        for text in [
            format!("{}1{}", "abs(".repeat(127), ")".repeat(127)),
            format!("1{}", " + 1".repeat(127)),
        ] {
            assert!(exercise(format!("\\set x {text}")));
        }
    });
    thread.unwrap().join().unwrap();
}
