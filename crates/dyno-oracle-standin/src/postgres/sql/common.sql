-- Oracle's own names, for statements that use them. Sessions look here before they look into pg_catalog.
create schema sys;
create schema dbms_random;
create schema dbms_xplan;

create view sys.dual as select cast('X' as varchar(1)) as dummy;

create function sys.session_user_name() returns varchar language sql stable
  return cast(current_setting('standin.user', true) as varchar);

create function sys.sys_context(space text, name text) returns varchar language sql stable return
  case lower(name)
    when 'session_user' then current_setting('standin.user', true)
    when 'current_schema' then current_setting('standin.user', true)
    when 'current_user' then current_setting('standin.user', true)
    when 'sid' then current_setting('standin.sid', true)
    when 'sessionid' then current_setting('standin.sid', true)
    when 'instance' then '1'
    when 'con_id' then '3'
    when 'con_name' then 'STANDINPDB'
    when 'db_name' then 'STANDIN'
    when 'db_unique_name' then 'STANDIN'
    when 'service_name' then 'standin'
    when 'instance_name' then 'standin'
    when 'server_host' then 'localhost'
  end;

create function sys.to_char(value numeric) returns varchar language sql immutable return cast(value as text);
create function sys.to_char(value text) returns varchar language sql immutable return value;
create function sys.to_number(value text) returns numeric language sql immutable return cast(value as numeric);
create function sys.to_date(value text, format text) returns timestamp(0) language sql stable
  return cast(pg_catalog.to_timestamp(value, format) as timestamp(0));
create function sys.to_timestamp(value text, format text) returns timestamp language sql stable
  return cast(pg_catalog.to_timestamp(value, format) as timestamp);
create function sys.trunc(value timestamp) returns timestamp(0) language sql immutable
  return cast(date_trunc('day', value) as timestamp(0));
create function sys.instr(value text, part text) returns numeric language sql immutable return strpos(value, part);
create function sys.lpad(value numeric, length numeric, filling text) returns varchar language sql immutable
  return pg_catalog.lpad(cast(value as text), cast(length as int), filling);
create function sys.rpad(value text, length numeric, filling text) returns varchar language sql immutable
  return pg_catalog.rpad(value, cast(length as int), filling);
create function sys.lpad(value text, length numeric, filling text) returns varchar language sql immutable
  return pg_catalog.lpad(value, cast(length as int), filling);

-- A DATE plus days is a DATE; between two of them are days.
create function sys.plus_days(at timestamp, days numeric) returns timestamp language sql immutable
  return at + days * interval '1 day';
create function sys.minus_days(at timestamp, days numeric) returns timestamp language sql immutable
  return at - days * interval '1 day';
create function sys.days_between(later timestamp, earlier timestamp) returns numeric language sql immutable
  return (extract(epoch from later) - extract(epoch from earlier)) / 86400;
create operator sys.+ (leftarg = timestamp, rightarg = numeric, function = sys.plus_days);
create operator sys.- (leftarg = timestamp, rightarg = numeric, function = sys.minus_days);
create operator sys.- (leftarg = timestamp, rightarg = timestamp, function = sys.days_between);

create function dbms_random.value() returns numeric language sql volatile return cast(random() as numeric);
create function dbms_random.value(low numeric, high numeric) returns numeric language sql volatile
  return low + cast(random() as numeric) * (high - low);
create function dbms_random.string(kind text, length numeric) returns varchar language sql volatile
  return (select string_agg(chr(65 + cast(floor(random() * 26) as int)), '')
    from generate_series(1, cast(length as int)));

-- What EXPLAIN PLAN writes.
create table sys.plan_table (
  statement_id varchar(30), plan_id numeric, "timestamp" timestamp(0), remarks varchar(4000), operation varchar(30),
  options varchar(255), object_node varchar(128), object_owner varchar(128), object_name varchar(128),
  object_alias varchar(261), object_instance numeric(38), object_type varchar(30), optimizer varchar(255),
  search_columns numeric, id numeric(38), parent_id numeric(38), depth numeric(38), position numeric(38),
  cost numeric(38), cardinality numeric(38), bytes numeric(38), other_tag varchar(255), partition_start varchar(255),
  partition_stop varchar(255), partition_id numeric(38), distribution varchar(30), cpu_cost numeric(38),
  io_cost numeric(38), temp_space numeric(38), access_predicates varchar(4000), filter_predicates varchar(4000),
  projection varchar(4000), "time" numeric(38), qblock_name varchar(128)
);

create function dbms_xplan.display(name text, id text, format text) returns table (plan_table_output varchar)
language sql stable as $$
  select 'Plan hash value: 0'
  union all
  select '| ' || p.id || ' | ' || repeat(' ', cast(p.depth as int)) || p.operation || ' ' || coalesce(p.options, '')
    || ' | ' || coalesce(p.object_name, '') || ' |'
  from (select * from sys.plan_table t where t.statement_id = display.id order by t.id) p
$$;
