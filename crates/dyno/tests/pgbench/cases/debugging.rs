//! `--debug` tells every step of every client, in the order in which it is taken.

use crate::case::{Case, case, compare_all, script};

const SERIALIZATION: &str = "begin;\ndo $$ begin raise exception 'again' using errcode = '40001'; end $$;\nend;\n";

fn debugged(text: &str, words: &str) -> Case {
    script(text).with("--debug --random-seed=5").with(words)
}

#[test]
fn every_step_is_told() {
    let meta = "\\set aid random(1, 1000)\n\\set b debug(:aid)\n\\SLEEP 1 \\\n us\n\\if :aid > 2000\nselect \
                5;\n\\elif 0\nselect 6;\n\\else\n\
        select :aid as z \\gset p_\n\\endif\n\\if 1\nselect :p_z, :aid::int;\n\\elif 1\nselect 8;\n\\else\nselect \
                9;\n\\endif\n\
        select 1 as q \\; select 2 as r \\aset\n";
    let shell = "\\set a debug(1)\n\\shell true\n\\set b debug(2)\n\\setshell c echo 5\n\\setshell c expr  :c + \
                 1\n\\set d debug(:c)\n";
    let pipeline = "\\set a 1\nselect 0;\n\\startpipeline\nselect 1, :a;\nselect 2;\n\\endpipeline\nselect 3;\n";
    let mut cases = vec![
        debugged(shell, ""),
        debugged(shell, "-r"),
        debugged("select 1,\n  2;\n", "-C -t 2"),
        debugged("select 1;\n", "-R 1000 -L 1000 -t 3"),
        debugged("select 1;\n", "-c 2").unordered(),
        debugged("\\set a 1/0\n", ""),
        debugged("\\startpipeline\nselect 1;\n\\endpipeline\n", ""),
        debugged("\\startpipeline\nselect 1;\n", "-M extended"),
        debugged(
            "\\startpipeline\nselect 1/0;\nselect 2;\n\\endpipeline\n",
            "-M extended",
        ),
        debugged(SERIALIZATION, "--max-tries=2 -t 2"),
        case("-n -d -t 4 --random-seed=3 -f a.sql -f b.sql -M prepared")
            .file("a.sql", "select 1;\nselect 2;")
            .file("b.sql", "\\set a 1\nselect 3;"),
        case("-i -q -d"),
        case("-d -t 2 --random-seed=5"),
        case("-d -S -N -t 2 --random-seed=5 -M prepared"),
    ];
    for protocol in ["-M simple", "-M extended", "-M prepared"] {
        for text in [meta, pipeline, SERIALIZATION, "select 1/0;\n", "select nosuch;\n"] {
            cases.push(debugged(text, protocol).with("-t 2 --max-tries=2 --verbose-errors"));
        }
    }
    compare_all("debugging", &["-i -q"], cases);
}
