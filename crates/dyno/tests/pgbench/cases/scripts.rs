//! Scripts of one's own: every meta command, values, several files.

use crate::case::What::Stderr;
use crate::case::{case, compare_all, script};

/// Neither side's buffers hold what it has to say.
fn long_pipeline() -> String {
    let select = format!("select '{}';\n", "x".repeat(1000));
    format!("\\startpipeline\n{}\\endpipeline\n", select.repeat(2000))
}

#[test]
fn meta_commands() {
    compare_all(
        "meta",
        &[],
        vec![
            script("select 1;"),
            script("select 1"),
            script("select 1; select 2;\nselect 3;").with("-r"),
            script("select 1\\; select 2;").with("-r"),
            script("-- only a comment\nselect 1; -- and another\n/* more */ select 2;").with("-r"),
            script("\\set a 1\n\\set b :a + 1\nselect :b;").with("-r"),
            script("\\set a 1 \\\n + 2\nselect :a;").with("-r"),
            script("\\set a debug(1)\n\\set b debug(1.5)\n\\set c debug(true)\n\\set d debug(null)\n"),
            script("\\set a debug(random(1, 1000000))\n").with("--random-seed=1"),
            script("\\set a debug(random_gaussian(1, 1000, 3.0))\n").with("--random-seed=1"),
            script("\\set a debug(random_exponential(1, 1000, 3.0))\n").with("--random-seed=1"),
            script("\\set a debug(random_zipfian(1, 1000, 1.3))\n").with("--random-seed=1"),
            script("\\set a debug(hash(5))\n\\set b debug(permute(3, 10))\n").with("--random-seed=1"),
            script("\\set a debug(:client_id)\n\\set b debug(:scale)\n").with("-s 5"),
            script("\\set a debug(:random_seed)\n\\set b debug(:default_seed)\n").with("--random-seed=1"),
            script("\\set a debug(:x)\n").with("-D x=5"),
            script("\\set a debug(:x)\n").with("-D x=5.5"),
            script("\\set a debug(:x)\n").with("-D x=true"),
            script("\\set a debug(:x)\n").with("-D x=abc"),
            script("\\set a debug(:client_id)\n").with("-D client_id=9"),
            script("\\set a debug(:scale)\n").with("-D scale=9 -s 4"),
            script("\\set a debug(:random_seed)\n").with("-D random_seed=9"),
            script("\\set a debug(:x)\n").with("-D x=1 -D x=2"),
            script("\\if 1\nselect 1;\n\\else\nselect 2;\n\\endif\n").with("-r"),
            script("\\if 0\nselect 1;\n\\elif 1\nselect 2;\n\\else\nselect 3;\n\\endif\n").with("-r"),
            script("\\if 0\n\\if 1/0\nselect 1;\n\\endif\n\\endif\n").with("-r"),
            script("\\if null\nselect 1;\n\\endif\n").with("-r"),
            script("\\sleep 1 ms\n\\sleep 10 us\nselect 1;").with("-r"),
            script("\\sleep 0\n").with("-r"),
            script("\\sleep 2ms\n").with("-r"),
            script("select 1 as a, 'x' as b \\gset\nselect :a, :'b';\n").with("-r"),
            script("select 1 as a \\gset p_\n\\set b debug(:p_a)\n").with("-r"),
            script("select 1 as a \\; select 2 as b \\gset\n\\set b debug(:b)\n").with("-r"),
            script("select 1 as a \\; select 2 as b \\aset\n\\set b debug(:a + :b)\n").with("-r"),
            script("select null as a \\gset\nselect ':a';\n").with("-M extended"),
            script("select 5 as a \\gset\n\\set b debug(:a)\n").with("-M prepared -t 3"),
            script("\\shell true\n").with("-r"),
            script("\\setshell a echo 5\n\\set b debug(:a)\n").with("-r"),
            script("\\set a 3\n\\setshell b expr :a + 1\n\\set c debug(:b)\n"),
            script("\\startpipeline\nselect 1;\nselect 2;\n\\endpipeline\n").with("-M extended -r"),
            script("\\startpipeline\nselect 1;\nselect 2;\n\\endpipeline\n").with("-M prepared -r"),
            script("\\startpipeline\nbegin;\nselect 2;\nend;\n\\endpipeline\nselect 3;").with("-M extended -t 3"),
            script(&long_pipeline()).with("-M extended -t 2"),
            script("select 1;\n\\sleep 1 ms\n").with("-C -t 3"),
            script("select 1;\n\\sleep 1 ms\n").with("-C -t 5 -R 2000"),
            script("\\set x 7\nselect ':x', :x, x::int from (select :x as x) t;"),
            script("\\set x 7\nselect :x, :x::int;").with("-M extended"),
            script("\\set x -7\nselect 5-:x;"),
            case("-n -t 2 -f -").stdin("select 1;\n"),
            case("-n -t 2 -f a.sql -f b.sql@2 --random-seed=3")
                .file("a.sql", "select 1;")
                .file("b.sql", "\\set a 1\nselect 2;"),
            case("-n -t 2 -r -f a.sql -f b.sql@2 --random-seed=3")
                .file("a.sql", "select 1;")
                .file("b.sql", "\\set a 1\nselect 2;"),
            case("-n -t 10 -f a.sql@0 -f b.sql@2")
                .file("a.sql", "select 1;")
                .file("b.sql", "select 2;"),
            case("-n -c 2 -j 2 -t 2 -f s.sql").file("s.sql", "select 1;"),
            script("do $$ begin raise notice 'hello'; raise warning 'world'; end $$;"),
            case("-t 1 -f s.sql").file("s.sql", "select 1;"),
            case("-v -t 1 -f s.sql").file("s.sql", "select 1;"),
        ],
    );
}

/// What is given with `-D` is read as C's library reads numbers.
#[test]
fn definitions() {
    let values = [
        "0x10",
        "-0X1.8p1",
        "0x",
        "0x1p-2000",
        "99999999999999999999",
        "-9223372036854775808",
        "-9223372036854775809",
        "9223372036854775808.5",
        "1e400",
        "1e-400",
        "nan",
        "nan(1)",
        "-INFINITY",
        "infi",
        "' 5'",
        "'5 '",
        "' '",
        "+",
        "-0",
        "5.",
        ".5",
        ".",
        "1e",
        "1_000",
        "TRUE",
        "y",
        "On",
        "o",
        "of",
        "nul",
        "NULL",
    ];
    let mut cases: Vec<_> = values
        .iter()
        .map(|value| script("\\set a debug(:x)\n").with(&format!("-D x={value}")))
        .collect();
    cases.push(script("select (array[1,2,3])[1:1];").with("-D x=1"));
    compare_all("definitions", &[], cases);
}

#[test]
fn functions_take_sixteen_arguments() {
    let least = |count: i32| {
        let numbers: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
        format!("least({})", numbers.join(", "))
    };
    compare_all(
        "arguments",
        &[],
        vec![
            script(&format!("\\set a debug({})\n", least(16))),
            script(&format!("\\set a debug({})\n", least(17))),
            script(&format!("\\set a debug(least({}, 1))\n", least(17))),
            script(&format!("\\set a case when 0 then {} else debug(1) end\n", least(17))),
            script("\\set a greatest(debug(1),2,3,4,5,6,7,8,9,10,11,12,13,14,15,debug(16),debug(17))\n"),
        ],
    );
}

#[test]
fn mistakes() {
    compare_all(
        "mistakes",
        &[],
        vec![
            script(""),
            script("-- nothing\n"),
            script("\\foo\n"),
            script("\\set\n"),
            script("\\set a\n"),
            script("\\set a 1 +\n"),
            script("\\set a (1\n"),
            script("\\set a 1 2\n"),
            script("\\set a foo(1)\n"),
            script("\\set a abs(1, 2)\n"),
            script("\\set a 99999999999999999999\n"),
            script("select 1;\n\\set a :b$\n"),
            script("\\sleep\n"),
            script("\\sleep 1 h\n"),
            script("\\sleep x\n"),
            script("\\sleep 1 ms x\n"),
            script("\\shell\n"),
            script("\\setshell a\n"),
            script("\\if\n"),
            script("\\if 1\nselect 1;\n"),
            script("\\endif\n"),
            script("\\else\n"),
            script("\\elif 1\n"),
            script("\\if 1\n\\else\n\\else\n\\endif\n"),
            script("\\if 1\n\\else\n\\elif 1\n\\endif\n"),
            script("\\if 1\n\\endif x\n"),
            script("\\gset\n"),
            script("\\set a 1\n\\gset\n"),
            script("select 1 \\gset a b\n"),
            script("\\startpipeline x\n"),
            script("select 1;").with("-f nosuchfile"),
        ],
    );
}

/// Bytes that are not UTF-8 go through as they are, whatever encoding they are meant in.
#[test]
fn other_encodings() {
    let latin1 = |text: &[u8]| script(text).env("PGCLIENTENCODING", "LATIN1");
    let prepared = "-M prepared -t 2";
    compare_all(
        "encodings",
        &[],
        vec![
            script(b"-- caf\xe9 \xfc\n\\set a 1 -- no comment\n"),
            script(b"-- caf\xe9 \xfc\nselect 1;\n"),
            script(b"/* caf\xe9 */ select 1;\n").with("-r"),
            script(b"select 'caf\xe9';\n"),
            script(b"select 'caf\xe9';\n").with("-M extended"),
            script(b"select 'caf\xe9';\n").with(prepared),
            latin1(b"select 'caf\xe9' as \"na\xefve\";\n").with("-r"),
            latin1(b"select 1 / (length('\xe9') - 1);\n"),
            latin1(b"select 1 / (length('\xe9') - 1);\n").with("-M extended"),
            latin1(b"select 1 / (length('\xe9') - 1);\n").with("-M prepared"),
            latin1(b"select '\xe9' from caf\xe9 where x = 1;\n"),
            latin1(b"select '\xe9' from caf\xe9 where x = 1;\n").with("-M extended"),
            latin1(b"select '\xe9' from caf\xe9 where x = 1;\n").with("-M prepared"),
            latin1(b"do $$ begin raise notice 'caf\xe9'; end $$;\n"),
            latin1(b"do $$ begin raise exception 'caf\xe9' using hint = '\xfc'; end $$;\n"),
            latin1(b"do $\xe9$ begin raise notice ';\xe9'; end $\xe9$; select 2;\n").with("-r"),
            latin1(b"select e'\\\xe9', E'\xe9\\';\xe9';\n").with("-r"),
            latin1(b"\\set caf\xe9 7\nselect :caf\xe9 as n \\gset\n\\set x debug(:n)\n").with("-r"),
            latin1(b"\\set caf\xe9 7\nselect :caf\xe9 as n \\gset\n\\set x debug(:n)\n").with(prepared),
            latin1(b"select 5 as caf\xe9 \\gset p\xfc\n\\set x debug(:p\xfccaf\xe9)\n"),
            latin1(b"select 'caf\xe9' as v \\gset\nselect 1 / (length(':v') - 4);\n"),
            latin1(b"select 'caf\xe9' as v \\gset\nselect 1 / (length(:v) - 4);\n").with("-M extended"),
            latin1(b"select 'caf\xe9' as v \\gset\n\\set x :v\n"),
            latin1(b"select 'caf\xe9' as \"caf\xe9 \" \\gset\n"),
            latin1(b"select 1 / (length(':v') - 4);\n").with(b"-D v=caf\xe9"),
            latin1(b"select 1 / (length(:v) - 4);\n").with(b"-M prepared -D v=caf\xe9"),
            latin1(b"\\set x debug(:caf\xe9)\n").with(b"-D caf\xe9=5"),
            latin1(b"\\shell echo caf\xe9\n\\setshell x echo caf\xe9\n"),
            latin1(b"\\setshell x sh -c 'echo :v | wc -c'\n").with(b"-D v=caf\xe9"),
            latin1(b"select 1;\n").with(b"-D caf\xe9"),
            latin1(b"select 1;\n").with(b"-f caf\xe9.sql"),
            script(b"\\set caf\xe9 1 +\n"),
            script(b"\\set caf\xe9 :\xe9 ^ 1\n"),
            script(b"\\set x caf\xe9(1)\n"),
            script(b"\\set x :caf\xe9\n"),
            script(b"\\sleep 1 caf\xe9\n"),
            script(b"\\sleep caf\xe9 ms\n"),
            script(b"\\caf\xe9 1\n"),
            script(b"\\sleep 1 \xe9\xc3\xa9\xe9x y\n"),
            script(&[&b"select '"[..], &[b'\xe9'; 200], b"';\n"].concat())
                .env("PGCLIENTENCODING", "LATIN1")
                .with("-r"),
            // In GBK the second byte may be a backslash, which is one for pgbench, too.
            script(b"select '\x95\x5c';\n")
                .env("PGCLIENTENCODING", "GBK")
                .with("-r"),
            script(b"select 1 as \x95\x5c;\n").env("PGCLIENTENCODING", "GBK"),
            script(b"select '\xb0\xa1' || 1 / (length('\xb0\xa1') - 1);\n").env("PGCLIENTENCODING", "EUC_CN"),
            latin1(b"select '\xc3\xa9', x from nosuch;\n"),
            script(b"select '\xb0\xa1', x from nosuch;\n")
                .env("PGCLIENTENCODING", "EUC_CN")
                .differs(
                    Stderr,
                    "characters two columns wide are one for the mark under the line",
                ),
        ],
    );
}
