// Oracle's own driver in Java (ojdbc11, thin) against a stand-in: whatever is not as on a real server ends this with an
// error. Usage: java -cp ojdbc11.jar Driver.java PORT

import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

public class Driver {
  static String port;

  interface Work {
    void run() throws SQLException;
  }

  static Connection connect(String password) throws SQLException {
    return DriverManager.getConnection("jdbc:oracle:thin:@//127.0.0.1:" + port + "/standin", "bench", password);
  }

  static void same(Object found, Object expected) {
    if (!found.equals(expected)) throw new AssertionError(found + " instead of " + expected);
  }

  static void fails(int code, Work work) {
    try {
      work.run();
    } catch (SQLException error) {
      same(error.getErrorCode(), code);
      return;
    }
    throw new AssertionError("no ORA-" + code);
  }

  static void run(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** The rows of a query, columns between spaces, rows between semicolons. */
  static String rows(Connection connection, String sql, Object... binds) throws SQLException {
    StringBuilder rows = new StringBuilder();
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      for (int at = 0; at < binds.length; at++) statement.setObject(at + 1, binds[at]);
      try (ResultSet found = statement.executeQuery()) {
        while (found.next()) {
          int columns = found.getMetaData().getColumnCount();
          for (int at = 1; at <= columns; at++) rows.append(found.getString(at)).append(' ');
          rows.setCharAt(rows.length() - 1, ';');
        }
      }
    }
    return rows.toString();
  }

  public static void main(String[] arguments) throws SQLException {
    port = arguments[0];
    fails(1017, () -> connect("wrong"));
    Connection connection = connect("secret");
    System.out.println("logged in with " + connection.getMetaData().getDriverVersion());
    connection.setAutoCommit(false);
    run(connection, "begin execute immediate 'drop table tbl purge'; exception when others then null; end;");
    run(connection, "create table tbl (id number(10) primary key, info varchar2(100), bal number default 0 not null)");
    same(rows(connection, "select 1 from dual"), "1;");

    // An array, changes, commit and rollback.
    String insert = "insert into tbl (id, info) values (:1, :2)";
    try (PreparedStatement statement = connection.prepareStatement(insert)) {
      for (int id = 1; id <= 1000; id++) {
        statement.setInt(1, id);
        statement.setString(2, "info-" + id);
        statement.addBatch();
      }
      same(statement.executeBatch().length, 1000);
      connection.commit();
    }
    try (PreparedStatement statement = connection.prepareStatement("select id, info from tbl where id = :1")) {
      for (int id = 7; id < 9; id++) {
        statement.setInt(1, id);
        try (ResultSet found = statement.executeQuery()) {
          same(found.next(), true);
          same(found.getInt(1) + found.getString(2), id + "info-" + id);
          same(found.next(), false);
        }
      }
    }
    try (PreparedStatement statement = connection.prepareStatement("update tbl set info = :1 where id = :2")) {
      statement.setString(1, "new");
      statement.setInt(2, 7);
      same(statement.executeUpdate(), 1);
      connection.commit();
      statement.setString(1, "newer");
      statement.setInt(2, 8);
      same(statement.executeUpdate(), 1);
      connection.rollback();
    }
    same(rows(connection, "select id, info, bal from tbl where id in (7, 8) order by id"), "7 new 0;8 info-8 0;");
    for (int size : new int[] {1000, 100, 7}) {
      int count = 0;
      try (Statement statement = connection.createStatement()) {
        statement.setFetchSize(size);
        try (ResultSet found = statement.executeQuery("select id, info, bal from tbl order by id")) {
          while (found.next()) same(found.getInt(1), ++count);
        }
      }
      same(count, 1000);
    }

    // Errors: a statement takes nothing back but itself.
    run(connection, "update tbl set bal = bal + 5 where id = 1");
    fails(1, () -> run(connection, "insert into tbl (id, info) values (1, 'twice')"));
    same(rows(connection, "select bal from tbl where id = 1"), "5;");
    connection.rollback();
    fails(942, () -> rows(connection, "select * from nowhere"));
    fails(904, () -> rows(connection, "select nothing from dual"));
    fails(900, () -> run(connection, "foo"));
    try (PreparedStatement statement = connection.prepareStatement(insert)) {
      for (int id : new int[] {3000, 1, 3001}) {
        statement.setInt(1, id);
        statement.setString(2, "x");
        statement.addBatch();
      }
      statement.executeBatch();
      throw new AssertionError("no BatchUpdateException");
    } catch (BatchUpdateException error) {
      same(error.getErrorCode(), 1);
    }
    connection.rollback();
    same(rows(connection, "select count(*) from tbl"), "1000;");

    // Committed with the execution.
    connection.setAutoCommit(true);
    run(connection, "update tbl set bal = bal + 1 where id = 5");
    same(rows(connection, "select bal from tbl where id = :1", 5), "1;");
    run(connection, "drop table tbl purge");
    connection.close();
    System.out.println("all is as it should be");
  }
}
