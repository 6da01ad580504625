-- Views of what there is, which everybody may read, with the columns that are used of those in the Reference of 12.1.

create function sys.shown(name text) returns varchar language sql immutable
  return case when name = lower(name) then upper(name) else name end;

-- Which buffer pool a table or an index was put into, unless it is that of all others.
create table sys.pools (relid oid primary key, pool varchar(7) not null);

create function sys.put_into_pool(name text, pool text) returns void language sql volatile
  begin atomic
    delete from sys.pools p where p.relid = cast(name as regclass)
      or not exists (select from pg_class c where c.oid = p.relid);
    insert into sys.pools values (cast(name as regclass), upper(pool));
  end;

create function sys.pool(id oid) returns varchar language sql stable
  return cast(coalesce((select p.pool from sys.pools p where p.relid = id), 'DEFAULT') as varchar(7));

create view sys.all_objects as
  select cast(sys.shown(n.nspname) as varchar(128)) as owner, cast(sys.shown(c.relname) as varchar(128)) as object_name,
    cast(null as varchar(128)) as subobject_name, cast(cast(c.oid as bigint) as numeric) as object_id,
    cast(cast(c.relfilenode as bigint) as numeric) as data_object_id,
    cast(case c.relkind when 'r' then 'TABLE' when 'p' then 'TABLE' when 'v' then 'VIEW' when 'i' then 'INDEX'
      when 'm' then 'MATERIALIZED VIEW' else 'SEQUENCE' end as varchar(23)) as object_type,
    cast('2026-01-01' as timestamp(0)) as created, cast('2026-01-01' as timestamp(0)) as last_ddl_time,
    cast('VALID' as varchar(7)) as status, cast('N' as varchar(1)) as temporary
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'i', 'm', 'S') and n.nspname not like 'pg\_%'
    and n.nspname <> 'information_schema';

create view sys.all_tables as
  select cast(sys.shown(n.nspname) as varchar(128)) as owner, cast(sys.shown(c.relname) as varchar(128)) as table_name,
    cast('USERS' as varchar(30)) as tablespace_name, cast('VALID' as varchar(8)) as status,
    cast(10 as numeric) as pct_free, cast(1 as numeric) as ini_trans, cast('YES' as varchar(3)) as logging,
    cast(nullif(c.reltuples, -1) as numeric) as num_rows, cast(c.relpages as numeric) as blocks,
    cast(0 as numeric) as empty_blocks, cast(100 as numeric) as avg_row_len,
    cast(coalesce(s.last_analyze, s.last_autoanalyze) as timestamp(0)) as last_analyzed,
    cast('NO' as varchar(3)) as partitioned, cast('N' as varchar(1)) as temporary,
    cast('DISABLED' as varchar(8)) as compression, cast('1' as varchar(10)) as degree,
    sys.pool(c.oid) as buffer_pool
  from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_stat_all_tables s on s.relid = c.oid
  where c.relkind in ('r', 'p') and n.nspname not like 'pg\_%' and n.nspname <> 'information_schema';

create view sys.all_indexes as
  select cast(sys.shown(n.nspname) as varchar(128)) as owner, cast(sys.shown(c.relname) as varchar(128)) as index_name,
    cast('NORMAL' as varchar(27)) as index_type, cast(sys.shown(n.nspname) as varchar(128)) as table_owner,
    cast(sys.shown(t.relname) as varchar(128)) as table_name,
    cast(case when i.indisunique then 'UNIQUE' else 'NONUNIQUE' end as varchar(9)) as uniqueness,
    cast('USERS' as varchar(30)) as tablespace_name, cast(1 as numeric) as blevel,
    cast(c.relpages as numeric) as leaf_blocks, cast(nullif(c.reltuples, -1) as numeric) as num_rows,
    cast('VALID' as varchar(8)) as status, sys.pool(c.oid) as buffer_pool
  from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
    join pg_namespace n on n.oid = c.relnamespace
  where n.nspname not like 'pg\_%';

create view sys.all_tab_columns as
  select cast(sys.shown(n.nspname) as varchar(128)) as owner, cast(sys.shown(c.relname) as varchar(128)) as table_name,
    cast(sys.shown(a.attname) as varchar(128)) as column_name,
    cast(case format_type(a.atttypid, null) when 'numeric' then 'NUMBER' when 'character varying' then 'VARCHAR2'
      when 'character' then 'CHAR' when 'bytea' then 'RAW' when 'double precision' then 'BINARY_DOUBLE'
      when 'timestamp without time zone' then case a.atttypmod when 0 then 'DATE' else 'TIMESTAMP(6)' end
      else upper(format_type(a.atttypid, null)) end as varchar(128)) as data_type,
    cast(case when a.atttypmod > 4 then a.atttypmod - 4 end as numeric) as char_length,
    cast(case when a.attnotnull then 'N' else 'Y' end as varchar(1)) as nullable, cast(a.attnum as numeric) as column_id
  from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
  where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p', 'v') and n.nspname not like 'pg\_%'
    and n.nspname <> 'information_schema';

create view sys.all_tab_modifications as
  select cast(sys.shown(schemaname) as varchar(128)) as table_owner,
    cast(sys.shown(relname) as varchar(128)) as table_name, cast(null as varchar(128)) as partition_name,
    cast(n_tup_ins as numeric) as inserts, cast(n_tup_upd as numeric) as updates, cast(n_tup_del as numeric) as deletes,
    cast('2026-01-01' as timestamp(0)) as "timestamp", cast('NO' as varchar(3)) as truncated
  from pg_stat_user_tables;

create view sys.all_segments as
  select cast(sys.shown(n.nspname) as varchar(128)) as owner,
    cast(sys.shown(c.relname) as varchar(128)) as segment_name, cast(null as varchar(128)) as partition_name,
    cast(case c.relkind when 'i' then 'INDEX' else 'TABLE' end as varchar(18)) as segment_type,
    cast('USERS' as varchar(30)) as tablespace_name,
    cast(case c.relkind when 'i' then pg_relation_size(c.oid) else pg_table_size(c.oid) end as numeric) as bytes,
    cast(c.relpages as numeric) as blocks, cast(1 as numeric) as extents, sys.pool(c.oid) as buffer_pool
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'i') and n.nspname not like 'pg\_%' and n.nspname <> 'information_schema';

create view sys.all_lobs as
  select cast(null as varchar(128)) as owner, cast(null as varchar(128)) as table_name,
    cast(null as varchar(4000)) as column_name, cast(null as varchar(128)) as segment_name,
    cast(null as varchar(30)) as tablespace_name, cast(null as varchar(128)) as index_name
  where false;

create view sys.user_objects as select * from sys.all_objects where owner = sys.session_user_name();
create view sys.user_tables as select * from sys.all_tables where owner = sys.session_user_name();
create view sys.user_indexes as select * from sys.all_indexes where owner = sys.session_user_name();
create view sys.user_tab_columns as select * from sys.all_tab_columns where owner = sys.session_user_name();
create view sys.user_segments as select * from sys.all_segments where owner = sys.session_user_name();
create view sys.user_lobs as select * from sys.all_lobs where owner = sys.session_user_name();
create view sys.user_tab_modifications as
  select * from sys.all_tab_modifications where table_owner = sys.session_user_name();

create table sys."v$version" (
  banner varchar(80), banner_full varchar(160), banner_legacy varchar(80), con_id numeric
);
insert into sys."v$version" values (
  'Oracle Database 19c Stand-in Release 19.0.0.0.0 - Production',
  E'Oracle Database 19c Stand-in Release 19.0.0.0.0 - Production\nVersion 19.3.0.0.0',
  'Oracle Database 19c Stand-in Release 19.0.0.0.0 - Production', 0
);

-- What the user may do. Who may not see the server's views may not alter the system either.
create table sys.privileges (privilege varchar(40), is_of_system boolean not null);
insert into sys.privileges values
  ('CREATE SESSION', false), ('CREATE TABLE', false), ('CREATE SEQUENCE', false), ('CREATE VIEW', false),
  ('CREATE PROCEDURE', false), ('ALTER SYSTEM', true);
create view sys.session_privs as
  select privilege from sys.privileges
  where not is_of_system or current_setting('search_path') like '%sysviews%';

create view sys.user_users as
  select cast(sys.session_user_name() as varchar(128)) as username, cast(100 as numeric) as user_id,
    cast('OPEN' as varchar(32)) as account_status, cast(null as timestamp(0)) as lock_date,
    cast(null as timestamp(0)) as expiry_date, cast('USERS' as varchar(30)) as default_tablespace,
    cast('TEMP' as varchar(30)) as temporary_tablespace, cast('2026-01-01' as timestamp(0)) as created;

create table sys.user_ts_quotas (
  tablespace_name varchar(30), bytes numeric, max_bytes numeric, blocks numeric, max_blocks numeric, dropped varchar(3)
);
insert into sys.user_ts_quotas values ('USERS', 1048576, -1, 128, -1, 'NO');

create table sys.user_resource_limits (resource_name varchar(32), "limit" varchar(128));
insert into sys.user_resource_limits values
  ('SESSIONS_PER_USER', 'UNLIMITED'), ('CPU_PER_SESSION', 'UNLIMITED'), ('IDLE_TIME', 'UNLIMITED'),
  ('CONNECT_TIME', 'UNLIMITED');
