//! The experiment's data, in the schema of the user who connects: another schema is another user, whom only an
//! administrator makes.
//!
//! A table of dyno's own, `dyno_run`, says what is there: of which definition the data is, which campaign has used it,
//! and which objects were made with it, by the numbers that the server gives to objects. Only these are dropped, so
//! that what else is in the schema stays, even if it has the name of something that was made. Each is noted as soon as
//! it is there, what was there before as well, so that what was loaded in part is known, too. 12.1 has all columns of
//! `user_objects` that are read here.

use super::load::{LoadError, fill_table, is_there, run};
use super::rights::{grant, refusable};
use super::statement::quoted;
use super::{Client, ClientError};
use crate::embedded::hex;
use crate::mark::Mark;
use crate::target::{Data, Part, Progress, Reach, Wanted};
use sha2::{Digest, Sha256};
use std::sync::atomic::AtomicBool;

/// dyno's own table, as the dictionary has it.
pub(super) const TABLE: &str = "DYNO_RUN";

/// It: what a row is of, an object's number and name, and what is to be said.
const MAKE: &str = "create table dyno_run (kind varchar2(10) not null, id number, name varchar2(400), note \
                    varchar2(4000))";

/// What the server says of a table that is not there, and of one that is there already.
const NO_TABLE: u32 = 942;
const EXISTS: u32 = 955;

/// What it says of an object that went with another.
const NO_OBJECT: [u32; 5] = [942, 1418, 2289, 4043, 12_003];

/// Rights that are missing, or room.
const NOT_ALLOWED: [u32; 3] = [1031, 1536, 1950];

/// How much of a statement is noted, within the 4,000 bytes of a note: what it makes is at its begin.
const BEGUN_CHARACTERS: usize = 900;

/// What of the schema is not noted. Indexes and the like come and go with their tables, and so does what the server has
/// named itself, with a `$` or `SYS_`.
const UNNOTED: &str = "from user_objects where object_type in ('TABLE', 'VIEW', 'MATERIALIZED VIEW', 'SEQUENCE', \
                       'PROCEDURE', 'FUNCTION', 'PACKAGE', 'TYPE', 'SYNONYM') and object_name <> 'DYNO_RUN' and \
                       object_name not like '%$%' and object_name not like 'SYS_%' and object_id not in (select id \
                       from dyno_run where id is not null)";

/// Refuses data that asks for what only PostgreSQL has.
///
/// # Errors
/// What that is.
pub fn check(data: &Data) -> Result<(), LoadError> {
    if let Some(locale) = &data.locale {
        return Err(LoadError::Locale { locale: locale.clone() });
    }
    if !data.tablespaces.is_empty() {
        let names = data.tablespaces.join(", ");
        return Err(LoadError::Tablespaces { names });
    }
    Ok(())
}

/// What says of the data that a campaign has worked on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used(Mark);

impl Used {
    /// Says so, as is done before a load that may change the data begins.
    ///
    /// # Errors
    /// The server refuses it, or the connection is lost.
    pub fn mark(&self, client: &mut Client) -> Result<(), LoadError> {
        say(client, &self.0)
    }
}

/// Makes dyno's table, if it is not there, with the row that is locked.
///
/// # Errors
/// This user may not, or the connection is lost.
pub(super) fn ensure_table(client: &mut Client) -> Result<(), ClientError> {
    match refusable(client.execute(MAKE))? {
        Ok(()) => client.execute("insert into dyno_run (kind, note) values ('lock', 'the row that is locked')"),
        Err(error) if error.code() == Some(EXISTS) => Ok(()),
        Err(error) => Err(error),
    }
}

/// What is said of the data; `None` if there is none.
///
/// # Errors
/// There is a table of that name that is not dyno's, or the connection is lost.
pub(super) fn mark_of(client: &mut Client) -> Result<Option<Mark>, LoadError> {
    let said = client.query_first::<Option<String>>("select note from dyno_run where kind = 'mark'");
    match said {
        Ok(said) => match said.flatten().map(|text| Mark::read(&text)) {
            None => Ok(None),
            Some(Some(mark)) => Ok(Some(mark)),
            Some(None) => Err(LoadError::NotOurs),
        },
        Err(error) => match error.code() {
            Some(NO_TABLE) => Ok(None),
            // It has no such columns.
            Some(904) => Err(LoadError::NotOurs),
            _ => Err(LoadError::Database(error)),
        },
    }
}

/// Refuses data that could not be loaded, or only by destroying what is not dyno's; changes nothing.
///
/// # Errors
/// Why the data cannot be loaded, or the connection is lost.
pub(super) fn check_on(client: &mut Client, data: &Data) -> Result<Option<Mark>, LoadError> {
    check(data)?;
    mark_of(client)
}

/// Brings the data that a run works on into its state. Gives how to mark it before the load begins, unless the load
/// leaves it as it is.
///
/// # Errors
/// The data cannot be made, or `stop` was raised.
pub(super) fn prepare(
    client: &mut Client,
    wanted: Wanted<'_>,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Option<Used>, LoadError> {
    let data = wanted.data;
    let found = check_on(client, data)?;
    let mark = match found
        .as_ref()
        .and_then(|mark| Some((mark, mark.stays(&fingerprint(wanted.data), wanted)?)))
    {
        Some((mark, step)) => {
            progress.step(step);
            mark.clone()
        }
        None => {
            load(client, data, stop, progress)?;
            let mark = Mark {
                fingerprint: Some(fingerprint(data)),
                ..Mark::default()
            };
            say(client, &mark)?;
            mark
        }
    };
    let used = Mark {
        used_by: Some(wanted.campaign.to_owned()),
        ..mark
    };
    Ok((!data.read_only).then_some(Used(used)))
}

/// What tells the data from other data.
fn fingerprint(data: &Data) -> String {
    hex(&Sha256::digest(&data.definition))
}

/// Loads the data in place of what dyno loaded before.
fn load(client: &mut Client, data: &Data, stop: &AtomicBool, progress: &mut dyn Progress) -> Result<(), LoadError> {
    ensure_table(client).map_err(|error| not_allowed(client, error))?;
    drop_made(client)?;
    say(client, &Mark::default())?;
    note(client, "other", "")?;
    let mut foreign = None;
    for fill in &data.fill {
        if is_there(client, fill)? {
            foreign.get_or_insert_with(|| fill.table.clone());
        }
    }
    progress.part(Part::Schema);
    run(client, &data.setup)?;
    // Said only now: a set-up that was to make it has failed, with its line.
    if let Some(table) = foreign {
        return Err(LoadError::ForeignTable { table });
    }
    for fill in &data.fill {
        progress.part(Part::Fill(&fill.table));
        fill_table(client, fill, stop, &mut |rows| progress.amount(rows, fill.rows, "rows"))?;
    }
    if let Some(maker) = &data.maker {
        let info = client.info().clone();
        let made = maker.make(Reach::Oracle(&info), &client.stop(), progress);
        note_made(client)?;
        made?;
    }
    if data.finish.text.trim().is_empty() {
        return Ok(());
    }
    progress.part(Part::Finish);
    run(client, &data.finish)
}

/// Notes a statement that is about to make something. Killed behind it, nobody notes what it made any more; what has
/// a name that is in it is known by that.
pub(super) fn note_begun(client: &mut Client, statement: &str) -> Result<(), LoadError> {
    let text: String = statement.chars().take(BEGUN_CHARACTERS).collect();
    client
        .begin("delete from dyno_run where kind = 'begun'")
        .and_then(|()| {
            let insert = "insert into dyno_run (kind, note) values ('begun', :1)";
            client.execute_with(insert, &[&text], Some(crate::patience::ANSWER))
        })
        .map_err(LoadError::Database)
}

/// Notes what has come to the schema as dyno's.
pub(super) fn note_made(client: &mut Client) -> Result<(), LoadError> {
    note(client, "made", "")?;
    forget_begun(client)
}

/// Notes what a statement made before it was refused: nothing, unless it is a block.
pub(super) fn note_refused(client: &mut Client, is_block: bool) -> Result<(), LoadError> {
    if is_block {
        note_cut_off(client)?;
    }
    forget_begun(client)
}

fn forget_begun(client: &mut Client) -> Result<(), LoadError> {
    client
        .execute("delete from dyno_run where kind = 'begun'")
        .map_err(LoadError::Database)
}

/// Notes as dyno's what was made by a statement behind which nobody noted it.
fn note_cut_off(client: &mut Client) -> Result<(), LoadError> {
    let begun = "select note from dyno_run where kind = 'begun'";
    let Some(statement) = client.query_first::<String>(begun).map_err(LoadError::Database)? else {
        return Ok(());
    };
    let names = client
        .query::<String>(&format!("select object_name {UNNOTED}"))
        .map_err(LoadError::Database)?;
    for name in names
        .iter()
        .filter(|name| names_in(&statement).any(|word| word == name.to_uppercase()))
    {
        note(
            client,
            "made",
            &format!(" and object_name = '{}'", name.replace('\'', "''")),
        )?;
    }
    Ok(())
}

/// The names in a statement, in capitals, and its other words.
fn names_in(statement: &str) -> impl Iterator<Item = String> {
    let is_part = |one: char| one.is_alphanumeric() || "_$#".contains(one);
    statement.split(move |one| !is_part(one)).map(str::to_uppercase)
}

/// Notes of the schema what is not noted yet, and of that what fits a further condition.
fn note(client: &mut Client, kind: &str, condition: &str) -> Result<(), LoadError> {
    let statement = format!(
        "insert into dyno_run (kind, id, name, note) select '{kind}', object_id, object_name, object_type \
         {UNNOTED}{condition}"
    );
    client.execute(&statement).map_err(LoadError::Database)
}

/// Drops what dyno made, as far as it is still there and the same.
///
/// # Errors
/// Something else needs it, or the connection is lost.
pub(super) fn drop_made(client: &mut Client) -> Result<(), LoadError> {
    note_cut_off(client)?;
    // A table that dyno made and a view upon it may be in any order: what is needed last goes first.
    let made = "select o.object_type, o.object_name from user_objects o join dyno_run d on d.id = o.object_id where \
                d.kind = 'made' order by o.object_id desc";
    let made = client.query::<(String, String)>(made).map_err(LoadError::Database)?;
    for (kind, name) in made {
        let behind = match kind.as_str() {
            "TABLE" => " cascade constraints purge",
            "TYPE" => " force",
            _ => "",
        };
        let statement = format!("drop {} {}{behind}", kind.to_lowercase(), quoted(&name));
        match refusable(client.work(&statement)).map_err(LoadError::Database)? {
            Err(error) if !error.code().is_some_and(|code| NO_OBJECT.contains(&code)) => {
                return Err(LoadError::Database(error));
            }
            _ => {}
        }
    }
    client
        .execute("delete from dyno_run where kind <> 'lock'")
        .map_err(LoadError::Database)
}

/// Says this of the data.
fn say(client: &mut Client, mark: &Mark) -> Result<(), LoadError> {
    client
        .begin("delete from dyno_run where kind = 'mark'")
        .and_then(|()| {
            let text = mark.to_string();
            let insert = "insert into dyno_run (kind, note) values ('mark', :1)";
            client.execute_with(insert, &[&text], Some(crate::patience::ANSWER))
        })
        .map_err(LoadError::Database)
}

/// Whether there is a table of dyno's, with something to remove.
pub(super) fn is_left(client: &mut Client) -> Result<bool, LoadError> {
    match client.query_first::<u64>("select count(*) from dyno_run where kind = 'lock' or note like 'dyno: %'") {
        Ok(count) => Ok(count.is_some_and(|count| count > 0)),
        Err(error) if matches!(error.code(), Some(NO_TABLE | 904)) => Ok(false),
        Err(error) => Err(LoadError::Database(error)),
    }
}

/// What to do if this user may not make tables.
fn not_allowed(client: &Client, error: ClientError) -> LoadError {
    match error.code() {
        Some(code) if NOT_ALLOWED.contains(&code) => LoadError::NotAllowed {
            error,
            remedy: grant(
                "create table, create sequence, create view, unlimited tablespace",
                &client.info().schema(),
            ),
        },
        _ => LoadError::Database(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Sql, State};

    #[test]
    fn what_a_statement_makes_is_among_its_names() {
        let names: Vec<_> = names_in("create table bench.\"Tbl\" (id number, a$b raw(3))").collect();
        assert!(
            names.contains(&"TBL".to_owned()) && names.contains(&"A$B".to_owned()),
            "{names:?}"
        );
        assert!(!names.contains(&"B".to_owned()), "{names:?}");
    }

    #[test]
    fn data_stays_as_long_as_it_is_what_is_wanted() {
        let data = |state| Data {
            experiment: "e".to_owned(),
            setup: Sql::default(),
            fill: Vec::new(),
            maker: None,
            finish: Sql::default(),
            tablespaces: Vec::new(),
            definition: "d".to_owned(),
            locale: None,
            read_only: false,
            state,
            linked: false,
        };
        let mark = |used_by: Option<&str>| Mark {
            fingerprint: Some(fingerprint(&data(State::Copy))),
            made: None,
            used_by: used_by.map(str::to_owned),
        };
        let kept = |mark: &Mark, state| {
            let wanted = Wanted {
                data: &data(state),
                all: &[],
                campaign: "c",
            };
            mark.stays(&fingerprint(wanted.data), wanted).is_some()
        };
        assert!(kept(&mark(None), State::Copy) && kept(&mark(None), State::Keep));
        assert!(!kept(&mark(None), State::Reload));
        assert!(kept(&mark(Some("c")), State::Keep));
        assert!(!kept(&mark(Some("c")), State::Copy) && !kept(&mark(Some("b")), State::Keep));
        assert!(!kept(&Mark::default(), State::Copy));
        assert!(Mark::default().to_string().starts_with("dyno: "));
    }
}
