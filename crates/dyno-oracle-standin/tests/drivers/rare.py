"""Columns of rare types by Oracle's own driver in Python (python-oracledb, thin): whatever is read wrongly ends this
with an error. Usage: rare.py PORT"""

import datetime
import sys

import oracledb

# LOBs come whole, as our own session has them.
oracledb.defaults.fetch_lobs = False
ROWS = 120
DAY = datetime.timedelta(days=-3, seconds=-3661, microseconds=-500000)

EXPECTED = {
    "longs": "a long text",
    "long_raws": bytes([0, 254, 255]),
    "clobs": "grün 漢 " * 3000,
    "nclobs": "grün 漢",
    "blobs": bytes(range(256)),
    "jsons": "a document",
    "vectors": [1.5, -2.0, 0.0],
    "rowids": "AAARFwAAFAAAACDAAH",
    "urowids": "*BAHBAv4AAAAAAAAA",
    "months": oracledb.IntervalYM(-1, -2),
    "durations": DAY,
    "locals": datetime.datetime(2026, 11, 24, 16, 15, 9, 500000),
    "nchars": "漢   ",
    "nvarchars": "é€",
    "booleans": True,
}


def same(found, expected, where):
    if found != expected:
        raise AssertionError(f"{where}: {found!r} instead of {expected!r}")


def plain(value):
    """A value as it can be compared."""
    if isinstance(value, oracledb.LOB):
        return value.getfilename()
    if isinstance(value, oracledb.Cursor):
        return value.fetchall()
    if hasattr(value, "typecode"):
        return list(value)
    return value


def read(cursor, table, expected):
    cursor.execute(f"select * from {table}")
    rows = [(row[0], plain(row[1]), row[2]) for row in cursor]
    same(len(rows), ROWS, table)
    for number, (id, value, tail) in enumerate(rows, 1):
        same((id, tail), (number, f"tail {number}"), table)
        null = number % 3 == 0 and table != "cursors"
        same(value, None if null else expected, f"{table} {number}")


def main():
    with oracledb.connect(
        user="bench", password="secret", host="127.0.0.1", port=int(sys.argv[1]), service_name="standin"
    ) as connection:
        cursor = connection.cursor()
        # Again, by the cursor that is known.
        for _ in range(2):
            for table, expected in EXPECTED.items():
                read(cursor, table, expected)
            read(cursor, "bfiles", ("DIR", "file.txt"))
            read(cursor, "cursors", [(7, "seven"), (8, None)])


main()
