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
    when 'db_name' then 'STANDIN'
    when 'con_name' then 'STANDINPDB'
    when 'service_name' then 'standin'
    when 'instance_name' then 'standin'
    when 'server_host' then 'localhost'
  end;

create function sys.to_char(value numeric) returns varchar language sql immutable return cast(value as text);
create function sys.to_char(value text) returns varchar language sql immutable return value;
create function sys.to_number(value text) returns numeric language sql immutable return cast(value as numeric);
create function sys.to_date(value text, format text) returns timestamp(0) language sql stable
  return cast(pg_catalog.to_timestamp(value, format) as timestamp(0));
create function sys.trunc(value timestamp) returns timestamp(0) language sql immutable
  return cast(date_trunc('day', value) as timestamp(0));
create function sys.instr(value text, part text) returns numeric language sql immutable return strpos(value, part);

-- A DATE plus days is a DATE.
create function sys.plus_days(at timestamp, days numeric) returns timestamp language sql immutable
  return at + days * interval '1 day';
create function sys.minus_days(at timestamp, days numeric) returns timestamp language sql immutable
  return at - days * interval '1 day';
create operator sys.+ (leftarg = timestamp, rightarg = numeric, function = sys.plus_days);
create operator sys.- (leftarg = timestamp, rightarg = numeric, function = sys.minus_days);

create function dbms_random.value() returns numeric language sql volatile return cast(random() as numeric);
create function dbms_random.value(low numeric, high numeric) returns numeric language sql volatile
  return low + cast(random() as numeric) * (high - low);
create function dbms_random.string(kind text, length numeric) returns varchar language sql volatile
  return (select string_agg(chr(65 + floor(random() * 26)::int), '') from generate_series(1, length::int));

create function sys.set_system(param text, new_value text, now boolean, later boolean) returns text
language plpgsql as 'begin return ''2065 illegal option for ALTER SYSTEM''; end';
