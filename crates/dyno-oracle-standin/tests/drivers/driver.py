"""Oracle's own driver in Python (python-oracledb, thin) against a stand-in: whatever is not as on a real server ends
this with an error. Usage: driver.py PORT [CERTIFICATE of a server that speaks TLS]"""

import datetime
import ssl
import sys
import threading
import time

import oracledb

PORT = sys.argv[1]
TLS = {}
if len(sys.argv) > 2:
    context = ssl.create_default_context(cafile=sys.argv[2])
    TLS = {"protocol": "tcps", "ssl_context": context, "ssl_server_dn_match": False}


def connect(password="secret"):
    place = {"host": "127.0.0.1", "port": int(PORT), "service_name": "standin"}
    return oracledb.connect(user="bench", password=password, **place, **TLS)


def same(found, expected):
    if found != expected:
        raise AssertionError(f"{found!r} instead of {expected!r}")


def fails(code, work, kind=oracledb.DatabaseError):
    try:
        work()
    except kind as error:
        same(error.args[0].full_code, code)
        return error.args[0]
    raise AssertionError(f"no {code}")


def value_of(cursor, sql, *binds):
    cursor.execute(sql, binds)
    (row,) = cursor.fetchall()
    return row[0] if len(row) == 1 else row


def types(connection):
    cursor = connection.cursor()
    cursor.execute(
        "create table kinds (id number(10) primary key, n number, p number(12, 2), v varchar2(200 byte), c char(5),"
        " d date, t timestamp(6), r raw(16), f binary_double) tablespace users pctfree 10"
    )
    day = datetime.datetime(1969, 2, 28, 23, 59, 59)
    instant = day.replace(microsecond=123456)
    rows = [
        (1, 12345678901234567890, -12.75, "grün 漢字", "ab", day, instant, b"\x00\xff", 0.1),
        (2, -0.0001, 0, "x" * 200, "abcde", None, day, b"", -1e300),
        (3, None, None, None, None, None, None, None, None),
    ]
    for row in rows:
        # Otherwise these are bound as DATE and NUMBER.
        cursor.setinputsizes(*[None] * 6, oracledb.DB_TYPE_TIMESTAMP, None, oracledb.DB_TYPE_BINARY_DOUBLE)
        cursor.execute("insert into kinds values (:1, :2, :3, :4, :5, :6, :7, :8, :9)", row)
    cursor.execute("select * from kinds order by id")
    same(
        [(told.name, told.type_code, told.precision, told.scale, told.null_ok) for told in cursor.description],
        [
            ("ID", oracledb.DB_TYPE_NUMBER, 10, 0, False),
            ("N", oracledb.DB_TYPE_NUMBER, 0, -127, True),
            ("P", oracledb.DB_TYPE_NUMBER, 12, 2, True),
            ("V", oracledb.DB_TYPE_VARCHAR, None, None, True),
            ("C", oracledb.DB_TYPE_CHAR, None, None, True),
            ("D", oracledb.DB_TYPE_DATE, None, None, True),
            ("T", oracledb.DB_TYPE_TIMESTAMP, 0, 6, True),
            ("R", oracledb.DB_TYPE_RAW, None, None, True),
            ("F", oracledb.DB_TYPE_BINARY_DOUBLE, None, None, True),
        ],
    )
    found = cursor.fetchall()
    same(found[0], (*rows[0][:4], "ab   ", *rows[0][5:]))
    # Empty bytes are null.
    same(found[1], (*rows[1][:7], None, rows[1][8]))
    same(found[2], rows[2])
    connection.rollback()
    same(value_of(cursor, "select count(*) from kinds"), 0)
    cursor.execute("drop table kinds purge")
    same(value_of(cursor, "select :1 from dual", -12.75), -12.75)
    same(value_of(cursor, "select :1 from dual", "x" * 3000), "x" * 3000)
    same(value_of(cursor, "select null from dual"), None)
    same(value_of(cursor, "select user from dual"), "BENCH")
    now = value_of(cursor, "select sysdate, systimestamp from dual")
    if abs(now[1] - now[0]) > datetime.timedelta(seconds=2):
        raise AssertionError(f"{now}")


def changes(connection):
    """A thousand rows in a table `tbl`, changed in all ways."""
    cursor = connection.cursor()
    cursor.execute("create table tbl (id number(10) primary key, info varchar2(100), bal number default 0 not null)")
    rows = [(number, f"info-{number}") for number in range(1, 1001)]
    cursor.executemany("insert into tbl (id, info) values (:1, :2)", rows)
    same(cursor.rowcount, 1000)
    connection.commit()
    for number in (7, 8):
        same(value_of(cursor, "select id, info from tbl where id = :1", number), (number, f"info-{number}"))
    cursor.execute("select id, info from tbl where id = :1", [99999])
    same(cursor.fetchall(), [])

    cursor.execute("update tbl set info = :1 where id = :2", ["new", 7])
    same(cursor.rowcount, 1)
    connection.commit()
    cursor.execute("update tbl set info = :1 where id = :2", ["newer", 8])
    connection.rollback()
    cursor.execute("select id, info, bal from tbl where rownum <= :most and id > 6 order by id", most=3)
    same(cursor.fetchall(), [(7, "new", 0), (8, "info-8", 0), (9, "info-9", 0)])

    # Many rounds, of which the last is full.
    for arraysize in (1000, 100, 7):
        cursor.arraysize, cursor.prefetchrows = arraysize, 2
        cursor.execute("select id, info from tbl order by id")
        found = cursor.fetchall()
        same((len(found), found[0], found[-1]), (1000, (1, "info-1"), (1000, "info-1000")))
    # Values that repeat those above them.
    cursor.execute("select bal, info, bal from tbl where id > 990 order by id")
    same(cursor.fetchall(), [(0, f"info-{number}", 0) for number in range(991, 1001)])

    # A statement that fails takes nothing back but itself.
    cursor.execute("update tbl set bal = bal + 5 where id = 1")
    insert = "insert into tbl (id, info) values (:1, :2)"
    fails("ORA-00001", lambda: cursor.execute(insert, [1, "twice"]), oracledb.IntegrityError)
    same(value_of(cursor, "select bal from tbl where id = :1", 1), 5)
    connection.rollback()
    same(value_of(cursor, "select bal from tbl where id = :1", 1), 0)

    # Of an array the rows before the one that fails stay.
    array = [(3000, "a"), (1, "twice"), (3001, "b")]
    fails("ORA-00001", lambda: cursor.executemany(insert, array), oracledb.IntegrityError)
    same(cursor.rowcount, 1)
    same(value_of(cursor, "select count(*) from tbl"), 1001)
    connection.rollback()
    cursor.executemany(insert, array, batcherrors=True)
    same(cursor.rowcount, 2)
    same([(error.offset, error.code) for error in cursor.getbatcherrors()], [(1, 1)])
    connection.rollback()
    cursor.executemany("update tbl set bal = bal + :1 where id <= :2", [(5, 1), (6, 0), (7, 3)], arraydmlrowcounts=True)
    same(cursor.getarraydmlrowcounts(), [1, 0, 3])
    connection.rollback()

    # Committed with the execution.
    connection.autocommit = True
    cursor.execute("update tbl set bal = bal + :1 where id = :2", [1, 5])
    cursor.execute("update tbl set bal = bal + :1 where id = :2", [1, 5])
    connection.autocommit = False
    connection.rollback()
    same(value_of(cursor, "select bal from tbl where id = 5"), 2)

    # A definition commits, and a cursor that is open sees the table anew.
    cursor.execute("delete from tbl where id > :1", [10])
    same(cursor.rowcount, 990)
    cursor.execute("create table other (a number)")
    connection.rollback()
    same(value_of(cursor, "select count(*) from tbl"), 10)
    cursor.execute("drop table other")
    cursor.execute("alter table tbl add (more number default 3)")
    cursor.execute("select * from tbl where id = :1", [7])
    same(cursor.fetchall(), [(7, "new", 0, 3)])


def errors(connection):
    cursor = connection.cursor()
    for sql, code in [
        ("select * from nowhere", "ORA-00942"),
        ("select nothing from dual", "ORA-00904"),
        ("foo", "ORA-00900"),
        ("select 1 from dual where", "ORA-00933"),
        ("select from dual", "ORA-00936"),
        ("insert into tbl (id, bal) values (2000, null)", "ORA-01400"),
        ("select 1 / 0 from dual", "ORA-01476"),
        ("create table tbl (a number)", "ORA-00955"),
    ]:
        kind = oracledb.IntegrityError if code == "ORA-01400" else oracledb.DatabaseError
        fails(code, lambda: cursor.execute(sql), kind)
    # What another session has locked.
    other = connect()
    cursor.execute("select id from tbl where id = 7 for update")
    cursor.fetchall()
    fails("ORA-00054", lambda: other.cursor().execute("select id from tbl where id = 7 for update nowait"))
    # And what each of two waits for of the other.
    one = threading.Thread(target=lambda: lock(other, 8, 7))
    one.start()
    lock(connection, 7, 8)
    one.join()
    same(sorted(outcomes), ["ORA-00060", "ok"])
    connection.rollback()
    other.close()


outcomes = []
both = threading.Barrier(2)


def lock(connection, first, second):
    """Locks one row and, when both have, the other's."""
    cursor = connection.cursor()
    cursor.execute("select id from tbl where id = :1 for update", [first])
    both.wait()
    try:
        cursor.execute("update tbl set info = 'x' where id = :1", [second])
        outcomes.append("ok")
    except oracledb.DatabaseError as error:
        outcomes.append(error.args[0].full_code)
    connection.rollback()


def breaks(connection):
    cursor = connection.cursor()
    connection.ping()
    connection.call_timeout = 200
    begun = time.monotonic()
    fails("DPY-4024", lambda: cursor.execute("begin dbms_session.sleep(:1); end;", [20]))
    if time.monotonic() - begun > 10:
        raise AssertionError("the statement was not broken off")
    connection.call_timeout = 0
    cursor.execute("begin dbms_session.sleep(:1); end;", [0.01])
    threading.Timer(0.2, connection.cancel).start()
    fails("ORA-01013", lambda: cursor.execute("begin dbms_session.sleep(:1); end;", [20]), oracledb.OperationalError)
    same(value_of(cursor, "select count(*) from tbl"), 10)


def main():
    fails("ORA-01017", lambda: connect("wrong"))
    with connect() as connection:
        print("logged in to", connection.version)
        cursor = connection.cursor()
        for table in ("tbl", "kinds"):
            cursor.execute(
                f"begin execute immediate 'drop table {table} purge'; exception when others then null; end;"
            )
        types(connection)
        changes(connection)
        errors(connection)
        breaks(connection)
        cursor.execute("drop table tbl purge")
    print("all is as it should be")


main()
