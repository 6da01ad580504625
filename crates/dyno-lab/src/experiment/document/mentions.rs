//! `{NAME.host}` in the SQL of a file: only what there is can be asked, and only where it is filled in. What was
//! misspelt would be taken for a text otherwise, and noticed by nobody.

use super::Reader;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::did_you_mean;
use crate::experiment::mention::{FIELDS, Mention, likely};
use crate::experiment::section::Section;
use crate::nearest::nearest;
use std::ops::Range;
use toml::Spanned;
use toml::de::DeValue;

impl Reader<'_> {
    /// Makes sure that the SQL in a section of data of the server `own` asks other servers for what they have.
    pub(super) fn check_mentions(&self, own: &str, data: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        let data = Section::open(self.source, "data", data)?;
        for key in ["setup", "finish"] {
            let Some((text, span, _)) = self.written_sql(&data, key)? else {
                continue;
            };
            for mention in self.meant(&text) {
                let place = self.place_of(&text[mention.place.clone()], &span);
                self.check_field(&mention, place.clone())?;
                if mention.server == own {
                    let message = format!("`{own}` asks for its own address");
                    let help = format!(
                        "that is not known before it is up; write {{{}}} for the text itself",
                        &text[mention.place]
                    );
                    return Err(self.source.complain(place, message, help));
                }
                // Which of several there are depends on the cell.
                if !self.is_counted(mention.server) {
                    self.check_one_server(mention.server, place)?;
                }
            }
        }
        Ok(())
    }

    /// Makes sure that SQL asks for no server's address where none is filled in.
    pub(super) fn check_no_mentions(&self, sql: &str, span: &Range<usize>) -> Result<(), Diagnostic> {
        let Some(mention) = self.meant(sql).next() else {
            return Ok(());
        };
        let place = self.place_of(&sql[mention.place.clone()], span);
        self.check_field(&mention, place.clone())?;
        let message = format!("{} is not filled in here", &sql[mention.place]);
        let help = "where servers are is known in `setup` and `finish` of data";
        Err(self.source.complain(place, message, help))
    }

    /// Those places of `text` that are meant to ask a server: by its name, or by what is asked.
    fn meant<'t>(&self, text: &'t str) -> impl Iterator<Item = Mention<'t>> {
        likely(text).filter(|mention| {
            let further = &self.experiment.servers;
            let is_server = mention.server == self.main_server() || further.contains_key(mention.server);
            is_server || self.is_counted(mention.server) || FIELDS.contains(&mention.field)
        })
    }

    fn check_field(&self, mention: &Mention<'_>, place: Range<usize>) -> Result<(), Diagnostic> {
        if FIELDS.contains(&mention.field) {
            return Ok(());
        }
        let hint = did_you_mean(nearest(mention.field, FIELDS));
        let message = format!("`{}` is nothing that a server has{hint}", mention.field);
        let help = format!("there are: {}", FIELDS.join(", "));
        Err(self.source.complain(place, message, help))
    }

    /// Whether `name` may be one of several servers that have a count.
    fn is_counted(&self, name: &str) -> bool {
        name.rsplit_once('-').is_some_and(|(of, number)| {
            let plan = self.experiment.servers.get(of);
            number.parse::<u64>().is_ok() && plan.is_some_and(|plan| plan.count.is_some())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use std::path::Path;

    /// What is said of a file with a server `far` beside the main one, and this.
    fn said(text: &str) -> String {
        let file = format!(
            "title = \"t\"\n{text}\n[servers.far]\n[servers.near]\ncount = 2\n[[workload]]\nscript = \"select 1\"\n"
        );
        let read = parse(Path::new("mine.toml"), &file);
        read.map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn what_is_asked_of_no_server_or_is_nothing_that_one_has_is_told_with_its_place() {
        let setup = |sql: &str| said(&format!("[data]\nsetup = \"{sql}\""));
        for right in [
            "{far.host}",
            "{near-2.port}",
            "{{far.hosst}} {{nope.host}}",
            "{a.b} {a,b} {}",
        ] {
            assert_eq!(setup(right), "", "{right}");
        }
        let error = setup("select '{far.hosst}'");
        assert!(
            error.starts_with("mine.toml:3:18: `hosst` is nothing that a server has; did you mean `host`?"),
            "{error}"
        );
        let error = setup("{near-1.passwd}");
        assert!(error.contains("did you mean `password`?"), "{error}");
        let error = setup("{fra.host}");
        assert!(
            error.contains("there is no server `fra`; did you mean `far`?"),
            "{error}"
        );
        let error = setup("{main.host}");
        assert!(error.contains("`main` asks for its own address"), "{error}");
        let of_one = "title = \"t\"\n[data]\nfinish = \"{nope.host}\"\n[[workload]]\nscript = \"select 1\"\n";
        let error = parse(Path::new("mine.toml"), of_one).unwrap_err().to_string();
        assert!(
            error.starts_with("mine.toml:3:11: there is no server `nope`"),
            "{error}"
        );
        let error = said("[mysql.data]\nsetup = \"{far.prot}\"");
        assert!(error.contains("did you mean `port`?"), "{error}");
    }

    #[test]
    fn nothing_is_asked_where_it_is_not_filled_in() {
        let check = |sql: &str| said(&format!("[[check]]\nname = \"c\"\nexpect = 1\nsql = \"{sql}\""));
        assert_eq!(check("select '{a.b}', '{1,2}'"), "");
        let error = check("select '{far.host}'");
        assert!(error.contains("{far.host} is not filled in here"), "{error}");
        let error = said("[[output]]\nname = \"o\"\nsql = \"select '{far.passwrd}'\"");
        assert!(error.contains("did you mean `password`?"), "{error}");
    }
}
