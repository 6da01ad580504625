//! `{NAME.host}` and its siblings in the SQL of data: where another server of the experiment is, known only once that
//! is up.
//!
//! They are filled in when the SQL is executed and never before, so that neither a plan nor the archive has a password.
//! Whoever names a server so comes up after it.

use dyno_archive::plan::{Data, Resolved};
use std::ops::Range;

/// What may be asked of a server.
pub(crate) const FIELDS: [&str; 6] = ["host", "port", "user", "password", "database", "socket"];

/// A place in a text that asks for something of a server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mention<'a> {
    /// Which server.
    pub server: &'a str,
    /// What of it: one of [`FIELDS`].
    pub field: &'a str,
    /// Where, with its braces.
    pub place: Range<usize>,
}

/// How many braces a place has on either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Braces {
    One,
    /// They stand for the braces themselves, as around parameters.
    Two,
    /// More on one side than on the other.
    Other,
}

/// All places of `text` that are written as one that asks a server, whatever is asked of whom; without outer braces.
fn written(text: &str) -> impl Iterator<Item = (Mention<'_>, Braces)> {
    text.match_indices('{').filter_map(|(open, _)| {
        let (inside, after) = text.get(open + 1..)?.split_once('}')?;
        let braces = match (text[..open].ends_with('{'), after.starts_with('}')) {
            (false, false) => Braces::One,
            (true, true) => Braces::Two,
            _ => Braces::Other,
        };
        let (server, field) = inside.split_once('.')?;
        let mention = Mention {
            server,
            field,
            place: open..open + inside.len() + 2,
        };
        (is_server(server) && is_server(field)).then_some((mention, braces))
    })
}

/// All places of `text` that look as if they asked a server: what they ask may be none of [`FIELDS`].
pub(crate) fn likely(text: &str) -> impl Iterator<Item = Mention<'_>> {
    written(text).filter_map(|(mention, braces)| (braces == Braces::One).then_some(mention))
}

/// All places of `text` that ask for something of a server.
pub(crate) fn mentions(text: &str) -> impl Iterator<Item = Mention<'_>> {
    likely(text).filter(|mention| FIELDS.contains(&mention.field))
}

/// `text` with a value in each such place. Values stand in quotes, so those in them are doubled.
///
/// # Errors
/// The first place for which there is none.
pub(crate) fn filled<'a>(text: &'a str, value: impl Fn(&Mention<'a>) -> Option<String>) -> Result<String, Mention<'a>> {
    let mut result = String::with_capacity(text.len());
    let mut rest = 0;
    for (mention, braces) in written(text).filter(|(mention, _)| FIELDS.contains(&mention.field)) {
        let place = mention.place.clone();
        match braces {
            Braces::Other => {}
            Braces::Two => {
                result.push_str(&text[rest..place.start - 1]);
                result.push_str(&text[place.clone()]);
                rest = place.end + 1;
            }
            Braces::One => {
                let Some(value) = value(&mention) else {
                    return Err(mention);
                };
                result.push_str(&text[rest..place.start]);
                result.push_str(&value.replace('\'', "''"));
                rest = place.end;
            }
        }
    }
    result.push_str(&text[rest..]);
    Ok(result)
}

/// Whether `text` can name a server.
pub(super) fn is_server(text: &str) -> bool {
    let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    !text.is_empty() && text.chars().all(allowed)
}

/// The servers that the SQL of `data` asks for.
fn asked(data: &Data) -> impl Iterator<Item = &str> {
    let texts = [&data.setup, &data.finish].into_iter();
    texts.flat_map(|text| mentions(text)).map(|mention| mention.server)
}

/// The servers that have to be up before `server` is, of an experiment with several.
pub(crate) fn needed_by<'a>(experiment: &'a Resolved, server: &str) -> Vec<&'a str> {
    match experiment.further(server) {
        None => asked(&experiment.data).collect(),
        Some(further) => {
            let named = [&further.behind, &further.replica_of].into_iter().flatten();
            named.map(String::as_str).chain(asked(&further.data)).collect()
        }
    }
}

/// The names of all servers of `experiment`, each behind those that it needs.
///
/// # Errors
/// Those that need each other.
pub(crate) fn in_order(experiment: &Resolved) -> Result<Vec<&str>, Vec<&str>> {
    let mut names: Vec<&str> = experiment.server_names().collect();
    let mut order: Vec<&str> = Vec::new();
    while !names.is_empty() {
        let ready = names.iter().position(|name| {
            let needed = needed_by(experiment, name);
            // What is no server at all has been complained about.
            needed
                .iter()
                .all(|needed| order.contains(needed) || !names.contains(needed))
        });
        match ready {
            Some(place) => order.push(names.remove(place)),
            None => return Err(names),
        }
    }
    Ok(order)
}

/// The first thing in the SQL of `server` that asks for a server which there is not, or for itself.
pub(crate) fn unknown<'a>(experiment: &'a Resolved, data: &'a Data) -> Option<Mention<'a>> {
    let known = |mention: &Mention<'_>| experiment.server_names().any(|name| name == mention.server);
    let texts = [&data.setup, &data.finish].into_iter();
    texts.flat_map(|text| mentions(text)).find(|mention| !known(mention))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::plan::FurtherServer;
    use proptest::prelude::*;

    #[test]
    fn places_are_found_and_filled_and_other_braces_left_alone() {
        let text = "host '{far-1.host}', '{a,b}' {{far-1.port}} {far-1.nothing} {rows} '{x.password}'";
        let found: Vec<_> = mentions(text).map(|mention| (mention.server, mention.field)).collect();
        assert_eq!(found, [("far-1", "host"), ("x", "password")]);
        let filled = filled(text, |mention| Some(format!("<{}'{}>", mention.server, mention.field)));
        assert_eq!(
            filled.unwrap(),
            "host '<far-1''host>', '{a,b}' {far-1.port} {far-1.nothing} {rows} '<x''password>'"
        );
        assert_eq!(super::filled(text, |_| None).unwrap_err().server, "far-1");
    }

    #[test]
    fn a_server_comes_up_behind_those_that_it_needs() {
        let mut experiment = Resolved::of_load("t".to_owned(), "t".to_owned(), Vec::new());
        experiment.data.setup = "select '{first.host}'".to_owned();
        let behind = |other: &str| FurtherServer {
            behind: Some(other.to_owned()),
            ..FurtherServer::default()
        };
        experiment.servers = [("first", behind("second")), ("second", FurtherServer::default())]
            .map(|(name, server)| (name.to_owned(), server))
            .into();
        assert_eq!(in_order(&experiment), Ok(vec!["second", "first", "main"]));
        experiment.servers["second"].replica_of = Some("main".to_owned());
        assert_eq!(in_order(&experiment), Err(vec!["main", "first", "second"]));
    }

    proptest! {
        #[test]
        fn any_text_can_be_filled(text in "[{}.a-z é]{0,40}") {
            let same = filled(&text, |mention| Some(format!("{{{}.{}}}", mention.server, mention.field)));
            prop_assert_eq!(same.unwrap(), text);
        }
    }
}
