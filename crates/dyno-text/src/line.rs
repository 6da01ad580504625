//! Text as a part of a sentence.

/// The first `most` characters of a text, in one line: what a stranger says may have any length and many lines. White
/// space of any kind becomes a single space, and what is left out an ellipsis.
pub fn one_line(text: &str, most: usize) -> String {
    let words = text.split_whitespace();
    let mut letters = words.flat_map(|word| std::iter::once(' ').chain(word.chars())).skip(1);
    let mut line: String = letters.by_ref().take(most).collect();
    if letters.next().is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_lines_become_a_short_one() {
        for (text, line) in [
            ("", ""),
            ("too many connections", "too many connections"),
            (" Too\r\n  many\tconnections\n", "Too many connections"),
            ("Too many connections, far too many", "Too many connections…"),
            ("Too many connections ", "Too many connections"),
        ] {
            assert_eq!(one_line(text, 20), line);
        }
    }
}
