//! The documentation holds together: each link leads somewhere, and each page is in the book.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// The pages in `docs`, and those beside it that are read on their own.
fn pages() -> Vec<PathBuf> {
    let beside = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let mut pages: Vec<_> = beside.iter().map(|name| root().join(name)).collect();
    let docs = fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    pages.extend(docs.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    pages
}

/// A page in its parts: where its links lead, and by which names its headings can be linked to.
struct Page {
    links: Vec<String>,
    anchors: HashSet<String>,
}

impl Page {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let (mut links, mut headings, mut heading) = (Vec::new(), Vec::new(), None);
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    links.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                Event::End(TagEnd::Heading(_)) => headings.extend(heading.take()),
                _ => {}
            }
        }
        let mut seen = HashMap::new();
        let anchors = headings.iter().map(|heading| {
            let name = anchor(heading);
            let before: &mut usize = seen.entry(name.clone()).or_default();
            *before += 1;
            match *before {
                1 => name,
                again => format!("{name}-{}", again - 1),
            }
        });
        let anchors = anchors.collect();
        Self { links, anchors }
    }
}

/// What a heading can be linked to by: as the sites that show Markdown make it, and mdBook as well.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|letter| match letter {
        letter if letter.is_whitespace() => Some('-'),
        letter => (letter.is_alphanumeric() || "-_".contains(letter)).then_some(letter),
    });
    kept.collect::<String>().to_lowercase()
}

/// Why a link of the page at `path` leads nowhere, if it does.
fn wrong(path: &Path, link: &str) -> Option<String> {
    if link.contains("://") {
        return None;
    }
    let (file, name) = link.split_once('#').unwrap_or((link, ""));
    let to = match file {
        "" => path.to_owned(),
        file => path.parent().unwrap().join(file),
    };
    if !to.exists() {
        return Some("there is no such file".to_owned());
    }
    let known = name.is_empty() || Page::read(&to).anchors.contains(name);
    (!known).then(|| format!("there is no heading #{name}"))
}

#[test]
fn links_lead_somewhere() {
    let mut complaints = Vec::new();
    let mut checked = 0;
    for path in pages() {
        for link in Page::read(&path).links {
            checked += 1;
            let reason = wrong(&path, &link);
            complaints.extend(reason.map(|reason| format!("{}: {link}: {reason}", path.display())));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(checked > 100, "{checked}");
}

#[test]
fn links_that_lead_nowhere_are_found() {
    let page = root().join("docs/formats.md");
    assert_eq!(wrong(&page, "#intervalscsv"), None);
    assert_eq!(wrong(&page, "experiment-files.md#serversname"), None);
    assert_eq!(wrong(&page, "../bench/results"), None);
    assert!(wrong(&page, "#no-such-heading").is_some());
    assert!(wrong(&page, "experiment-files.md#no-such-heading").is_some());
    assert!(wrong(&page, "no-such-page.md").is_some());
}

#[test]
fn each_page_is_in_the_book() {
    let summary = root().join("docs/SUMMARY.md");
    let listed: HashSet<PathBuf> = Page::read(&summary)
        .links
        .iter()
        .map(|link| summary.parent().unwrap().join(link))
        .collect();
    let docs = pages().into_iter().filter(|page| page.parent() == summary.parent());
    let missing: Vec<_> = docs.filter(|page| *page != summary && !listed.contains(page)).collect();
    assert!(
        missing.is_empty(),
        "pages that docs/SUMMARY.md does not list: {missing:?}"
    );
}
