//! Variables that nothing sets.

use dyno_script::{Defined, Script, Symbols};

/// What is said of a script that has the parameter `rows`.
fn said(text: &str, quoted: bool) -> Option<String> {
    let mut symbols = Symbols::new();
    let script = Script::parse("s.sql", text, &mut symbols).expect("it follows the language");
    let mut defined = Defined::new(["rows", "client_id"], &symbols);
    defined.add(&script);
    let checked = script.check_defined(&defined, &symbols, quoted);
    checked.err().map(|error| error.to_string())
}

#[test]
fn what_is_set_somewhere_is_defined() {
    for text in [
        "select :rows, :client_id, 1::int, a[1:2], '12:30:00';",
        "select :later;\n\\set later 1 + :rows",
        "select 1 as one \\gset p_\nselect :p_one;",
        "\\setshell out echo 1\n\\sleep :out ms\n\\setrandom r 1 :rows\nselect :r;",
    ] {
        assert_eq!(said(text, true), None, "{text}");
    }
}

#[test]
fn what_nothing_sets_is_told_with_its_place() {
    for (text, place) in [
        ("select 1;\nselect 2,\n  :rowz;", "s.sql:3:3: "),
        (
            "\\set x case when true then 1 else greatest(1, :rowz) end",
            "s.sql:1:47: ",
        ),
        ("\\set x random_gaussian(1, :rowz, 5)", "s.sql:1:27: "),
        ("\\if :rowz > 1\nselect 1;\n\\endif", "s.sql:1:5: "),
        ("\\sleep :rowz ms", "s.sql:1:8: "),
        ("\\shell echo :rowz", "s.sql:1:13: "),
        ("select 'a' || :rowz || 'b';", "s.sql:1:15: "),
        ("select $x$ a:b $x$, /* ' */ :rowz;", "s.sql:1:"),
    ] {
        let error = said(text, false).unwrap_or_else(|| panic!("nothing is said of {text}"));
        assert!(error.starts_with(place), "{text}: {error}");
        assert!(error.contains("nothing sets the variable \":rowz\""), "{error}");
    }
}

#[test]
fn names_in_quotes_count_where_they_become_parameters() {
    for text in [
        "select 'it''s :b', 1;",
        "select \"a:b\", 1;",
        "select $$ :b $$, $t$ :c $$ $t$;",
        "select 1 -- :b\n, 2;",
        "select 1 /* :b */;",
    ] {
        assert_eq!(said(text, false), None, "{text}");
    }
    assert!(said("select '{a:b}';", true).is_some());
}

#[test]
fn a_variable_is_used_wherever_its_name_stands() {
    for (text, uses) in [
        ("select 1;", false),
        ("select :rowsier, 'rows', 1::rows;", false),
        ("\\set rows 2", false),
        ("\\set rows :rows * 2", true),
        ("select ':rows';", true),
        ("\\sleep :rows ms", true),
    ] {
        let mut symbols = Symbols::new();
        let script = Script::parse("s.sql", text, &mut symbols).expect("it follows the language");
        assert_eq!(script.uses("rows", &symbols), uses, "{text}");
    }
}
