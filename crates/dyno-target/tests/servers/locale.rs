//! What is a letter to an embedded server.

use crate::support::{home, quiet};
use dyno_target::postgres::embedded::{
    DatabaseLocale, Embedded, EmbeddedError, EmbeddedOptions, Server, create_database, drop_database,
};
use dyno_target::postgres::facts::{server_facts, server_version};

/// Makes a database of this locale with 20,000 rows of Chinese text, and gives the size of a trigram index over them.
fn index_bytes(server: &Server, locale: Option<&str>) -> i64 {
    let name = format!(
        "letters_{}",
        locale.unwrap_or("default").replace([':', '.', '-'], "_").to_lowercase()
    );
    let mut admin = server.connection("postgres").connect().unwrap();
    drop_database(&mut admin, &name).unwrap();
    let version = server_version(&mut admin).unwrap();
    let wanted = locale.map(|locale| locale.parse().unwrap());
    let found = DatabaseLocale::find(&mut admin, version, wanted.as_ref()).unwrap();
    assert_eq!(found.note(), None);
    create_database(&mut admin, &name, &found).unwrap();
    let mut client = server.connection(&name).connect().unwrap();
    client
        .batch_execute(
            "create extension pg_trgm;
             create table page (body text);
             insert into page select string_agg(chr(19968 + (g * g + c * 7919) % 20000), '')
               from generate_series(1, 20000) g, generate_series(1, 30) c group by g;
             create index page_body on page using gin (body gin_trgm_ops)",
        )
        .unwrap();
    let facts = server_facts(&mut client).unwrap().locale;
    assert!(facts.is(locale.unwrap_or("C.UTF-8")), "{facts}");
    assert_eq!((facts.encoding.as_str(), facts.collate.as_str()), ("UTF8", "C"));
    let bytes = client
        .query_one("select pg_relation_size('page_body')", &[])
        .unwrap()
        .get(0);
    drop(client);
    drop_database(&mut admin, &name).unwrap();
    bytes
}

fn letters(version: &str) -> Result<(), EmbeddedError> {
    let mut options = EmbeddedOptions::new(home());
    version.clone_into(&mut options.version);
    options.cluster = "tests-locale".to_owned();
    let embedded = Embedded::prepare(&options, &mut quiet)?;
    let server = embedded.start(&[], &mut quiet)?;
    let (usual, ascii) = (index_bytes(&server, None), index_bytes(&server, Some("C")));
    assert!(usual > 2_000_000, "{usual} bytes");
    assert!(ascii < usual / 10, "{ascii} bytes");
    let mut admin = server.connection("postgres").connect().unwrap();
    let major = server_version(&mut admin).unwrap();
    if major >= 150_000 {
        assert!(index_bytes(&server, Some("icu:zh")) > 2_000_000);
    }
    let absent = "xx_XX.UTF-8".parse().unwrap();
    let error = DatabaseLocale::find(&mut admin, major, Some(&absent))
        .unwrap_err()
        .to_string();
    assert!(error.contains("xx_XX.UTF-8") && error.contains("locale -a"), "{error}");
    Ok(())
}

#[test]
fn chinese_text_has_letters() {
    letters("18.6.0").unwrap();
    // Only where one is installed.
    match letters("system") {
        Err(EmbeddedError::NotInstalled { .. }) => {}
        other => other.unwrap(),
    }
}
