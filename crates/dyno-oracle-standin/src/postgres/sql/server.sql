-- Views about the server, which take a right of their own, with the columns that are used of those in the Reference of
-- 12.1. What has no counterpart in PostgreSQL is a table, whose rows a test may change.
create schema sysviews;

create table sysviews.parameters (
  name varchar(80) primary key, type numeric not null, value varchar(4000), isdefault varchar(9) not null,
  isses_modifiable varchar(5) not null, issys_modifiable varchar(9) not null, ispdb_modifiable varchar(5) not null,
  default_value varchar(255), in_file varchar(4000)
);
insert into sysviews.parameters (name, type, value, isdefault, isses_modifiable, issys_modifiable, ispdb_modifiable)
values
  ('commit_logging', 2, null, 'TRUE', 'TRUE', 'IMMEDIATE', 'TRUE'),
  ('commit_wait', 2, null, 'TRUE', 'TRUE', 'IMMEDIATE', 'TRUE'),
  ('cpu_count', 3, '2', 'TRUE', 'FALSE', 'IMMEDIATE', 'TRUE'),
  ('cursor_sharing', 2, 'EXACT', 'TRUE', 'TRUE', 'IMMEDIATE', 'TRUE'),
  ('db_block_checking', 2, 'FALSE', 'TRUE', 'TRUE', 'IMMEDIATE', 'TRUE'),
  ('db_block_size', 3, '8192', 'FALSE', 'FALSE', 'FALSE', 'FALSE'),
  ('db_cache_size', 6, '0', 'TRUE', 'FALSE', 'IMMEDIATE', 'TRUE'),
  ('db_keep_cache_size', 6, '0', 'TRUE', 'FALSE', 'IMMEDIATE', 'FALSE'),
  ('db_name', 2, 'STANDIN', 'FALSE', 'FALSE', 'FALSE', 'FALSE'),
  ('db_writer_processes', 3, '1', 'TRUE', 'FALSE', 'FALSE', 'FALSE'),
  ('disk_asynch_io', 1, 'TRUE', 'TRUE', 'FALSE', 'FALSE', 'FALSE'),
  ('fast_start_mttr_target', 3, '0', 'TRUE', 'FALSE', 'IMMEDIATE', 'FALSE'),
  ('filesystemio_options', 2, 'none', 'TRUE', 'FALSE', 'FALSE', 'FALSE'),
  ('log_archive_start', 1, 'FALSE', 'TRUE', 'FALSE', 'FALSE', 'FALSE'),
  ('log_buffer', 6, '7471104', 'TRUE', 'FALSE', 'FALSE', 'FALSE'),
  ('log_checkpoint_interval', 3, '0', 'TRUE', 'FALSE', 'IMMEDIATE', 'FALSE'),
  ('log_checkpoint_timeout', 3, '1800', 'TRUE', 'FALSE', 'IMMEDIATE', 'FALSE'),
  ('memory_max_target', 6, '0', 'TRUE', 'FALSE', 'FALSE', 'FALSE'),
  ('memory_target', 6, '0', 'TRUE', 'FALSE', 'IMMEDIATE', 'FALSE'),
  ('open_cursors', 3, '300', 'FALSE', 'FALSE', 'IMMEDIATE', 'TRUE'),
  ('optimizer_mode', 2, 'ALL_ROWS', 'TRUE', 'TRUE', 'IMMEDIATE', 'TRUE'),
  ('pga_aggregate_target', 6, '536870912', 'FALSE', 'FALSE', 'IMMEDIATE', 'TRUE'),
  ('processes', 3, '300', 'FALSE', 'FALSE', 'FALSE', 'FALSE'),
  ('resource_manager_plan', 2, null, 'TRUE', 'FALSE', 'IMMEDIATE', 'TRUE'),
  ('result_cache_mode', 2, 'MANUAL', 'TRUE', 'TRUE', 'IMMEDIATE', 'TRUE'),
  ('session_cached_cursors', 3, '50', 'TRUE', 'TRUE', 'DEFERRED', 'TRUE'),
  ('sessions', 3, '472', 'TRUE', 'FALSE', 'IMMEDIATE', 'TRUE'),
  ('sga_max_size', 6, '1610612736', 'TRUE', 'FALSE', 'FALSE', 'FALSE'),
  ('sga_target', 6, '1610612736', 'FALSE', 'FALSE', 'IMMEDIATE', 'TRUE'),
  ('shared_pool_size', 6, '0', 'TRUE', 'FALSE', 'IMMEDIATE', 'TRUE'),
  ('sort_area_size', 3, '65536', 'TRUE', 'TRUE', 'DEFERRED', 'TRUE'),
  ('statistics_level', 2, 'TYPICAL', 'TRUE', 'TRUE', 'IMMEDIATE', 'TRUE'),
  ('undo_retention', 3, '900', 'TRUE', 'FALSE', 'IMMEDIATE', 'TRUE'),
  ('undo_tablespace', 2, 'UNDOTBS1', 'FALSE', 'FALSE', 'IMMEDIATE', 'TRUE');
update sysviews.parameters set default_value = value;
update sysviews.parameters set in_file = value where isdefault = 'FALSE';

create view sysviews."v$parameter" as
  select cast(row_number() over (order by name) as numeric) as num, name, type,
    cast(coalesce(current_setting('standin.' || name, true), value) as varchar(4000)) as value,
    cast(coalesce(current_setting('standin.' || name, true), value) as varchar(4000)) as display_value,
    default_value, isdefault, isses_modifiable, issys_modifiable, ispdb_modifiable,
    cast('TRUE' as varchar(5)) as isinstance_modifiable, cast('FALSE' as varchar(10)) as ismodified,
    cast('FALSE' as varchar(5)) as isadjusted, cast('FALSE' as varchar(5)) as isdeprecated,
    cast('FALSE' as varchar(5)) as isbasic, cast(null as varchar(255)) as description, cast(0 as numeric) as con_id
  from sysviews.parameters;
create view sysviews."v$system_parameter" as select * from sysviews."v$parameter";
create view sysviews."v$spparameter" as
  select cast('*' as varchar(80)) as sid, name,
    cast((array['boolean', 'string', 'integer', 'file', '', 'big integer'])[cast(type as int)] as varchar(11)) as type,
    in_file as value, in_file as display_value,
    cast(case when in_file is null then 'FALSE' else 'TRUE' end as varchar(6)) as isspecified,
    cast(0 as numeric) as con_id
  from sysviews.parameters;

-- Sets a parameter now, in the parameter file, or both; null puts its default back. What is wrong is returned.
create function sysviews.set_system(parameter text, wanted text, now boolean, later boolean) returns text
language plpgsql as $$
declare
  known sysviews.parameters;
  size text[] := regexp_match(wanted, '^(\d+)([KMGT])$', 'i');
begin
  select * into known from sysviews.parameters where name = lower(parameter);
  if known.name is null then
    return '2065 illegal option for ALTER SYSTEM';
  end if;
  if now and known.issys_modifiable = 'FALSE' then
    return '2095 specified initialization parameter cannot be modified';
  end if;
  if size is not null then
    wanted := cast(size[1] as numeric) * 1024 ^ strpos('KMGT', upper(size[2]));
    wanted := trunc(cast(wanted as numeric), 0);
  end if;
  if known.type in (3, 6) and wanted !~ '^\d+$' then
    return '1017 invalid value';
  end if;
  if now and wanted is not null then
    update sysviews.parameters set value = wanted, isdefault = 'FALSE' where name = known.name;
  end if;
  if now and wanted is null then
    update sysviews.parameters set value = default_value, isdefault = 'TRUE' where name = known.name;
  end if;
  if later then
    update sysviews.parameters set in_file = wanted where name = known.name;
  end if;
  return '';
end $$;

create table sysviews."v$instance" (
  instance_number numeric, instance_name varchar(16), host_name varchar(64), version varchar(17),
  version_full varchar(17), startup_time timestamp(0), status varchar(12), parallel varchar(3), "thread#" numeric,
  archiver varchar(7), logins varchar(10), database_status varchar(17), instance_role varchar(18), con_id numeric
);
insert into sysviews."v$instance" values (
  1, 'standin', 'localhost', '19.0.0.0.0', '19.3.0.0.0', cast(pg_postmaster_start_time() at time zone 'UTC' as
  timestamp(0)), 'OPEN', 'NO', 1, 'STOPPED', 'ALLOWED', 'ACTIVE', 'PRIMARY_INSTANCE', 0
);

create table sysviews."v$database" (
  dbid numeric, name varchar(9), created timestamp(0), log_mode varchar(12), open_mode varchar(20),
  database_role varchar(16), force_logging varchar(39), flashback_on varchar(18), db_unique_name varchar(30),
  platform_name varchar(101), cdb varchar(3), con_id numeric
);
insert into sysviews."v$database" values (
  1, 'STANDIN', '2026-01-01', 'NOARCHIVELOG', 'READ WRITE', 'PRIMARY', 'NO', 'NO', 'STANDIN', 'Linux x86 64-bit',
  'YES', 0
);

create table sysviews."v$sgainfo" (name varchar(32), bytes numeric, resizeable varchar(3), con_id numeric);
insert into sysviews."v$sgainfo" values
  ('Fixed SGA Size', 8925744, 'No', 0), ('Redo Buffers', 7471104, 'No', 0),
  ('Buffer Cache Size', 1073741824, 'Yes', 0), ('Shared Pool Size', 436207616, 'Yes', 0),
  ('Maximum SGA Size', 1610612736, 'No', 0), ('Free SGA Memory Available', 0, null, 0);

create table sysviews."v$resource_limit" (
  resource_name varchar(30), current_utilization numeric, max_utilization numeric, initial_allocation varchar(10),
  limit_value varchar(10), con_id numeric
);
insert into sysviews."v$resource_limit" values
  ('processes', 60, 80, '       300', '       300', 0), ('sessions', 70, 90, '       472', '       472', 0),
  ('enqueue_locks', 20, 40, '      5680', '      5680', 0), ('transactions', 0, 0, '       519', ' UNLIMITED', 0);

create table sysviews."v$log" (
  "group#" numeric, "thread#" numeric, "sequence#" numeric, bytes numeric, blocksize numeric, members numeric,
  archived varchar(3), status varchar(16), "first_change#" numeric, first_time timestamp(0), con_id numeric
);
insert into sysviews."v$log" values
  (1, 1, 40, 209715200, 512, 1, 'NO', 'INACTIVE', 1000, '2026-01-01', 0),
  (2, 1, 41, 209715200, 512, 1, 'NO', 'INACTIVE', 2000, '2026-01-01', 0),
  (3, 1, 42, 209715200, 512, 1, 'NO', 'CURRENT', 3000, '2026-01-01', 0);

create table sysviews."v$instance_recovery" (
  recovery_estimated_ios numeric, actual_redo_blks numeric, target_redo_blks numeric,
  log_file_size_redo_blks numeric, log_chkpt_timeout_redo_blks numeric, log_chkpt_interval_redo_blks numeric,
  target_mttr numeric, estimated_mttr numeric, writes_mttr numeric, con_id numeric
);
insert into sysviews."v$instance_recovery" values (100, 20000, 1105920, 1105920, null, null, 0, 12, 0, 0);

create table sysviews."v$system_event" (
  event varchar(64), total_waits numeric, total_timeouts numeric, time_waited numeric, average_wait numeric,
  time_waited_micro numeric, total_waits_fg numeric, total_timeouts_fg numeric, time_waited_fg numeric,
  average_wait_fg numeric, time_waited_micro_fg numeric, event_id numeric, wait_class_id numeric, "wait_class#" numeric,
  wait_class varchar(64), con_id numeric
);
insert into sysviews."v$system_event"
  select event, 100, 0, 50, 0.5, 500000, 90, 0, 45, 0.5, 450000, row_number() over (order by event), 0, 0, class, 0
  from (values
    ('log file sync', 'Commit'), ('log file parallel write', 'System I/O'),
    ('log file switch (checkpoint incomplete)', 'Configuration'),
    ('log file switch (archiving needed)', 'Configuration'), ('log file switch completion', 'Configuration'),
    ('log buffer space', 'Configuration'), ('free buffer waits', 'Configuration'),
    ('buffer busy waits', 'Concurrency'), ('db file sequential read', 'User I/O'),
    ('db file scattered read', 'User I/O'), ('db file parallel write', 'System I/O'),
    ('enq: TX - row lock contention', 'Application'), ('enq: TM - contention', 'Application'),
    ('latch: cache buffers chains', 'Concurrency'), ('library cache: mutex X', 'Concurrency'),
    ('SQL*Net message from client', 'Idle')) as known(event, class);

-- Adds to what was waited for.
create function sysviews.waited(class text, event text, times bigint, us bigint) returns void language sql volatile
  begin atomic
    insert into sysviews."v$system_event"
      select waited.event, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, waited.class, 0
      where not exists (select from sysviews."v$system_event" known where known.event = waited.event);
    update sysviews."v$system_event" set total_waits = total_waits + times,
      time_waited = time_waited + us / 10000, time_waited_micro = time_waited_micro + us,
      total_waits_fg = total_waits_fg + times, time_waited_micro_fg = time_waited_micro_fg + us
    where "v$system_event".event = waited.event;
  end;

-- What was executed, text by text.
create table sysviews.sql_areas (
  sql_id varchar(13) primary key, sql_text varchar(1000), signature bigint, username varchar(128), module varchar(64),
  executions numeric, rows numeric, elapsed_us numeric
);
create view sysviews."v$sqlstats" as
  select sql_text, sql_id, cast(0 as numeric) as plan_hash_value, executions as parse_calls,
    cast(0 as numeric) as disk_reads, cast(0 as numeric) as direct_writes, executions * 3 as buffer_gets,
    rows as rows_processed, cast(0 as numeric) as serializable_aborts, executions as fetches, executions,
    executions as end_of_fetch_count, cast(1 as numeric) as loads, cast(1 as numeric) as version_count,
    cast(0 as numeric) as invalidations, elapsed_us as cpu_time, elapsed_us as elapsed_time,
    cast(0 as numeric) as application_wait_time, cast(0 as numeric) as concurrency_wait_time,
    cast(0 as numeric) as cluster_wait_time, cast(0 as numeric) as user_io_wait_time, cast(0 as numeric) as sorts,
    cast(signature as numeric) as exact_matching_signature, cast(signature as numeric) as force_matching_signature,
    cast(0 as numeric) as con_id
  from sysviews.sql_areas;
create view sysviews."v$sql" as
  select sql_text, sql_id, executions, username as parsing_schema_name, cast(nullif(module, '') as varchar(64)) as
    module, cast(0 as numeric) as child_number, cast(0 as numeric) as con_id
  from sysviews.sql_areas;

-- What was put out of the server's memory.
create table sysviews.flushed (what varchar(30) not null);

create view sysviews."v$sys_time_model" as
  select cast(row_number() over (order by name) as numeric) as stat_id, cast(name as varchar(64)) as stat_name,
    cast(us as numeric) as value, cast(3 as numeric) as con_id
  from (select sum(xact_commit) as commits from pg_stat_database where datname = current_database()) d,
    lateral (values ('DB time', d.commits * 200), ('DB CPU', d.commits * 100), ('background cpu time', d.commits * 10),
      ('background elapsed time', d.commits * 20), ('sql execute elapsed time', d.commits * 150)) as known(name, us);

create table sysviews."v$osstat" (
  stat_name varchar(64), value numeric, osstat_id numeric, comments varchar(64), cumulative varchar(3), con_id numeric
);
insert into sysviews."v$osstat" values
  ('NUM_CPUS', 2, 0, null, 'NO', 0), ('LOAD', 0.5, 15, null, 'NO', 0), ('IDLE_TIME', 100000, 1, null, 'YES', 0),
  ('BUSY_TIME', 20000, 2, null, 'YES', 0), ('USER_TIME', 15000, 3, null, 'YES', 0),
  ('SYS_TIME', 5000, 4, null, 'YES', 0), ('IOWAIT_TIME', 1000, 5, null, 'YES', 0);

create table sysviews."v$sysmetric" (
  begin_time timestamp(0), end_time timestamp(0), intsize_csec numeric, group_id numeric, metric_id numeric,
  metric_name varchar(64), value numeric, metric_unit varchar(64), con_id numeric
);
insert into sysviews."v$sysmetric"
  select '2026-01-01', '2026-01-01', 1500, 3, row_number() over (order by name), name, value, unit, 0
  from (values
    ('Host CPU Utilization (%)', 20, '% Busy/(Idle+Busy)'), ('Average Active Sessions', 0.5, 'Active Sessions'),
    ('Database Wait Time Ratio', 30, '% Wait/DB_Time'),
    ('Average Synchronous Single-Block Read Latency', 0.4, 'Milliseconds')) as known(name, value, unit);

-- Checkpoints, which a test may have begin and end.
create table sysviews.checkpoints (started numeric not null, completed numeric not null);
insert into sysviews.checkpoints values (0, 0);

-- Counters that grow as PostgreSQL's do of this database; other databases of the same server are no part of this one.
-- Pages and log are estimated from the rows that were changed, as PostgreSQL counts both for all databases together.
create view sysviews."v$sysstat" as
  select cast(row_number() over (order by counters.name) as numeric) as "statistic#",
    cast(counters.name as varchar(64)) as name, cast(1 as numeric) as class, cast(counters.value as numeric) as value,
    cast(0 as numeric) as stat_id, cast(0 as numeric) as con_id
  from (select sum(xact_commit) as commits, sum(xact_rollback) as rollbacks, sum(blks_read) as reads,
      sum(blks_hit) as hits, sum(tup_inserted + tup_updated + tup_deleted) as changes, sum(deadlocks) as deadlocks
    from pg_stat_database where datname = current_database()) d,
    sysviews.checkpoints own,
    lateral (values
      ('user commits', d.commits), ('user rollbacks', d.rollbacks), ('transaction rollbacks', d.rollbacks),
      ('user calls', d.commits + d.rollbacks), ('execute count', d.commits + d.rollbacks), ('parse count (total)', 100),
      ('parse count (hard)', 10), ('parse count (failures)', 0), ('opened cursors current', 10),
      ('opened cursors cumulative', 100),
      ('logons cumulative', 10), ('logons current', 5), ('CPU used by this session', d.commits / 100),
      ('DB time', d.commits / 50), ('redo size', d.changes * 500), ('redo entries', d.changes * 2),
      ('redo writes', d.commits), ('redo write time', d.commits / 100), ('redo synch writes', d.commits),
      ('redo synch time', d.commits / 100), ('redo synch time (usec)', d.commits * 100),
      ('redo log space requests', 0), ('redo log space wait time', 0),
      ('redo buffer allocation retries', 0), ('session logical reads', d.reads + d.hits),
      ('consistent gets', d.hits), ('db block gets', d.reads), ('db block changes', d.changes),
      ('physical reads', d.reads), ('physical reads cache', d.reads), ('physical reads direct', 0),
      ('physical read total bytes', d.reads * 8192), ('physical read IO requests', d.reads),
      ('physical writes', d.changes / 10), ('physical writes direct', 0),
      ('physical writes from cache', d.changes / 10), ('physical write total bytes', d.changes / 10 * 8192),
      ('physical write IO requests', d.changes / 10), ('free buffer requested', d.reads),
      ('free buffer inspected', 0), ('dirty buffers inspected', 0),
      ('DBWR checkpoint buffers written', d.changes / 10), ('DBWR checkpoints', own.started),
      ('background checkpoints started', own.started),
      ('background checkpoints completed', own.completed),
      ('undo change vector size', d.changes * 100), ('enqueue waits', 0), ('enqueue deadlocks', d.deadlocks),
      ('enqueue timeouts', 0), ('sorts (memory)', 0), ('sorts (disk)', 0), ('table scans (long tables)', 0),
      ('bytes received via SQL*Net from client', d.commits * 100),
      ('bytes sent via SQL*Net to client', d.commits * 100),
      ('SQL*Net roundtrips to/from client', d.commits * 2)) as counters(name, value);

-- The same for each session, as the stand-in counts what clients ask for; it says so before a statement that asks.
create view sysviews."v$statname" as
  select "statistic#", name, class, stat_id, name as display_name, con_id from sysviews."v$sysstat";
create view sysviews."v$sesstat" as
  select cast(c.sid as numeric) as sid, s."statistic#", cast(coalesce(c.counts ->> s.name, '0') as numeric) as value,
    cast(0 as numeric) as con_id
  from jsonb_each(cast(coalesce(nullif(current_setting('standin.counts', true), ''), '{}') as jsonb)) as c(sid, counts),
    sysviews."v$statname" s;
create view sysviews."v$mystat" as
  select * from sysviews."v$sesstat" where sid = cast(current_setting('standin.sid', true) as numeric);

-- Sessions, as far as they are the stand-in's: they say in their name which they are, and of which module.
create view sysviews."v$session" as
  select cast(case when a.is_ours then split_part(a.application_name, ':', 2) else cast(a.pid as text) end as numeric)
      as sid,
    cast(1 as numeric) as "serial#", cast(a.pid as numeric) as audsid, cast(to_hex(a.pid) as varchar(16)) as paddr,
    cast(case when a.is_ours then split_part(a.application_name, ':', 3) end as varchar(128)) as username,
    cast(case when a.is_ours and a.state <> 'active' then 'INACTIVE' else 'ACTIVE' end as varchar(8)) as status,
    cast('DEDICATED' as varchar(9)) as server,
    cast(case when a.is_ours then split_part(a.application_name, ':', 3) end as varchar(128)) as schemaname,
    cast('bench' as varchar(128)) as osuser, cast(a.pid as varchar(24)) as process,
    cast('localhost' as varchar(64)) as machine, cast('unknown' as varchar(30)) as terminal,
    cast(case when a.is_ours then 'client' else 'oracle@standin (' || a.backend_type || ')' end as varchar(48))
      as program,
    cast(case when a.is_ours then 'USER' else 'BACKGROUND' end as varchar(10)) as type,
    cast(null as varchar(13)) as sql_id,
    cast(nullif(split_part(a.application_name, ':', 4), '') as varchar(64)) as module,
    cast(null as varchar(64)) as action, cast(null as varchar(64)) as client_info,
    cast(null as varchar(64)) as client_identifier, cast(a.backend_start at time zone 'UTC' as timestamp(0)) as
      logon_time,
    cast(extract(epoch from clock_timestamp() - a.state_change) as numeric(20)) as last_call_et,
    cast(cast(l.relation as bigint) as numeric) as "row_wait_obj#",
    cast(case when a.blocker is null then 'NO HOLDER' else 'VALID' end as varchar(11)) as blocking_session_status,
    cast((select split_part(b.application_name, ':', 2) from pg_stat_activity b
      where b.pid = a.blocker and b.application_name like 'standin:%') as numeric) as blocking_session,
    cast(case when not a.is_ours then 'rdbms ipc message'
      when a.provoked is not null then a.provoked
      when a.state <> 'active' then 'SQL*Net message from client'
      when a.wait_event_type = 'Lock' then 'enq: TX - row lock contention'
      when a.wait_event ilike 'wal%' then 'log file sync'
      when a.wait_event_type = 'IO' then 'db file sequential read'
      else 'SQL*Net message to client' end as varchar(64)) as event,
    cast(case when not a.is_ours or a.state <> 'active' then 'Idle'
      when a.provoked is not null then split_part(a.query, '|', 2)
      when a.wait_event_type = 'Lock' then 'Application'
      when a.wait_event ilike 'wal%' then 'Commit'
      when a.wait_event_type = 'IO' then 'User I/O' else 'Network' end as varchar(64)) as wait_class,
    cast(case when a.is_ours and a.state = 'active' and a.wait_event is null then 'WAITED SHORT TIME'
      else 'WAITING' end as varchar(19)) as state,
    cast(extract(epoch from clock_timestamp() - a.state_change) * 1000000 as numeric(20)) as wait_time_micro,
    cast(extract(epoch from clock_timestamp() - a.state_change) as numeric(20)) as seconds_in_wait,
    cast(case when a.state like 'idle in transaction%' or a.backend_xid is not null then to_hex(a.pid) end
      as varchar(16)) as taddr,
    cast('standin' as varchar(64)) as service_name, cast(3 as numeric) as con_id
  from (select *, application_name like 'standin:%' as is_ours, (pg_blocking_pids(pid))[1] as blocker,
      case when state = 'active' and query like '/*waits|%' then split_part(query, '|', 3) end as provoked
    from pg_stat_activity) a
    left join lateral (select relation from pg_locks where pid = a.pid and locktype = 'tuple' limit 1) l on true
  where a.is_ours or a.backend_type in ('checkpointer', 'background writer', 'walwriter');

create view sysviews."v$transaction" as
  select taddr as addr, cast('ACTIVE' as varchar(16)) as status, sid as ses_addr, logon_time as start_date,
    cast(1 as numeric) as used_ublk, cast(1 as numeric) as used_urec, con_id
  from sysviews."v$session" where taddr is not null;

create view sysviews."v$lock" as
  select sid, cast('TX' as varchar(2)) as type, cast(0 as numeric) as id1, cast(0 as numeric) as id2,
    cast(6 as numeric) as lmode, cast(0 as numeric) as request, last_call_et as ctime, cast(0 as numeric) as block,
    con_id
  from sysviews."v$session" where taddr is not null;

create view sysviews.dba_tables as select * from sys.all_tables;
create view sysviews.dba_indexes as select * from sys.all_indexes;
create view sysviews.dba_objects as select * from sys.all_objects;
create view sysviews.dba_segments as select * from sys.all_segments;
create table sysviews.dba_users (
  username varchar(128), user_id numeric, account_status varchar(32), default_tablespace varchar(30),
  temporary_tablespace varchar(30), created timestamp(0), profile varchar(128), password_versions varchar(12)
);
create table sysviews.dba_data_files (
  file_name varchar(513), file_id numeric, tablespace_name varchar(30), bytes numeric, blocks numeric,
  status varchar(9), autoextensible varchar(3), maxbytes numeric
);
insert into sysviews.dba_data_files values ('/data/users01.dbf', 7, 'USERS', 5242880, 640, 'AVAILABLE', 'YES', 0);
create table sysviews.dba_free_space (tablespace_name varchar(30), file_id numeric, block_id numeric, bytes numeric);
insert into sysviews.dba_free_space values ('USERS', 7, 128, 1048576);
