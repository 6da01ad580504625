"""Logs in to the stand-ins at these ports with python-oracledb and asks each for a row; a line says what came of it."""

import re
import sys

import oracledb

for port in sys.argv[1:]:
    try:
        place = {"host": "127.0.0.1", "port": int(port), "service_name": "standin"}
        with oracledb.connect(user="bench", password="secret", **place) as connection:
            cursor = connection.cursor()
            cursor.prefetchrows = cursor.arraysize = 10
            cursor.execute("select id, info from tbl order by id")
            print(len(cursor.fetchall()), "rows")
    except oracledb.Error as error:
        # The driver's own errors have causes.
        print(*dict.fromkeys(re.findall("(?:DPY|ORA)-[0-9]+", str(error))))
