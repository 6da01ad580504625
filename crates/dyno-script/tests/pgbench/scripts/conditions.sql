-- Which values are true, and which branches are taken.
\set null null
\set nan 0.0 / 0
\if 1
\set x debug(1)
\endif
\if 0
\set x debug(-2)
\endif
\if -1
\set x debug(3)
\else
\set x debug(-3)
\endif
\if 0.5
\set x debug(4)
\endif
\if 0.0
\set x debug(-5)
\else
\set x debug(5)
\endif
\if :nan
\set x debug(6)
\else
\set x debug(-6)
\endif
\if null
\set x debug(-7)
\elif :null
\set x debug(-71)
\elif not :null
\set x debug(-72)
\else
\set x debug(7)
\endif
\if true
\set x debug(8)
\elif debug(true)
\set x debug(-81)
\else
\set x debug(-82)
\endif
\if debug(false)
\set x debug(-9)
\elif debug(1)
\set x debug(9)
\elif debug(2)
\set x debug(-91)
\endif
-- An elif right behind an inner endif belongs to the outer if, whatever the inner one did.
\if 1
\if 0
\set x debug(-10)
\endif
\elif debug(100)
\set x debug(-11)
\else
\set x debug(-12)
\endif
\if 1
\if 0
\elif 0
\else
\set x debug(13)
\endif
\elif debug(100)
\set x debug(-13)
\endif
\if 0
\if debug(1)
\elif debug(2)
\else
\set x debug(-14)
\endif
\elif debug(3)
\set x debug(14)
\if 0
\else
\if debug(4)
\set x debug(15)
\elif debug(-5)
\endif
\endif
\else
\set x debug(-15)
\endif
-- Branches that are not taken draw nothing.
\if 0
\set x random(1, 1000000)
\else
\set x debug(random(1, 1000000))
\endif
\if random(1, 2) = 1
\set x debug(random(1, 1000000))
select 'one', :x;
\elif random(1, 2) = 1
select 'two', :x \;
select 3;
\else
select 'three', :x
\endif
\if true \
 and \
 1 = 1
\else
\endif
\IF 1 = 1
\Set x debug(16)
\ELSE
\EndIf
\set x debug(random(1, 1000000))
select 'end', :x
