//! What an installed dyno brings along: completions for shells, manual pages, and what a report of a bug should say.

use crate::support::Desk;
use std::fs;
use std::process::{Command, Stdio};

#[test]
fn a_bug_report_says_what_was_built_and_where_it_runs() {
    let desk = Desk::new();
    for words in ["--version", "-V"] {
        let ended = desk.dyno(words);
        assert_eq!((ended.code, ended.stdout.lines().count()), (Some(0), 1), "{ended:?}");
        assert!(ended.stdout.starts_with("dyno "), "{ended:?}");
    }
    // As if they had been fetched; one is not whole yet.
    for folder in ["postgresql/18.6.0", "postgresql/.staging-17.9.0", "mariadb/11.4.8"] {
        fs::create_dir_all(desk.path().join("no-home").join(folder)).unwrap();
    }
    let ended = desk.dyno("--version --verbose");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let value = |name: &str| {
        let line = ended.stdout.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name} in {}", ended.stdout)).trim()
    };
    assert!(value("target").contains("linux"), "{}", ended.stdout);
    assert!(value("compiler").starts_with("rustc 1."), "{}", ended.stdout);
    assert!(value("kernel").starts_with("Linux "), "{}", ended.stdout);
    assert!(
        value("cores")
            .chars()
            .next()
            .is_some_and(|first| first.is_ascii_digit())
    );
    assert!(!value("commit").is_empty() && !value("build").is_empty() && !value("io_uring").is_empty());
    assert!(value("home").ends_with("no-home"));
    assert_eq!(value("servers"), "PostgreSQL 18.6.0, MariaDB 11.4.8");
    assert_eq!(desk.dyno("--verbose").code, Some(1));
    assert_eq!(desk.dyno("--version list").code, Some(1));
}

/// What bash proposes at the end of a line.
fn proposed(desk: &Desk, script: &str, words: &[&str]) -> Vec<String> {
    desk.file("completions.bash", script);
    let line: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let line = line.join(" ");
    let ask = format!(
        ". ./completions.bash; COMP_WORDS=({line}); COMP_CWORD={}; _dyno dyno \"${{COMP_WORDS[-1]}}\" \
         \"${{COMP_WORDS[-2]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.len() - 1
    );
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &ask])
        .current_dir(desk.path())
        .stdin(Stdio::null());
    let output = bash.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_completes_commands_and_options() {
    let desk = Desk::new();
    let script = desk.dyno("completions bash").stdout;
    assert_eq!(proposed(&desk, &script, &["dyno", "ver"]), ["versus"]);
    assert_eq!(proposed(&desk, &script, &["dyno", "run", "--rep"]), ["--repeat"]);
    assert_eq!(
        proposed(&desk, &script, &["dyno", "compare", "--format", ""]),
        ["text", "md", "json", "html"]
    );
    let all = proposed(&desk, &script, &["dyno", ""]);
    assert!(all.contains(&"run".to_owned()), "{all:?}");
    // What dyno says to itself is not for people.
    assert!(!all.contains(&"responder".to_owned()), "{all:?}");
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let ended = desk.dyno(&format!("completions {shell}"));
        assert!(ended.code == Some(0) && ended.stdout.contains("versus"), "{ended:?}");
        assert!(!ended.stdout.contains("responder"), "{shell}");
    }
    assert!(desk.dyno("completions tcsh").stderr.contains("[possible values: bash,"));
}

#[test]
fn every_command_has_a_manual_page() {
    let desk = Desk::new();
    let whole = desk.dyno("man").stdout;
    assert!(
        whole.contains("dyno\\-run(1)") && whole.contains("DYNO_HOME"),
        "{whole}"
    );
    let run = desk.dyno("man run").stdout;
    assert!(run.contains(".TH dyno-run 1") && run.contains("\\-\\-repeat"), "{run}");
    assert!(desk.dyno("man pgbench").stdout.contains("\\-\\-scale"));
    assert!(desk.dyno("man sysbench").stdout.contains("oltp_read_write"));
    for unknown in ["rnu", "responder"] {
        let ended = desk.dyno(&format!("man {unknown}"));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains(&format!("no command {unknown}")), "{ended:?}");
        assert!(ended.stderr.contains("run, versus"), "{ended:?}");
    }

    assert_eq!(desk.dyno("man --out share/man1").code, Some(0));
    let folder = desk.path().join("share/man1");
    assert_eq!(
        fs::read_to_string(folder.join("dyno-run.1")).unwrap().trim(),
        run.trim()
    );
    let help = desk.dyno("--help").stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "));
    let mut pages = 1;
    for command in commands.map(|line| line.split_whitespace().next().unwrap()) {
        if command != "help" {
            assert!(folder.join(format!("dyno-{command}.1")).exists(), "{command}");
            pages += 1;
        }
    }
    let start = fs::read_to_string(folder.join("dyno-server-start.1")).unwrap();
    assert!(start.contains("\\-\\-with"), "{start}");
    assert_eq!(desk.dyno("man server start").stdout.trim(), start.trim());
    for command in ["stop", "list", "url"] {
        assert!(folder.join(format!("dyno-server-{command}.1")).exists(), "{command}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), pages + 4);
    desk.file("taken", "");
    let ended = desk.dyno("man --out taken");
    assert!(ended.code == Some(1) && ended.stderr.contains("taken"), "{ended:?}");
}
