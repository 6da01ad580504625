//! The command lines of the documentation are such as dyno understands.

use super::{Cli, Command};
use clap::Parser;
use dyno_lab::series::select;
use pulldown_cmark::{CodeBlockKind, Event, Parser as Markdown, Tag, TagEnd};
use std::fs;
use std::path::{Path, PathBuf};

/// Blocks that have commands: indented ones, scripts, and workflows that have scripts in them.
const LANGUAGES: [&str; 3] = ["", "sh", "yaml"];

/// What ends a command in a line of the shell's.
const OPERATORS: [&str; 6] = ["|", "||", "&&", "&", ";", ">"];

/// How dyno may be called in the documentation.
const CALLS: [&str; 4] = ["dyno ", "nohup dyno ", "$ dyno ", "cargo run --release -- "];

/// The README and the pages in `docs`.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let docs = docs.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    std::iter::once(root.join("README.md")).chain(docs).collect()
}

/// The blocks of code of a page that may have commands in them.
fn blocks(page: &str) -> Vec<String> {
    let (mut blocks, mut block) = (Vec::new(), None);
    for event in Markdown::new(page) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match &kind {
                    CodeBlockKind::Indented => "",
                    CodeBlockKind::Fenced(language) => language,
                };
                block = LANGUAGES.contains(&language).then(String::new);
            }
            Event::Text(text) => {
                if let Some(block) = &mut block {
                    block.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => blocks.extend(block.take()),
            _ => {}
        }
    }
    blocks
}

/// The words of each call of dyno in a block, `dyno` first.
fn calls(block: &str) -> Vec<Vec<String>> {
    let block = block.replace("\\\n", " ");
    let (mut lines, mut calls) = (block.lines(), Vec::new());
    while let Some(line) = lines.next() {
        let Some(call) = CALLS.iter().find_map(|call| line.trim().strip_prefix(call)) else {
            continue;
        };
        let mut call = call.to_owned();
        let words = loop {
            if let Some(words) = shlex::split(&call) {
                break words;
            }
            // What is in quotes may have several lines.
            let next = lines.next();
            let next = next.unwrap_or_else(|| panic!("quotes are left open: {line}"));
            call = format!("{call}\n{next}");
        };
        let words = words.into_iter().take_while(|word| !OPERATORS.contains(&word.as_str()));
        calls.push(std::iter::once("dyno".to_owned()).chain(words).collect());
    }
    calls
}

/// The first word that is said to be an experiment, but is neither one that comes with dyno nor a file or folder: words
/// behind a command that lack their `#`.
fn prose(cli: &Cli) -> Option<&str> {
    let experiments = match cli.command.as_ref()? {
        Command::Run(arguments) => &arguments.experiments,
        _ => return None,
    };
    let is_one = |name: &String| {
        let is_path = name.ends_with(".toml") || name.contains('/') || name == &name.to_uppercase();
        is_path || select(std::slice::from_ref(name)).is_ok()
    };
    experiments.iter().find(|name| !is_one(name)).map(String::as_str)
}

#[test]
fn every_command_of_the_documentation_is_understood() {
    let (mut understood, mut complaints) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for words in blocks(&text).iter().flat_map(|block| calls(block)) {
            match Cli::try_parse_from(&words) {
                Ok(cli) => match prose(&cli) {
                    Some(word) => complaints.push(format!("{}: {}: {word}", page.display(), words.join(" "))),
                    None => understood += 1,
                },
                Err(error) => complaints.push(format!("{}: {}\n{error}", page.display(), words.join(" "))),
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(understood > 100, "{understood}");
}

#[test]
fn commands_are_found_as_a_shell_would_read_them() {
    let page = "Text dyno run x.\n\n    dyno run 'a b' \\\n        --size full   # as published\n    dyno list | less\n\
                \n```text\ndyno says something\n```\n\n```sh\ncargo run --release -- show\ndyno run 'c\nd'\n```\n";
    let found: Vec<_> = blocks(page).iter().flat_map(|block| calls(block)).collect();
    let expected: [&[&str]; 4] = [
        &["dyno", "run", "a b", "--size", "full"],
        &["dyno", "list"],
        &["dyno", "show"],
        &["dyno", "run", "c\nd"],
    ];
    assert_eq!(found, expected);
}
