//! What came into a database outside of dyno's schema while an experiment's set-up ran.

use super::SchemaError;
use crate::postgres::address::{ConnectionInfo, Interruptible};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Everything that a set-up could make, by catalogue and number, but for what is in the schema `$1`, belongs to an
/// extension, or is a part of something else.
const OBJECTS: &str = "select o.classid, o.oid from (
        select 'pg_class'::regclass::oid as classid, oid, relnamespace as namespace from pg_class where
          relpersistence <> 't'
        union all select 'pg_proc'::regclass::oid, oid, pronamespace from pg_proc
        union all select 'pg_type'::regclass::oid, oid, typnamespace from pg_type
        union all select 'pg_operator'::regclass::oid, oid, oprnamespace from pg_operator
        union all select 'pg_opclass'::regclass::oid, oid, opcnamespace from pg_opclass
        union all select 'pg_collation'::regclass::oid, oid, collnamespace from pg_collation
        union all select 'pg_ts_config'::regclass::oid, oid, cfgnamespace from pg_ts_config
        union all select 'pg_trigger'::regclass::oid, t.oid, 0 from pg_trigger t join pg_class c on c.oid = tgrelid
                   where c.relnamespace is distinct from (select oid from pg_namespace where nspname = $1) and not
                     tgisinternal
        union all select 'pg_namespace'::regclass::oid, oid, oid from pg_namespace where nspname !~ '^pg_(toast_)?temp_'
        union all select 'pg_extension'::regclass::oid, oid, 0 from pg_extension
        union all select 'pg_cast'::regclass::oid, oid, 0 from pg_cast
        union all select 'pg_language'::regclass::oid, oid, 0 from pg_language
        union all select 'pg_event_trigger'::regclass::oid, oid, 0 from pg_event_trigger
        union all select 'pg_foreign_data_wrapper'::regclass::oid, oid, 0 from pg_foreign_data_wrapper
        union all select 'pg_foreign_server'::regclass::oid, oid, 0 from pg_foreign_server
        union all select 'pg_authid'::regclass::oid, oid, 0 from pg_roles
        union all select 'pg_database'::regclass::oid, oid, 0 from pg_database
        union all select 'pg_tablespace'::regclass::oid, oid, 0 from pg_tablespace
    ) o
    where o.oid >= 16384 and o.namespace is distinct from (select oid from pg_namespace where nspname = $1)
      and o.namespace is distinct from (select oid from pg_namespace where nspname = 'pg_toast')
      and not exists (select 1 from pg_depend d where d.classid = o.classid and d.objid = o.oid and d.deptype in
        ('i', 'e'))";

/// A look at everything that is outside of a schema.
pub struct Catalogue {
    client: Interruptible,
    schema: String,
    before: HashSet<(u32, u32)>,
}

impl Catalogue {
    /// Remembers what is there, outside of `schema`. `stop` ends this look and the next.
    ///
    /// # Errors
    /// No connection.
    pub fn outside_of(info: &ConnectionInfo, schema: &str, stop: &Arc<AtomicBool>) -> Result<Self, SchemaError> {
        let mut catalogue = Self {
            client: info.connect_until(stop)?,
            schema: schema.to_owned(),
            before: HashSet::new(),
        };
        // The server then names objects with their schemas.
        let qualified = catalogue.client.batch_execute("set search_path to pg_catalog");
        qualified.map_err(|error| SchemaError::server("look at what is in the database", &error))?;
        catalogue.before = catalogue.objects()?.into_iter().collect();
        Ok(catalogue)
    }

    /// What has come since, as the server describes it. On a server in use somebody else may have made it.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn created(&mut self) -> Result<Vec<String>, SchemaError> {
        let now = self.objects()?;
        let new: Vec<_> = now.into_iter().filter(|object| !self.before.contains(object)).collect();
        let (classes, oids): (Vec<u32>, Vec<u32>) = new.into_iter().unzip();
        let query = "select pg_describe_object(c, o, 0) from (select ($1::oid[])[i] as c, ($2::oid[])[i] as o from \
                     generate_subscripts($1::oid[], 1) i) new
                      where pg_describe_object(c, o, 0) is not null order by 1";
        let rows = self.client.query(query, &[&classes, &oids]);
        let rows = rows.map_err(|error| SchemaError::server("see what the set-up made", &error))?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    fn objects(&mut self) -> Result<Vec<(u32, u32)>, SchemaError> {
        let rows = self.client.query(OBJECTS, &[&self.schema]);
        let rows = rows.map_err(|error| SchemaError::server("look at what is in the database", &error))?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }
}
