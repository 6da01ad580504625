-- a comment before
\set a random(1, 1000)
\set d 1.0 / 3
\set t true
\set n null
select :a, :d, :t, :n, :unset, 'in quotes :a', "x:a", 1::int, :a::text;
/* a comment; /* nested; */ :a */ select 2 -- with ; here
;
select $q$ ; :a $q$, E'\';', 'a''; \', "a"";"
  , second_line;
begin \; update t set x = :a \; end;
;
select (1; 2); select 3\:\:text;
create or replace function f(begin int) returns int begin atomic select 1; select case when true then 2 end; end;
select 4 \set b 5
select a$b$;
\
\set c random(1, 10) \
  
select 5
\sleep 1us
 , 6; select :b:a:c
