//! What depends on a schema from outside, out of rows of `pg_depend`.

use postgres::Row;
use std::collections::{BTreeSet, HashSet};

/// What [`Dependency`] is read from: the columns of a row of `pg_depend d` with what the object is.
pub(super) const COLUMNS: &str = "d.classid, d.objid, d.refclassid, d.refobjid, d.deptype::text,
    d.classid::regclass::text, (pg_identify_object(d.classid, d.objid, d.objsubid)).schema,
      pg_describe_object(d.classid, d.objid, d.objsubid)";

/// An object: its catalogue and number there.
pub(super) type Object = (u32, u32);

/// A row of `pg_depend`: an object, and what it depends on.
#[derive(Clone, Debug)]
pub(super) struct Dependency {
    object: Object,
    on: Object,
    kind: String,
    catalogue: String,
    schema: Option<String>,
    description: String,
}

impl Dependency {
    pub(super) fn read(row: &Row) -> Result<Self, postgres::Error> {
        Ok(Self {
            object: (row.try_get(0)?, row.try_get(1)?),
            on: (row.try_get(2)?, row.try_get(3)?),
            kind: row.try_get(4)?,
            catalogue: row.try_get(5)?,
            schema: row.try_get(6)?,
            description: row.try_get::<_, Option<String>>(7)?.unwrap_or_default(),
        })
    }

    /// Whether the object lies in the schema, or belongs to what does: `inside` holds what is known to do so.
    fn is_inside(&self, schema: &str, inside: &HashSet<Object>) -> bool {
        match self.schema.as_deref() {
            // What an extension brought goes where the extension does.
            _ if self.kind == "e" => inside.contains(&self.on),
            // TOAST tables belong to their tables.
            Some("pg_toast") | None => self.is_part_of(inside),
            Some(other) => other == schema,
        }
    }

    /// Whether an object without a schema is part of one inside: a trigger of its table, a default of its column, a
    /// rule of its view. A publication is somebody's who wants the table to be there, though the server lets a
    /// table go out of it.
    fn is_part_of(&self, inside: &HashSet<Object>) -> bool {
        let part = match self.catalogue.as_str() {
            "pg_publication_rel" | "pg_publication_namespace" => false,
            // A cast has its types and nothing else.
            "pg_cast" => true,
            _ => !matches!(self.kind.as_str(), "n" | "x"),
        };
        part && inside.contains(&self.on)
    }
}

/// The objects outside of `schema` that depend on something in it, as the server describes them. `inside` is what
/// is dyno's beside what the schema shows: the schema itself, and extensions that dyno created.
pub(super) fn dependents(schema: &str, mut inside: HashSet<Object>, rows: &[Dependency]) -> Vec<String> {
    loop {
        let known = inside.len();
        for row in rows {
            if row.is_inside(schema, &inside) {
                inside.insert(row.object);
            }
        }
        if inside.len() == known {
            break;
        }
    }
    let outside = rows
        .iter()
        .filter(|row| inside.contains(&row.on) && !inside.contains(&row.object));
    // One view has as many rows as it uses columns. The server notes them of its rule.
    let named = outside.map(|row| row.description.trim_start_matches("rule _RETURN on "));
    let named: BTreeSet<&str> = named.collect();
    named.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(object: u32, on: u32, kind: &str, catalogue: &str, schema: Option<&str>) -> Dependency {
        Dependency {
            object: (1, object),
            on: (1, on),
            kind: kind.to_owned(),
            catalogue: catalogue.to_owned(),
            schema: schema.map(str::to_owned),
            description: format!("object {object}"),
        }
    }

    #[test]
    fn tells_parts_from_what_uses_them() {
        let rows = [
            row(20, 10, "a", "pg_trigger", None),
            row(10, 1, "n", "pg_class", Some("own")),
            row(11, 10, "i", "pg_class", Some("pg_toast")),
            row(30, 10, "n", "pg_rewrite", None),
            row(30, 31, "i", "pg_rewrite", None),
            row(40, 10, "a", "pg_class", Some("public")),
            row(50, 10, "a", "pg_publication_rel", None),
            row(60, 10, "n", "pg_cast", None),
        ];
        let inside = HashSet::from([(1, 1)]);
        assert_eq!(
            dependents("own", inside.clone(), &rows),
            ["object 30", "object 40", "object 50"]
        );
        assert!(dependents("own", inside, &rows[..3]).is_empty());
    }
}
