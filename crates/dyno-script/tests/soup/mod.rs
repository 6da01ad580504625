//! Random scripts: arbitrary text, and soups of the language's own words, which reach deeper.

use proptest::prelude::*;

/// Pieces of SQL and meta commands that mean something to the splitter.
const PIECES: &[&str] = &[
    "'",
    "\"",
    "''",
    "$$",
    "$a$",
    "$1",
    "/*",
    "*/",
    "--",
    "\n",
    "\r\n",
    ";",
    "\\;",
    "\\:",
    "\\",
    "(",
    ")",
    "begin",
    "end",
    "create",
    "function",
    "or",
    "replace",
    "case",
    "e'",
    "E'",
    "U&'",
    "u&\"",
    "1e'",
    "1e-",
    "1.",
    ".5e",
    "select",
    "a",
    "a$",
    ":",
    "::",
    ":a",
    ":b",
    ":unset",
    "\u{e9}",
    "\u{1f600}",
    "1",
    " ",
    " ",
    "\t",
    "\\set ",
    "\\set a ",
    "\\setrandom a 1 ",
    "\\setrandom ",
    "gaussian",
    "exponential 2",
    "\\sleep ",
    "\\sleep 1 us",
    "\\if ",
    "\\if 1\n",
    "\\if :a > 5\n",
    "\\elif :b\n",
    "\\elif null\n",
    "\\else\n",
    "\\endif\n",
    "\\gset\n",
    "\\gset p_\n",
    "\\aset ",
    "\\shell echo :a ::b\n",
    "\\shell ",
    "\\setshell a echo 1\n",
    "\\setshell ",
    "\\startpipeline\n",
    "\\syncpipeline\n",
    "\\endpipeline\n",
    "\\nosuch",
    "\\\n",
    "\\\r\n",
    "\0",
];

/// Pieces of expressions.
const WORDS: &[&str] = &[
    "+",
    "-",
    "*",
    "/",
    "%",
    "<",
    "<=",
    ">",
    ">=",
    "=",
    "<>",
    "!=",
    "|",
    "&",
    "#",
    "~",
    "<<",
    ">>",
    "(",
    ")",
    ",",
    "and",
    "or",
    "not",
    "is",
    "isnull",
    "notnull",
    "null",
    "true",
    "false",
    "case",
    "when",
    "then",
    "else",
    "end",
    "1",
    "0",
    "2.5",
    "1e308",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    ":a",
    ":b",
    ":text",
    ":unset",
    "abs(",
    "debug(",
    "pi()",
    "sqrt(",
    "int(",
    "double(",
    "ln(",
    "exp(",
    "mod(",
    "pow(",
    "least(",
    "greatest(",
    "random(",
    "hash(",
    "random_gaussian(",
    "random_exponential(",
    "random_zipfian(1, 10,",
    "permute(",
    "hash_fnv1a(",
    "\\\n",
    "\u{e9}",
    "^",
];

fn joined(pieces: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(pieces), 0..most).prop_map(|pieces| pieces.concat())
}

/// Operators between two operands.
const OPERATORS: &[&str] = &[
    "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "=", "<>", "!=", "|", "&", "#", "<<", ">>", "and", "or",
];

/// Any bytes, read as text.
pub fn noise() -> impl Strategy<Value = String> {
    prop::collection::vec(any::<u8>(), 0..80).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// A script made of the language's own pieces.
pub fn script() -> impl Strategy<Value = String> {
    joined(PIECES, 30)
}

/// A `\set` of words at random: most are syntax errors.
pub fn words() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS), 0..25).prop_map(|words| format!("\\set x {}", words.join(" ")))
}

/// A `\set` with a correct expression.
pub fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(
        &[
            "0",
            "1",
            "-1",
            "64",
            "2.5",
            "1e300",
            "null",
            "true",
            "false",
            ":a",
            ":b",
            ":text",
            ":unset",
            "9223372036854775807",
            "-9223372036854775808",
            "1e-300",
            "(0.0 / 0)",
        ][..],
    )
    .prop_map(str::to_owned);
    let tree = leaf.prop_recursive(5, 40, 4, |inner| {
        let operator = prop::sample::select(OPERATORS);
        let unary = prop::sample::select(&["-", "~", "not ", "+"][..]);
        let function = prop::sample::select(
            &[
                ("abs", 1),
                ("debug", 1),
                ("sqrt", 1),
                ("ln", 1),
                ("exp", 1),
                ("int", 1),
                ("double", 1),
                ("mod", 2),
                ("pow", 2),
                ("hash", 1),
                ("hash_fnv1a", 2),
                ("permute", 3),
                ("permute", 2),
                ("random", 2),
                ("random_gaussian", 3),
                ("random_exponential", 3),
                ("least", 4),
                ("greatest", 3),
            ][..],
        );
        let arguments = prop::collection::vec(inner.clone(), 4);
        prop_oneof![
            4 => (inner.clone(), operator, inner.clone()).prop_map(|(a, operator, b)| format!("({a} {operator} {b})")),
            1 => (unary, inner.clone()).prop_map(|(operator, a)| format!("({operator} {a})")),
            1 => inner.clone().prop_map(|a| format!("({a} is not null)")),
            1 => (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("case when {a} then {b} else {c} end")),
            4 => (function, arguments)
                .prop_map(|((name, count), arguments)| format!("{name}({})", arguments[..count].join(", "))),
            // Any parameter but a hopeless one: near 1.001 a draw from a small range takes ages, in pgbench too.
            1 => (inner, prop::sample::select(&["1.5", "1000", "1", "null"][..]))
                .prop_map(|(a, parameter)| format!("random_zipfian(1, {a}, {parameter})")),
        ]
    });
    tree.prop_map(|tree| format!("\\set x {tree}"))
}

/// Conditions, results, shell commands and pipelines, mostly where they may be.
pub fn control() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(
        &[
            "select :a;\n",
            "select 1 as a \\gset\n",
            "select 1\\; select 2 \\aset p_\n",
            "\\set a :a + 1\n",
            "\\set 1x 1\n",
            "\\sleep :a us\n",
            "\\shell true :a\n",
            "\\setshell a echo :b\n",
            "\\startpipeline\n",
            "\\syncpipeline\n",
            "\\endpipeline\n",
            "\\else\n",
            "\\elif 1\n",
        ][..],
    )
    .prop_map(str::to_owned);
    leaf.prop_recursive(4, 40, 4, |inner| {
        let condition = prop::sample::select(&["1", "0", ":a > 5", "null", ":unset", "debug(:b) < 0"][..]);
        let blocks = prop::collection::vec((condition, inner.clone()), 1..4);
        let otherwise = prop::option::of(inner.clone());
        prop_oneof![
            2 => (blocks, otherwise).prop_map(|(blocks, otherwise)| {
                let mut text = String::new();
                for (number, (condition, block)) in blocks.into_iter().enumerate() {
                    let name = if number == 0 { "if" } else { "elif" };
                    text.push_str(&format!("\\{name} {condition}\n{block}"));
                }
                if let Some(otherwise) = otherwise {
                    text.push_str(&format!("\\else\n{otherwise}"));
                }
                text + "\\endif\n"
            }),
            1 => inner.clone().prop_map(|block| format!("\\startpipeline\n{block}\\endpipeline\n")),
            2 => (inner.clone(), inner).prop_map(|(first, second)| first + &second),
        ]
    })
}
