//! Addresses as they may be shown: without what is secret in them, and without what could be.
//!
//! An address is read as it is when it is used; then what a keyword means decides what is hidden, however it is
//! written. Where it cannot be read, for want of a quote or a letter, only what cannot be part of a password is
//! left.

use super::named::{EMBEDDED, Product, USUAL, by_name, is_uri, product};
pub(crate) use dyno_text::HIDDEN;
use dyno_text::{PASSWORDS as PARTS, is_named_secret, user_password};

/// The keyword that others which probably mean it are shown as.
const PASSWORD: &str = "password";

/// How many letters may be wrong in a keyword that is still taken for `password`.
const SLIPS: usize = 2;

/// What the value of a keyword in an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyword {
    /// It may be shown.
    Plain,
    /// It may be shown, and usually has equals signs in it.
    Assignments,
    /// It is hidden; the keyword is shown by this name.
    Secret(&'static str),
}

/// What the value of a keyword of this kind of database is; `None`: that has no such keyword, so it may be anything.
fn meaning(product: &dyn Product, keyword: &str) -> Option<Keyword> {
    let keyword = keyword.to_ascii_lowercase();
    product
        .keyword(&keyword)
        .or_else(|| resembles_password(&keyword).then_some(Keyword::Secret(PASSWORD)))
}

/// Whether the value of this keyword may be a password.
pub(crate) fn is_secret(product: &dyn Product, keyword: &str) -> bool {
    matches!(meaning(product, keyword), None | Some(Keyword::Secret(_)))
}

/// Whether `value` holds an address where the keyword takes a part of one that is shown.
pub(crate) fn is_misplaced(product: &dyn Product, keyword: &str, value: &str) -> bool {
    matches!(meaning(product, keyword), None | Some(Keyword::Plain)) && holds_address(value)
}

/// The kind of database whose addresses look like this one; of a scheme that nobody knows, the usual one.
fn owner(address: &str) -> &'static dyn Product {
    product(address.trim_start()).unwrap_or(USUAL)
}

/// Whether a lower-case keyword was probably meant to be one with a password, or is some other program's.
fn resembles_password(keyword: &str) -> bool {
    PARTS.iter().any(|part| keyword.contains(part))
        || (keyword.len() > SLIPS + 2 && strsim::osa_distance(keyword, PASSWORD) <= SLIPS)
}

/// An address as it may be shown and archived.
#[must_use]
pub fn without_secrets(address: &str) -> String {
    if has_scheme(address) {
        return in_uri(address);
    }
    if is_by_name(address) {
        return by_name_shown(address);
    }
    match address.contains('=') {
        true => in_conninfo(address),
        false => in_text(address),
    }
}

/// A word of a command line as it may be shown and archived: an address, something with an address in it, or neither.
#[must_use]
pub fn word_without_secrets(word: &str) -> String {
    // An option and its value in one word, or the option of a script and its value.
    if let Some((option, value)) = word.split_once('=')
        && (option.starts_with("--") || is_target(option) || is_of_script(option, value))
        && !option.contains(char::is_whitespace)
    {
        let value = match option {
            "--target" | "--to" => without_secrets(value),
            option if is_target(option) => list_without_secrets(value),
            SET => set_without_secrets(value),
            // Such as sysbench's --mysql-password.
            _ if is_named_secret(option, value) => HIDDEN.to_owned(),
            _ => word_without_secrets(value),
        };
        return format!("{option}={value}");
    }
    let begins_as_address = |text: &str| {
        let keyword = text.split('=').next().unwrap_or_default().trim();
        text.contains('=') && !keyword.contains(char::is_whitespace) && meaning(USUAL, &decoded(keyword)).is_some()
    };
    if is_uri(word.trim_start()) || is_by_name(word) || begins_as_address(word) {
        without_secrets(word)
    } else {
        in_text(word)
    }
}

/// Whether this is the name of where a server is.
fn is_target(name: &str) -> bool {
    name == "target" || name.ends_with(".target")
}

/// Addresses with commas between them, or one, as they may be shown and archived.
fn list_without_secrets(list: &str) -> String {
    let pieces = pieces(list);
    if pieces.iter().all(|piece| is_whole(piece)) {
        let shown: Vec<String> = pieces.into_iter().map(without_secrets).collect();
        return shown.join(",");
    }
    // A comma may be part of a password, from the first address on that may have one.
    match list.split_once(',') {
        Some((first, rest)) if is_embedded(first.trim()) => format!("{first},{}", list_without_secrets(rest)),
        _ => without_secrets(list),
    }
}

/// What stands between the commas of a list. One behind a backslash is part of an address.
fn pieces(list: &str) -> Vec<&str> {
    let (mut pieces, mut begin) = (Vec::new(), 0);
    for (at, _) in list.match_indices(',') {
        if !list[..at].ends_with('\\') {
            pieces.push(&list[begin..at]);
            begin = at + 1;
        }
    }
    pieces.push(&list[begin..]);
    pieces
}

/// Whether this is an address by itself, and not what a comma in a password has left of one.
fn is_whole(piece: &str) -> bool {
    let piece = piece.trim();
    if is_uri(piece) {
        let (_, rest) = piece.split_once("://").unwrap_or_default();
        let hosts = rest.split(['/', '?']).next().unwrap_or_default();
        return rest.contains('@') || strange_port(hosts).is_none();
    }
    is_embedded(piece) || (is_by_name(piece) && piece.contains('@'))
}

/// Whether this names a server of dyno's own.
fn is_embedded(piece: &str) -> bool {
    piece.split(':').next() == Some(EMBEDDED) && !piece.contains('@')
}

/// The option of `dyno run` whose value is a name and a value.
const SET: &str = "--set";

/// Whether this is the name of an option of a script in Lua, as an experiment has it, and its value is secret.
fn is_of_script(name: &str, value: &str) -> bool {
    let (of, option) = name.rsplit_once('.').unwrap_or_default();
    of.rsplit('.').next() == Some("options") && is_named_secret(option, value)
}

/// The words of a command line as they may be shown and archived.
#[must_use]
pub fn words_without_secrets(words: &[String]) -> Vec<String> {
    let before = std::iter::once("").chain(words.iter().map(String::as_str));
    let each = before.zip(words);
    each.map(|(before, word)| match before {
        "--target" | "--to" => without_secrets(word),
        SET => set_without_secrets(word),
        _ => word_without_secrets(word),
    })
    .collect()
}

/// A name and what it is set to, as they may be shown and archived.
fn set_without_secrets(word: &str) -> String {
    match word.split_once('=') {
        Some((name, value)) if is_named_secret(name.trim(), value) => format!("{name}={HIDDEN}"),
        _ => word_without_secrets(word),
    }
}

/// A text about the words of a command line, in which any may be repeated, whole or in parts, without their secrets.
#[must_use]
pub fn text_without_secrets(text: &str, words: &[String]) -> String {
    let mut text = text.to_owned();
    let mut hide = |word: &str, shown: &str| {
        if word != shown {
            text = text.replace(word, shown);
        }
    };
    // One address of a list may be repeated alone.
    let lists = words.iter().filter_map(|word| word.split_once('='));
    let lists = lists.flat_map(|(_, list)| pieces(list)).map(str::to_owned);
    let lists = lists.filter(|piece| is_uri(piece) || is_by_name(piece));
    let words: Vec<String> = words.iter().cloned().chain(lists).collect();
    for (word, shown) in words.iter().zip(words_without_secrets(&words)) {
        hide(word, &shown);
        if let (Some((_, word)), Some((_, shown))) = (word.split_once('='), shown.split_once('='))
            && word.len() > HIDDEN.len()
        {
            hide(word, shown);
        }
        // Somebody else may have repeated a part of it: what a shell's command calls says which address it cannot
        // reach. To be safe, more than the password may be hidden in a word, up to another "@".
        for part in hidden_parts(word, &in_text(word)) {
            for secret in [part, part.split('@').next().unwrap_or_default()] {
                if secret.len() > HIDDEN.len() {
                    hide(secret, HIDDEN);
                }
            }
        }
        // What follows "embedded:" is said alone.
        if let (Some((_, word)), Some((_, shown))) = (word.split_once(':'), shown.split_once(':'))
            && word.contains('@')
        {
            hide(word, shown);
        }
    }
    text
}

/// A statement that somebody else executes, or the begin of it, as it may be shown and archived: not at all if it
/// may hold a password.
pub(crate) fn statement_without_secrets(statement: &str) -> &str {
    let named = statement.to_lowercase();
    // MySQL's accounts have their passwords after this word.
    let named = named.contains("identified")
        || PARTS.iter().any(|part| named.contains(part))
        || without_assignments(statement) != statement;
    // Where an address is cut off, the sign for what comes before a host may be missing.
    let addressed = statement.split_once("://").is_some_and(|(_, after)| {
        after.contains('@') || !after.contains(|end: char| end.is_whitespace() || end == '\'')
    });
    match named || addressed {
        true => "a statement with a password",
        false => statement,
    }
}

/// What of `word` does not stand in `shown`, in which it is hidden.
fn hidden_parts<'a>(word: &'a str, shown: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut pieces = shown.split(HIDDEN);
    let Some(mut rest) = pieces.next().and_then(|first| word.strip_prefix(first)) else {
        return parts;
    };
    let mut pieces = pieces.peekable();
    while let Some(piece) = pieces.next() {
        let end = match pieces.peek() {
            None => rest.len().checked_sub(piece.len()),
            Some(_) => rest.find(piece),
        };
        let Some((part, from)) = end.and_then(|end| rest.split_at_checked(end)) else {
            return parts;
        };
        parts.push(part);
        rest = from.strip_prefix(piece).unwrap_or_default();
    }
    parts
}

/// Whether `text`, percent-encoded or not, has an address with a user in it, perhaps with a password. Where a plain
/// name is wanted it would be shown as one.
#[must_use]
pub fn holds_address(text: &str) -> bool {
    decoded(text)
        .split_once("://")
        .is_some_and(|(_, rest)| rest.contains('@'))
}

/// Whether this begins like a URI of any kind.
fn has_scheme(text: &str) -> bool {
    text.trim_start().split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

/// Whether this is an address without slashes, of a kind that has such.
fn is_by_name(text: &str) -> bool {
    by_name(text.trim_start()).is_some()
}

/// Hides the password in an address without slashes: what stands before the last `@` from the first colon or slash on.
/// What follows is a name, or a description in parentheses.
fn by_name_shown(text: &str) -> String {
    let start = text.find(':').map_or(text.len(), |at| at + 1);
    let (scheme, rest) = text.split_at(start);
    let end = rest.find('(').unwrap_or(rest.len());
    // Whoever has a parenthesis in a password has not meant a description.
    let at = rest[..end].rfind('@').or_else(|| rest.rfind('@'));
    let (login, behind) = at.map_or(("", rest), |at| (&rest[..at], &rest[at..]));
    let login = match login.split_once([':', '/']) {
        Some((user, _)) => format!("{user}{}{HIDDEN}", &login[user.len()..=user.len()]),
        None => login.to_owned(),
    };
    let parameters = behind.split_once('?').map(|(_, parameters)| parameters);
    let is_odd = PARTS.iter().any(|part| behind.to_ascii_lowercase().contains(part))
        || parameters.is_some_and(|parameters| !parameters.is_empty())
        || holds_address(behind);
    match is_odd {
        true => format!("{scheme}{login}{HIDDEN}"),
        false => format!("{scheme}{login}{behind}"),
    }
}

fn in_uri(text: &str) -> String {
    let start = text.find("://").map_or(0, |at| at + "://".len());
    let (scheme, rest) = text.split_at(start);
    let shown = after_scheme(owner(text), rest);
    // Encoded, an address may have come through as a part of this one.
    match holds_address(&shown) {
        true => format!("{scheme}{HIDDEN}"),
        false => format!("{scheme}{shown}"),
    }
}

fn after_scheme(product: &dyn Product, rest: &str) -> String {
    // A password may hold "/" or "?" if someone forgot to encode them; the last "@" of all is the safe guess.
    let (user, after) = match rest.rsplit_once('@') {
        Some((credentials, after)) => match credentials.split_once(':') {
            Some((user, _)) => (format!("{user}:{HIDDEN}@"), after),
            None if credentials.contains('?') => (String::new(), rest),
            None => (format!("{credentials}@"), after),
        },
        None => (String::new(), rest),
    };
    let end = after.find(['/', '?']).unwrap_or(after.len());
    let (hosts, tail) = after.split_at(end);
    // What stands in the place of a port and is none was meant to be something else.
    if let Some(at) = strange_port(hosts) {
        return format!("{user}{}{HIDDEN}", &hosts[..at]);
    }
    let (database, parameters) = match tail.split_once('?') {
        Some((database, parameters)) => (database, Some(parameters)),
        None => (tail, None),
    };
    // Parameters without the "?" that they begin with.
    if database.contains('=') {
        return format!("{user}{hosts}/{HIDDEN}");
    }
    let mut shown = format!("{user}{hosts}{database}");
    for (number, parameter) in parameters.into_iter().flat_map(|all| all.split('&')).enumerate() {
        shown.push(if number == 0 { '?' } else { '&' });
        match parameter.split_once('=') {
            Some((keyword, value)) => match meaning(product, &decoded(keyword)) {
                Some(Keyword::Secret(name)) => shown.push_str(&format!("{name}={HIDDEN}")),
                Some(_) if !value.contains('=') => shown.push_str(&format!("{keyword}={value}")),
                Some(_) | None => shown.push_str(HIDDEN),
            },
            None if parameter.is_empty() => {}
            None => shown.push_str(HIDDEN),
        }
    }
    shown
}

/// Where what is written as a port begins, if it is none. An IPv6 address stands in brackets.
fn strange_port(hosts: &str) -> Option<usize> {
    let mut start = 0;
    for host in hosts.split(',') {
        let name = host.rfind(']').unwrap_or(0);
        if let Some(colon) = host[name..].find(':') {
            let port = &host[name + colon + 1..];
            if !port.is_empty() && port.parse::<u16>().is_err() {
                return Some(start + name + colon + 1);
            }
        }
        start += host.len() + 1;
    }
    None
}

/// Hides what is secret in `keyword=value` words, the other form of the usual kind's addresses.
fn in_conninfo(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let body = rest.trim_start();
        shown.push_str(&rest[..rest.len() - body.len()]);
        if body.is_empty() {
            return shown;
        }
        let end = body.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(body.len());
        let keyword = &body[..end];
        let Some(value) = body[end..].trim_start().strip_prefix('=').map(str::trim_start) else {
            // Nobody knows what this is: perhaps the rest of a password with a space in it.
            shown.push_str(HIDDEN);
            return shown;
        };
        let before = &body[..body.len() - value.len()];
        let Some(length) = value_length(value) else {
            shown.push_str(HIDDEN);
            return shown;
        };
        let has_equals = !value.starts_with('\'') && value[..length].contains('=');
        match meaning(USUAL, &decoded(keyword)) {
            Some(Keyword::Secret(name)) => shown.push_str(&format!("{name}={HIDDEN}")),
            Some(known) if !holds_address(&value[..length]) && (!has_equals || known == Keyword::Assignments) => {
                shown.push_str(before);
                shown.push_str(&value[..length]);
            }
            Some(_) | None => shown.push_str(HIDDEN),
        }
        rest = &value[length..];
    }
}

/// The length of a conninfo value, quoted or not; `None` if its quote does not end.
fn value_length(text: &str) -> Option<usize> {
    let quoted = text.starts_with('\'');
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(usize::from(quoted)) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\'' if quoted => return Some(at + 1),
            _ if !quoted && character.is_whitespace() => return Some(at),
            _ => {}
        }
    }
    (!quoted).then_some(text.len())
}

/// Hides what looks like a password in text that is no address but may have one in it, such as a shell's command.
fn in_text(text: &str) -> String {
    without_assignments(&without_user_password(text))
}

/// Hides what stands between the first colon after `://`, or after the beginning, and the last `@`.
fn without_user_password(text: &str) -> String {
    match user_password(text) {
        Some(password) => format!("{}{HIDDEN}{}", &text[..password.start], &text[password.end..]),
        None => text.to_owned(),
    }
}

/// Hides the value after every `password=` and the like, wherever it stands.
fn without_assignments(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(equals) = rest.find('=') {
        let (before, value) = (&rest[..equals], &rest[equals + 1..]);
        let keyword = before.trim_end();
        let begin = keyword.rfind(|c: char| !(c.is_ascii_alphanumeric() || "_-%".contains(c)));
        let begin = begin.map_or(0, |at| at + keyword[at..].chars().next().map_or(1, char::len_utf8));
        let name = decoded(&keyword[begin..]).to_ascii_lowercase();
        shown.push_str(&rest[..=equals]);
        rest = value;
        if matches!(meaning(USUAL, &name), Some(Keyword::Secret(_))) {
            let value = rest.trim_start();
            let length = value_length(value).unwrap_or(value.len());
            // In a URI it ends with the parameter.
            let length = value[..length].find('&').unwrap_or(length);
            shown.push_str(HIDDEN);
            rest = &value[length..];
        }
    }
    shown.push_str(rest);
    shown
}

/// Undoes percent-encoding as far as it goes.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let digit = |at: usize| after.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (*byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::address::ConnectionInfo;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "postgres://ann@db/x",
            "oracle://ann@db:1521/shop?wallet_location=/w&ssl_server_dn_match=on",
            "oracle:ann@SHOP",
            "oracle:ann@(DESCRIPTION=(ADDRESS=(HOST=db)))",
            "postgresql://ann@[::1]:5432,h2:5433/d%20b?sslmode=require&connect_timeout=5",
            "host=db port=5 user=ann dbname='a b' sslmode=require",
            "bench",
            "--set",
            "shared_buffers=25% of memory",
            "--clients=4",
            "-f",
            "script.sql@3",
            "a/b:c.sql",
            "options.tables=3",
            "--mysql-ssl-key=/a/key.pem",
            "pg_ctl restart -o '-c port=5'",
            "--restart-command=systemctl restart postgresql@15-main",
            "",
        ] {
            assert_eq!(word_without_secrets(text), text);
        }
        let target = "target=postgres://ann@db/x";
        assert_eq!(word_without_secrets(target), target);
    }

    #[test]
    fn secrets_are_hidden_by_meaning() {
        for (text, shown) in [
            ("postgres://ann:s3cret@db:5432/x", "postgres://ann:***@db:5432/x"),
            (
                "--target=postgres://ann:a/b@c?d@db/x",
                "--target=postgres://ann:***@db/x",
            ),
            (
                "postgres://db/x?user=ann&password=s3cret&sslmode=require",
                "postgres://db/x?user=ann&password=***&sslmode=require",
            ),
            ("postgres://db/x?passwor%64=s3cret", "postgres://db/x?password=***"),
            ("postgres://db/x?%70assword=s3cret", "postgres://db/x?password=***"),
            ("postgres://ann:s3cret/x", "postgres://ann:***"),
            ("postgres://db/x?wort=s3cret", "postgres://db/x?***"),
            ("oracle://ann:s3cret@db/shop", "oracle://ann:***@db/shop"),
            ("tcps://ann:s3cret@db/shop", "tcps://ann:***@db/shop"),
            (
                "oracles://ann@db/shop?wallet_password=s3cret",
                "oracles://ann@db/shop?wallet_password=***",
            ),
            ("oracle:ann/s3cret@SHOP", "oracle:ann/***@SHOP"),
            ("--target=oracle:ann:s3cret@SHOP", "--target=oracle:ann:***@SHOP"),
            ("oracle:ann:s3(cret@db/shop", "oracle:ann:***@db/shop"),
            (
                "oracle:ann:s3@cret@(DESCRIPTION=(ADDRESS=(HOST=db)))",
                "oracle:ann:***@(DESCRIPTION=(ADDRESS=(HOST=db)))",
            ),
            ("oracle:ann@db/shop?wallet_password=s3cret", "oracle:ann***"),
            ("postgre://ann:s3cret@db/x", "postgre://ann:***@db/x"),
            ("postgres:/ann:s3cret@db/x", "postgres:***@db/x"),
            ("ann:s3cret@db/x", "ann:***@db/x"),
            ("host=db password=s3cret user=ann", "host=db password=*** user=ann"),
            (
                "host=db PassWord = 's3 \\' cret' user=ann",
                "host=db password=*** user=ann",
            ),
            ("host=db password=top s3cret user=ann", "host=db password=*** ***"),
            ("password='unfinished s3cret", "***"),
            ("host=db pasword=s3cret", "host=db password=***"),
            ("host=db wort=s3cret", "host=db ***"),
            ("target=host=db wort=s3cret", "target=host=db ***"),
            ("--mysql-password=s3cret", "--mysql-password=***"),
            ("--api-token=s3cret", "--api-token=***"),
            ("options.api_token=s3cret", "options.api_token=***"),
            ("mixed.options.key=a,b", "mixed.options.key=***"),
            ("--set=data.options.api-key=s3 cret", "--set=data.options.api-key=***"),
            ("--pgsql_password=host=db s3cret", "--pgsql_password=***"),
            ("--mysql-password=", "--mysql-password="),
            ("host=db scram_client_key=s3cret", "host=db scram_client_key=***"),
            ("dbname=postgres://ann:s3cret@db/x", "***"),
            ("dbname=postgres%3A%2F%2Fann%3As3cret%40db", "***"),
            ("postgres://db/postgres%3A%2F%2Fann%3As3cret%40db", "postgres://***"),
            ("embedded:s3cret@db", "embedded:***@db"),
            ("PGPASSWORD=s3cret psql -c x", "password=*** ***"),
            ("env PGPASSWORD=s3cret psql", "env PGPASSWORD=*** psql"),
            (
                "curl https://ann:s3cret@host/restart",
                "curl https://ann:***@host/restart",
            ),
        ] {
            assert_eq!(word_without_secrets(text), shown, "{text}");
        }
        let words = ["--target", "wort=s3cret"].map(str::to_owned);
        assert_eq!(words_without_secrets(&words), ["--target", "***"]);
        let words = ["--set", "api_token=s3cret", "--set", "rows=5"].map(str::to_owned);
        assert_eq!(
            words_without_secrets(&words),
            ["--set", "api_token=***", "--set", "rows=5"]
        );
        let words = ["--taget=postgres://ann:s3cret@db", "ann:s3cret@db"].map(str::to_owned);
        let said = "no --taget=postgres://ann:s3cret@db, no 'postgres://ann:s3cret@db', no 'ann:s3cret@db'";
        let shown = "no --taget=postgres://ann:***@db, no 'postgres://ann:***@db', no 'ann:***@db'";
        assert_eq!(text_without_secrets(said, &words), shown);
        // What a command calls repeats a part of it.
        let command = "curl https://ann:s3cret@db/restart; ssh bob@db; env PGPASSWORD=h1dden psql".to_owned();
        let said = "cannot reach ann:s3cret@db; bob@db fails; h1dden is wrong";
        let shown = "cannot reach ann:***@db; bob@db fails; *** is wrong";
        assert_eq!(text_without_secrets(said, &[command]), shown);
    }

    #[test]
    fn each_address_of_a_list_is_hidden_by_itself() {
        let set = |list: &str| words_without_secrets(&["--set".to_owned(), list.to_owned()]).concat()[5..].to_owned();
        for (list, shown) in [
            (
                "target=postgres://a:s3cret@127.0.0.1:1/x,mysql://b:h1dden@127.0.0.1:2/y,embedded:mariadb",
                "target=postgres://a:***@127.0.0.1:1/x,mysql://b:***@127.0.0.1:2/y,embedded:mariadb",
            ),
            (
                "proxy.target=embedded,postgres://a:s3cret@h1\\,h2:7/x",
                "proxy.target=embedded,postgres://a:***@h1\\,h2:7/x",
            ),
            (
                "target=postgres://db:5/x,oracle:ann/s3cret@SHOP",
                "target=postgres://db:5/x,oracle:ann/***@SHOP",
            ),
            // A comma in a password, whatever follows it.
            ("target=postgres://a:s3,cret@db/x", "target=postgres://a:***@db/x"),
            (
                "target=postgres://a:s3,embedded:cret@db/x",
                "target=postgres://a:***@db/x",
            ),
            (
                "target=postgres://a:s3,postgres://cret@db/x",
                "target=postgres://a:***@db/x",
            ),
            (
                "target=embedded,host=db password=s3cret",
                "target=embedded,host=db password=***",
            ),
        ] {
            assert_eq!(set(list), shown);
            assert_eq!(word_without_secrets(&format!("--set={list}")), format!("--set={shown}"));
        }
        let words = ["--set", "target=postgres://a:s3cret@h1/x,postgres://b:h1dden@h2/y"].map(str::to_owned);
        let said = "no postgres://b:h1dden@h2/y; h1dden and s3cret are wrong";
        let shown = "no postgres://b:***@h2/y; *** and *** are wrong";
        assert_eq!(text_without_secrets(said, &words), shown);
    }

    #[test]
    fn every_kind_of_database_has_parameters_of_its_own() {
        for (address, shown) in [
            (
                "mysql://ann:s3cret@db/x?ssl-mode=verify_ca&ssl_ca=/ca.pem",
                "mysql://ann:***@db/x?ssl-mode=verify_ca&ssl_ca=/ca.pem",
            ),
            (
                "mariadb://ann@h/x?socket=/run/m.sock&sslmode=s3cret",
                "mariadb://ann@h/x?socket=/run/m.sock&***",
            ),
            ("mysql://db/x?password=s3cret", "mysql://db/x?password=***"),
            ("postgres://db/x?socket=s3cret", "postgres://db/x?***"),
        ] {
            assert_eq!(without_secrets(address), shown);
            assert_eq!(word_without_secrets(address), shown);
            assert_eq!(
                word_without_secrets(&format!("--target={address}")),
                format!("--target={shown}")
            );
        }
        let unknown = "db2://db/x?sslmode=a&socket=s3cret";
        assert_eq!(without_secrets(unknown), "db2://db/x?sslmode=a&***");
    }

    #[test]
    fn a_statement_with_a_password_is_not_shown() {
        for statement in [
            "alter role a PassWord 's3cret'",
            "create subscription s connection 'postgres://rep:s3cret@h/db' publication p",
            "create user a identified by 's3cret'",
            // Only so much of it was read.
            "select dblink_connect('a', 'postgresql://rep:s3cr",
            "select dblink_connect('host=h user=a pasword=s3cret')",
            "select dblink_connect('host=h scram_client_key=s3cret')",
            "create user mapping for a server f options (aws_secret_access_key 's3cret')",
        ] {
            assert_eq!(
                statement_without_secrets(statement),
                "a statement with a password",
                "{statement}"
            );
        }
        for statement in [
            "lock table t",
            "update t set mail = 'a@b', keys = $1 where key = $2",
            "-- see https://host/page\nselect 1",
            "select * from pages where address = 'https://host/page'",
        ] {
            assert_eq!(statement_without_secrets(statement), statement);
        }
    }

    /// Not in any other part of an address.
    const CANARY: &str = "CANARY9";

    fn percent(text: &str, which: &[bool]) -> String {
        let letters = text.bytes().zip(which.iter().cycle());
        letters
            .map(|(byte, encode)| match *encode || !byte.is_ascii_alphanumeric() {
                true => format!("%{byte:02X}"),
                false => char::from(byte).to_string(),
            })
            .collect()
    }

    prop_compose! {
        /// An address with the canary as its password, in one of the forms that there are.
        fn address()(
            form in 0..6_usize,
            before in "[a-z .:@&=#%']{0,3}",
            which in proptest::collection::vec(any::<bool>(), 1..8),
            spaces in 0..3_usize,
            key in prop::sample::select(vec!["password", "sslpassword", "scram_client_key", "scram_server_key",
                "oauth_client_secret"]),
        ) -> String {
            let secret = format!("{before}{CANARY}");
            let quoted = format!("'{}'", secret.replace('\\', "\\\\").replace('\'', "\\'"));
            let spaces = " ".repeat(spaces);
            match form {
                0 => format!("postgres://ann:{}@db:5432/x?sslmode=disable", percent(&secret, &which)),
                1 => format!("postgresql://db/x?{}={}", percent(key, &which), percent(&secret, &which)),
                2 => format!("postgres://ann:{secret}@db/x"),
                3 => format!("host=db {key}{spaces}={spaces}{quoted} user=ann"),
                4 => format!("{key}={CANARY} host=db"),
                _ => format!("postgres://ann:{secret}@h1,h2:7/x?application_name=a"),
            }
        }
    }

    proptest! {
        /// However an address is written or mistyped, neither its shown form nor what is said about it has its
        /// password.
        #[test]
        fn a_password_never_comes_through(address in address(), slip in any::<prop::sample::Index>(),
            slips in 0..4_usize) {
            let mut typed: Vec<char> = address.chars().collect();
            let canary = address.find(CANARY).map(|at| address[..at].chars().count());
            let at = slip.index(typed.len());
            // A slip in the secret itself would leave another one.
            let inside = canary.is_none_or(|begin| (begin..begin + CANARY.len()).contains(&at));
            // Without the colon the password is a user's name, without the equals sign part of a keyword, without
            // the last "@" of two part of a host.
            let separates = matches!(typed[at], ':' | '=') || (typed[at] == '@' && address.matches('@').count() > 1);
            if !inside && !separates {
                match slips {
                    0 => {}
                    1 => drop(typed.remove(at)),
                    2 => typed.insert(at, 'q'),
                    _ => typed.insert(at, ' '),
                }
            }
            let typed: String = typed.into_iter().collect();
            for shown in [without_secrets(&typed),
                words_without_secrets(&["--target".to_owned(), typed.clone()]).concat(),
                words_without_secrets(&["--set".to_owned(), format!("target=embedded,{typed}")]).concat()] {
                prop_assert!(!shown.contains(CANARY), "{typed}: {shown}");
            }
            let env = |name: &str| (name == "PGUSER").then(|| "u".to_owned());
            let said = match ConnectionInfo::resolve(Some(&typed), &env) {
                Ok(info) => format!("{info} {info:?} {:?}", info.warnings()),
                Err(error) => format!("{error} {error:?}"),
            };
            prop_assert!(!said.contains(CANARY), "{typed}: {said}");
        }

        #[test]
        fn anything_can_be_shown(text in "\\PC{0,60}") {
            let _ = (without_secrets(&text), word_without_secrets(&text));
        }
    }
}
