// Selects by key with ojdbc11 (thin) until it is killed, a thread for each connection.
// Usage: java -cp ojdbc11.jar:. Selects PORT CONNECTIONS ROWS STATEMENT

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

public class Selects {
  static void work(Connection connection, String sql, int rows) {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      while (true) {
        statement.setInt(1, ThreadLocalRandom.current().nextInt(rows) + 1);
        try (ResultSet found = statement.executeQuery()) {
          found.next();
          found.getString(1);
        }
      }
    } catch (SQLException error) {
      error.printStackTrace();
      System.exit(1);
    }
  }

  public static void main(String[] arguments) throws SQLException {
    String url = "jdbc:oracle:thin:@//127.0.0.1:" + arguments[0] + "/standin";
    int rows = Integer.parseInt(arguments[2]);
    List<Connection> connections = new ArrayList<>();
    for (int number = Integer.parseInt(arguments[1]); number > 0; number--) {
      Connection connection = DriverManager.getConnection(url, "bench", "secret");
      // Otherwise each select is followed by a commit.
      connection.setAutoCommit(false);
      connections.add(connection);
    }
    for (Connection connection : connections) new Thread(() -> work(connection, arguments[3], rows)).start();
  }
}
