//! Which tables of a database are the experiment's: only these are vacuumed, warmed, and counted.

use postgres_protocol::escape::escape_literal;

/// What of a database is the experiment's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every table: the database is dyno's own.
    Database,
    /// The tables of this schema.
    Schema(String),
    /// The tables that `pgbench -i` makes, where a session finds them.
    Pgbench,
    /// None: the experiment brings no data.
    Nothing,
}

impl Scope {
    /// The tables as the end of a query, with `c` from `pg_class` and `n` from `pg_namespace`.
    pub(crate) fn tables(&self) -> String {
        let which = match self {
            Self::Database => {
                "n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'".to_owned()
            }
            Self::Schema(name) => format!("n.nspname = {}", escape_literal(name).trim()),
            Self::Pgbench => {
                "c.relname ~ '^pgbench_(accounts(_[0-9]+)?|branches|tellers|history)$' and pg_table_is_visible(c.oid)"
                    .to_owned()
            }
            Self::Nothing => "false".to_owned(),
        };
        format!(
            "from pg_class c join pg_namespace n on n.oid = c.relnamespace
             where c.relkind in ('r', 'm') and c.relpersistence <> 't' and {which}"
        )
    }

    /// Whether the database may hold tables of others.
    pub(crate) fn is_database(&self) -> bool {
        *self == Self::Database
    }

    /// The name by which a report knows the table: with its schema unless that is the obvious one.
    #[must_use]
    pub fn name_of(&self, schema: &str, table: &str) -> String {
        let obvious = match self {
            Self::Schema(name) => name == schema,
            _ => schema == "public",
        };
        if obvious {
            table.to_owned()
        } else {
            format!("{schema}.{table}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_schema_where_it_is_not_obvious() {
        let own = Scope::Schema("dyno_x".to_owned());
        assert_eq!(own.name_of("dyno_x", "t"), "t");
        assert_eq!(own.name_of("public", "t"), "public.t");
        assert_eq!(Scope::Database.name_of("public", "t"), "t");
        assert_eq!(Scope::Database.name_of("a", "t"), "a.t");
    }
}
