//! What others have in a database that dyno is pointed at: there afterwards as before, or the reason why dyno does
//! not go on.

use crate::support::{Database, Desk, database, run_folders};

/// An experiment that makes tables, types, functions and extensions, and works on them.
fn experiment(desk: &Desk) {
    desk.file(
        "guest.toml",
        "title = \"Guest\"\n[data]\nsetup = '''
         -- for names
         create extension pg_trgm;
         /* and */ create extension citext;
         create type mood as enum ('calm', 'busy');
         create table items (id int primary key, name citext, mood mood default 'calm');
         create table public.beside (id int);
         create function twice(a int) returns int language sql immutable as 'select 2 * a';
         create function keep() returns trigger language plpgsql as 'begin return new; end';
         create view moods as select mood, twice(id) from items;
         create index on items using gin ((name::text) gin_trgm_ops);
         drop table if exists treasure;
         '''\n[data.fill.items]\nrows = 100\ncolumns = { id = \"row\", name = \"'Name ' || row\" }\n\
         [[workload]]\nscript = \"select similarity(name::text, 'x'), elsewhere() from items where id = \
         1;\\nupdate items set name = name where id = 1;\"\n\
         [phases]\nwarmup = \"0s\"\nmeasure = \"300ms\"\ninterval = \"100ms\"\n",
    );
}

fn extensions(database: &Database) -> String {
    database.value(
        "select string_agg(extname || ' ' || nspname, ', ' order by extname) from pg_extension e join \
                    pg_namespace n on n.oid = extnamespace",
    )
}

#[test]
fn goes_neither_with_the_schema_nor_with_what_set_up_created() {
    let (desk, database) = (Desk::new(), database("e2e_guest"));
    experiment(&desk);
    database.execute(
        "create function public.elsewhere() returns int language sql as 'select 1';
         create table public.treasure as select 1 as gold",
    );
    let guest = || desk.on(&database.target(), ["guest.toml"]);
    guest().expect(0).shows("table public.beside");
    // A script without data counts nothing, and leaves the tables of others to others.
    desk.experiment("nothing.toml", "", "select 1;", "300ms");
    let nothing = desk
        .on(&database.target(), ["nothing.toml", "--archive", "nothing"])
        .expect(0);
    assert!(!nothing.stdout.contains("treasure"), "{}", nothing.stdout);
    let vacuumed = "select coalesce(sum(vacuum_count), 0) from pg_stat_all_tables where schemaname = 'public'";
    assert_eq!(database.value(vacuumed), "0");
    assert_eq!(
        extensions(&database),
        "citext public, pg_trgm public, plpgsql pg_catalog"
    );
    database.execute(
        "drop table public.beside;
         create table public.people (name citext, note text);
         insert into public.people values ('Ann', 'hers');
         create index people_note on public.people using gin (note gin_trgm_ops)",
    );
    guest()
        .expect(0)
        .shows("The extension citext, which dyno created, was not removed")
        .shows("column name of table public.people");
    assert_eq!(database.value("select name || note from public.people"), "Annhers");
    assert_eq!(
        database.value("select to_regclass('public.people_note')"),
        "people_note"
    );
    assert_eq!(database.value("select gold from public.treasure"), "1");
    // What nobody needs any more goes.
    let citext = || database.value("select oid from pg_extension where extname = 'citext'");
    let before = citext();
    database.execute("drop table public.beside, public.people");
    guest().expect(0);
    assert_ne!(citext(), before);
    for run in run_folders(&desk.archive()) {
        let record = run.record();
        assert_eq!(record["summary"]["workloads"][0]["errors"], 0);
        // Only what is the experiment's is counted, by its plain name.
        let (sizes, counted) = (&record["summary"]["tables"], &record["tables"]["after"]);
        assert_eq!(
            (sizes.as_array().unwrap().len(), &sizes[0]["table"]),
            (1, &"items".into()),
            "{sizes}"
        );
        assert_eq!(counted["tables"].as_array().unwrap().len(), 1, "{counted}");
        let bytes = |what: &str| counted["tables"][0][what].as_i64().unwrap();
        assert_eq!(counted["database_bytes"], bytes("table_bytes") + bytes("index_bytes"));
    }
}

#[test]
fn depends_on_the_schema_and_is_named() {
    let (desk, database) = (Desk::new(), database("e2e_needed"));
    experiment(&desk);
    database.execute("create function public.elsewhere() returns int language sql as 'select 1'");
    let guest = || desk.on(&database.target(), ["guest.toml"]);
    guest().expect(0);
    database.execute(
        "drop table public.beside;
         create view public.overview as select id from dyno_guest.items;
         create table public.orders (item int references dyno_guest.items, mood dyno_guest.mood, double int default
           dyno_guest.twice(1), gone int);
         insert into public.orders values (1, 'busy');
         create index orders_twice on public.orders (dyno_guest.twice(gone));
         create trigger keeps before update on public.orders for each row execute function dyno_guest.keep();
         create policy limits on public.orders using (dyno_guest.twice(1) = 2);
         create function public.feel(dyno_guest.mood) returns int language sql as 'select 1';
         create table public.heir () inherits (dyno_guest.items);
         create publication news for table dyno_guest.items",
    );
    let said = guest().expect(1).stderr;
    for each in [
        "view public.overview",
        "constraint orders_item_fkey on table public.orders",
        "column mood of table public.orders",
        "default value for column double of table public.orders",
        "index public.orders_twice",
        "trigger keeps on table public.orders",
        "policy limits on table public.orders",
        "function public.feel(dyno_guest.mood)",
        "table public.heir",
        "publication of table dyno_guest.items in publication news",
    ] {
        assert!(said.contains(each), "{each}\n{said}");
    }
    assert!(said.contains("Change or drop that"), "{said}");
    assert_eq!(database.value("select mood from public.orders"), "busy");
    assert_eq!(database.value("select count(*) from public.overview"), "100");
    database.execute(
        "drop publication news; drop table public.heir, public.orders; drop view public.overview; drop \
                      function public.feel",
    );
    // An extension that somebody moved into the schema is his.
    database.execute("create extension hstore schema dyno_guest");
    guest()
        .expect(1)
        .says("extension hstore")
        .says("alter extension … set schema public");
    assert_eq!(
        extensions(&database),
        "citext public, hstore dyno_guest, pg_trgm public, plpgsql pg_catalog"
    );
}

/// An experiment that puts rows into a table, after this set-up.
fn filling(desk: &Desk, name: &str, setup: &str, table: &str) {
    desk.file(
        &format!("{name}.toml"),
        &format!(
            "title = \"Rows\"\n[data]\nstate = \"reload\"\nsetup = '''\n{setup}\n'''\n\
             [data.fill.{table}]\nrows = 5\ngenerate = {{ id = \"row\" }}\n\
             [[workload]]\nscript = \"select 1;\"\n\
             [phases]\nwarmup = \"0s\"\nmeasure = \"200ms\"\ninterval = \"100ms\"\n"
        ),
    );
}

#[test]
fn gets_no_rows_but_in_tables_that_the_setup_made() {
    let (desk, database) = (Desk::new(), database("e2e_rows"));
    database.execute("create table public.victim as select 7 as id");
    let run = |name: &str| desk.on(&database.target(), [&format!("{name}.toml")]);
    for (name, table) in [("plain", "victim"), ("named", "\"public.victim\"")] {
        filling(&desk, name, "create table mine (id int);", table);
        run(name)
            .expect(1)
            .says("victim in the schema \"public\", which is not of this experiment: its setup did not create it");
    }
    let kept = "create table if not exists public.victim (id int);";
    filling(&desk, "kept", kept, "\"public.victim\"");
    run("kept").expect(1).says("its setup did not create it");
    assert_eq!(
        database.value("select string_agg(id::text, ',') from public.victim"),
        "7"
    );

    // What it makes elsewhere is its own the first time; then it is in its own way.
    filling(
        &desk,
        "beside",
        "create table public.beside (id int);",
        "\"public.beside\"",
    );
    run("beside").expect(0);
    run("beside")
        .expect(1)
        .says("relation \"beside\" already exists")
        .says("make tables without naming a schema");
    assert_eq!(database.value("select count(*) from public.beside"), "5");
}

#[test]
fn a_schema_from_pg_dump_leaves_the_tables_to_be_found() {
    let (desk, database) = (Desk::new(), database("e2e_dump"));
    let dump = "set statement_timeout = 0;\nselect pg_catalog.set_config('search_path', '', false);\n\
                create table public.shopt (id integer not null);";
    filling(&desk, "dump", dump, "shopt");
    desk.on(&database.target(), ["dump.toml"]).expect(0);
    assert_eq!(database.value("select count(*) from public.shopt"), "5");
}
