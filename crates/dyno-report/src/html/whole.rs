//! What must not be broken at the end of a line: options, names of runs, figures with their units.
//!
//! Browsers break lines behind every hyphen, so that a reader finds `--` here and `repeat 4` there. The characters stay
//! as they are, because people copy options and names from reports.

use minijinja::{HtmlEscape, Value};

/// What is longer is broken all the same: it may not fit into a line of a telephone.
const LONGEST: usize = 24;

/// Units that stand behind figures.
const UNITS: [&str; 17] = [
    "%", "ns", "µs", "ms", "s", "min", "h", "B", "kB", "MB", "GB", "TB", "TPS", "QPS", "clients", "runs", "×",
];

/// `text` as HTML in which lines break between words alone.
pub(crate) fn whole(text: &str) -> Value {
    let words: Vec<&str> = text.split(' ').collect();
    let mut groups = Vec::new();
    let mut rest = words.as_slice();
    while let Some((first, others)) = rest.split_first() {
        let joined = match others.first() {
            Some(second) if belong(first, second) => 2,
            _ => 1,
        };
        groups.push(group(&rest[..joined]));
        rest = &rest[joined..];
    }
    Value::from_safe_string(groups.join(" "))
}

/// Whether a word is an option, such as `--repeat`, also at the begin of a parenthesis.
fn is_option(word: &str) -> bool {
    let name = word.trim_start_matches(['(', '"', '`']);
    name.strip_prefix("--").is_some_and(|name| !name.is_empty())
}

/// Whether a word holds together though it has hyphens: options, names of runs or campaigns, times.
pub(super) fn holds_together(word: &str) -> bool {
    is_option(word) || is_name(word)
}

/// A word that holds together, in as few pieces as may be, each as `long` writes it if it is too long for one.
pub(super) fn in_one(word: &str, long: fn(&str) -> String) -> String {
    let mut pieces: Vec<String> = Vec::new();
    for part in word.split_inclusive('-') {
        match pieces.last_mut() {
            Some(piece) if piece.chars().count() + part.chars().count() <= LONGEST => piece.push_str(part),
            _ => pieces.push(part.to_owned()),
        }
    }
    let written = |piece: &String| match piece.chars().count() {
        ..=LONGEST => span(piece),
        _ => long(piece),
    };
    pieces.iter().map(written).collect()
}

fn group(words: &[&str]) -> String {
    match words {
        [word] if holds_together(word) => in_one(word, escaped),
        [word] => escaped(word),
        words => span(&words.join(" ")),
    }
}

fn escaped(text: &str) -> String {
    HtmlEscape(text).to_string()
}

fn span(text: &str) -> String {
    format!("<span class=\"whole\">{}</span>", HtmlEscape(text))
}

/// Whether a word is a name or a time: other words with hyphens have neither digits nor an equals sign.
fn is_name(word: &str) -> bool {
    let inner = word.trim_matches(|char: char| !char.is_alphanumeric());
    inner.contains('-') && inner.contains(|char: char| char.is_ascii_digit() || char == '=')
}

/// Whether two words are a figure and its unit, or an option and its value.
fn belong(first: &str, second: &str) -> bool {
    let unit = second.trim_end_matches(['.', ',', ';', ':', ')']);
    let is_figure =
        first.ends_with(|last: char| last.is_ascii_digit()) && !first.contains(|char: char| char.is_alphabetic());
    let takes_value = is_option(first) && first.ends_with(char::is_alphanumeric) && !first.contains('=');
    let is_value = second.starts_with(|first: char| first.is_ascii_digit()) || second.contains('=');
    let fits = first.chars().count() + second.chars().count() < LONGEST;
    fits && (is_figure && UNITS.contains(&unit) || takes_value && is_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str) -> String {
        whole(text)
            .to_string()
            .replace("<span class=\"whole\">", "[")
            .replace("</span>", "]")
    }

    #[test]
    fn options_names_and_figures_hold_together() {
        assert_eq!(
            marked("throughput \u{2212}82.8 %; a test needs 4 (--repeat 4), or --no-sampling."),
            "throughput [\u{2212}82.8 %;] a test needs 4 [(--repeat 4),] or [--no-sampling.]"
        );
        assert_eq!(
            marked("Run 001-clients=2-rep1 has 1,234 TPS."),
            "Run [001-clients=2-rep1] has [1,234 TPS.]"
        );
        assert_eq!(
            marked("a closed-loop, low-level word - and 3 words"),
            "a closed-loop, low-level word - and 3 words"
        );
    }

    #[test]
    fn what_is_long_is_broken_between_its_words() {
        assert_eq!(
            marked("2026-11-27T19-43-59-htap-in-list"),
            "[2026-11-27T19-43-59-][htap-in-list]"
        );
        assert_eq!(
            marked("--set target=embedded:18,embedded:mariadb"),
            "[--set] target=embedded:18,embedded:mariadb"
        );
    }

    #[test]
    fn text_is_text() {
        assert_eq!(marked("--set a=<b>  &"), "[--set a=&lt;b&gt;]  &amp;");
    }
}
