// Results and errors of single SQL statements.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>

#include "sql_database.h"
#include "sql_peek.h"

namespace lunar_test {
namespace {

class Sql : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(database.all("CREATE TABLE readings (id INTEGER PRIMARY KEY, place TEXT, heat REAL, ok BOOLEAN, n INT8);"
                           "INSERT INTO readings VALUES (1, 'roof', 20.5, TRUE, 5), (2, 'cellar', 12, FALSE, NULL),"
                           "  (3, 'roof', NULL, TRUE, -128), (4, NULL, 7.25, NULL, 127);"
                           "CREATE TABLE names (name TEXT, n INT, PRIMARY KEY (name) USING HASH);"
                           "INSERT INTO names VALUES ('one', 1), ('two', 2), ('three', 3)"),
              0);
  }
  std::string result(const std::string& sql, const std::vector<lunar_value>& parameters = {}) {
    return database.result(sql, parameters);
  }
  Database database;
};

TEST_F(Sql, select_returns_columns_in_order) {
  EXPECT_EQ(result("SELECT * FROM readings WHERE id = 1"), "1 roof 20.5 true 5");
  EXPECT_EQ(result("SELECT n, id FROM readings WHERE id < 3"), "5 1|NULL 2");
  EXPECT_EQ(result("select ID, \"Place\" from READINGS where iD = 4 -- case is ignored\n"), "4 NULL");
}

TEST_F(Sql, where_has_three_valued_logic) {
  EXPECT_EQ(result("SELECT id FROM readings WHERE heat > 10"), "1|2");
  EXPECT_EQ(result("SELECT id FROM readings WHERE NOT heat > 10"), "4");
  EXPECT_EQ(result("SELECT id FROM readings WHERE heat IS NULL"), "3");
  EXPECT_EQ(result("SELECT id FROM readings WHERE heat IS NOT NULL AND ok"), "1");
  EXPECT_EQ(result("SELECT id FROM readings WHERE heat > 10 OR ok"), "1|2|3");
  EXPECT_EQ(result("SELECT id FROM readings WHERE n NOT IN (5, NULL)"), "");
  EXPECT_EQ(result("SELECT id FROM readings WHERE n IN (5, NULL, 127)"), "1|4");
}

TEST_F(Sql, where_supports_every_comparison) {
  EXPECT_EQ(result("SELECT id FROM readings WHERE id <> 1 AND id != 2 AND id == 3"), "3");
  EXPECT_EQ(result("SELECT id FROM readings WHERE heat BETWEEN 7.25 AND 12"), "2|4");
  EXPECT_EQ(result("SELECT id FROM readings WHERE heat NOT BETWEEN 7.25 AND 12"), "1");
  EXPECT_EQ(result("SELECT id FROM readings WHERE place LIKE 'RO%'"), "1|3");
  EXPECT_EQ(result("SELECT id FROM readings WHERE place LIKE '%l_r'"), "2");
  EXPECT_EQ(result("SELECT id FROM readings WHERE (id = 1 OR id = 2) AND NOT (id = 2)"), "1");
  EXPECT_EQ(result("SELECT id FROM readings WHERE id + 1 - 2 = 2"), "3");
  EXPECT_EQ(result("SELECT id FROM readings WHERE -n = 128"), "3");
  EXPECT_EQ(result("SELECT id FROM readings WHERE id = '2'"), "2");
}

TEST_F(Sql, order_by_sorts_and_puts_null_first) {
  EXPECT_EQ(result("SELECT id FROM readings ORDER BY heat"), "3|4|2|1");
  EXPECT_EQ(result("SELECT id FROM readings ORDER BY heat DESC"), "1|2|4|3");
  EXPECT_EQ(result("SELECT id FROM readings ORDER BY place DESC, id DESC"), "3|1|2|4");
  EXPECT_EQ(result("SELECT id FROM readings ORDER BY id DESC LIMIT 2 OFFSET 1"), "3|2");
  EXPECT_EQ(result("SELECT name FROM names ORDER BY n DESC LIMIT 2"), "three|two");
  EXPECT_EQ(result("SELECT id FROM readings LIMIT -1 OFFSET 3"), "4");
  EXPECT_EQ(result("SELECT id FROM readings ORDER BY n LIMIT 0"), "");
}

TEST_F(Sql, aggregates_return_one_row) {
  EXPECT_EQ(result("SELECT COUNT(*) FROM readings"), "4");
  EXPECT_EQ(result("SELECT COUNT(*), COUNT(heat), MIN(heat), MAX(heat), SUM(n), AVG(n) FROM readings"),
            "4 3 7.25 20.5 4 1.33333333333333");
  EXPECT_EQ(result("SELECT COUNT(*), SUM(n), AVG(n), MIN(place) FROM readings WHERE id > 99"), "0 NULL NULL NULL");
  EXPECT_EQ(result("SELECT MIN(place), MAX(place) FROM readings"), "cellar roof");
  EXPECT_EQ(result("SELECT SUM(id) + 1 FROM readings"), "11");
}

TEST_F(Sql, group_by_returns_one_row_per_key) {
  EXPECT_EQ(result("SELECT place, COUNT(*), MAX(id) FROM readings GROUP BY place"), "NULL 1 4|cellar 1 2|roof 2 3");
  EXPECT_EQ(result("SELECT place FROM readings GROUP BY place ORDER BY place DESC LIMIT 2"), "roof|cellar");
}

TEST_F(Sql, sum_that_overflows_is_an_error) {
  ASSERT_EQ(database.all("CREATE TABLE big (id INT PRIMARY KEY, n BIGINT);"
                         "INSERT INTO big VALUES (1, 9223372036854775807), (2, 1)"),
            0);
  EXPECT_EQ(result("SELECT SUM(n) FROM big"), "error: the sum is larger than a 64-bit integer: SUM @ 0");
  EXPECT_EQ(result("SELECT AVG(n) FROM big"), "4.61168601842739e+18");
}

TEST_F(Sql, update_changes_the_rows_that_where_selects) {
  EXPECT_EQ(database.run("UPDATE readings SET n = n + 1, place = 'attic' WHERE place = 'roof'").changes, 2u);
  EXPECT_EQ(result("SELECT id, place, n FROM readings WHERE place = 'attic'"), "1 attic 6|3 attic -127");
  EXPECT_EQ(result("UPDATE readings SET id = 7 WHERE id = 1"),
            "error: the primary key cannot be set: delete the row, insert another: id @ 20");
  EXPECT_EQ(database.run("UPDATE names SET n = n + 10").changes, 3u);
  EXPECT_EQ(result("SELECT n FROM names ORDER BY n"), "11|12|13");
}

TEST_F(Sql, update_and_delete_change_at_most_limit_rows) {
  EXPECT_EQ(database.run("UPDATE readings SET ok = TRUE WHERE id > 1 LIMIT 2").changes, 2u);
  EXPECT_EQ(database.run("UPDATE readings SET id = id LIMIT 1").error, LUNAR_E_SQL);
  EXPECT_EQ(database.run("UPDATE readings SET ok = TRUE LIMIT 0").changes, 0u);
  EXPECT_EQ(database.run("UPDATE readings SET ok = TRUE LIMIT -1").changes, 4u);
  EXPECT_EQ(database.run("UPDATE readings SET ok = TRUE LIMIT 1 OFFSET 1").error, LUNAR_E_SQL);
  EXPECT_EQ(database.run("DELETE FROM readings WHERE id > 1 LIMIT 2").changes, 2u);
  EXPECT_EQ(result("SELECT COUNT(*) FROM readings"), "2");
  EXPECT_EQ(database.run("DELETE FROM readings LIMIT 'a'").error, LUNAR_E_INVALID);
  EXPECT_EQ(database.run("DELETE FROM readings LIMIT 10").changes, 2u);
  EXPECT_EQ(database.run("DELETE FROM readings LIMIT 10").changes, 0u);
}

TEST_F(Sql, a_value_out_of_range_is_an_error_that_names_the_column_and_changes_nothing) {
  EXPECT_EQ(result("INSERT INTO readings (id, n) VALUES (10, 1), (11, 128)"),
            "error: the value is out of range: n @ 0");
  EXPECT_EQ(result("UPDATE readings SET n = n + 1"), "error: the value is out of range: n @ 0");
  EXPECT_EQ(result("SELECT id, n FROM readings"), "1 5|2 NULL|3 -128|4 127");
  EXPECT_EQ(result("INSERT INTO readings (n) VALUES (1)"), "error: may not be NULL: id @ 0");
  EXPECT_EQ(result("INSERT INTO readings (id, n) VALUES (10, 'many')"),
            "error: the value has the wrong type for the column: n @ 0");
  EXPECT_EQ(result("INSERT INTO readings (id, n) VALUES (10, 1.5)"),
            "error: the value has the wrong type for the column: n @ 0");
  EXPECT_EQ(result("INSERT INTO readings (id, n) VALUES (10, 1e30)"), "error: the value is out of range: n @ 0");
}

TEST_F(Sql, an_existing_key_or_name_is_in_the_message) {
  EXPECT_EQ(result("INSERT INTO readings (id, ok) VALUES (-7, TRUE), (1, TRUE)"),
            "error: a row with this key exists already: 1 @ 0");
  EXPECT_EQ(result("INSERT INTO names VALUES ('o' , 1), ('one', 1)"),
            "error: a row with this key exists already: one @ 0");
  EXPECT_EQ(result("CREATE TABLE IF NOT EXISTS NAMES (x INT PRIMARY KEY)"), "");
  EXPECT_EQ(result("CREATE TABLE NAMES (x INT PRIMARY KEY)"),
            "error: a table or index of this name exists already: names @ 13");
  ASSERT_EQ(database.all("CREATE TABLE blobs (b BLOB PRIMARY KEY); INSERT INTO blobs VALUES (X'00')"), 0);
  EXPECT_EQ(result("INSERT INTO blobs VALUES (X'00')"), "error: a row with this key exists already:  @ 0");
}

TEST_F(Sql, a_limit_is_in_the_message) {
  const auto repeated = [](int times, const std::string& text) {
    std::string list;
    for (int i = 0; i < times; ++i) list += (i > 0 ? "," : "") + text;
    return list;
  };
  const auto expect = [&](const std::string& sql, const std::string& text) {
    EXPECT_EQ(result(sql).substr(0, text.size()), text) << sql;
  };
  expect("SELECT " + repeated(255, "id") + " FROM readings", "error: SELECT has at most 254 results");
  expect("SELECT " + repeated(65, "SUM(id)") + " FROM readings", "error: SELECT has at most 64 aggregates");
  std::string columns = "k INT PRIMARY KEY";
  for (int i = 0; i < 16; ++i) columns += ", c" + std::to_string(i) + " INT";
  expect("CREATE TABLE wide (" + columns + ")", "error: a table has at most 16 columns");
}

TEST_F(Sql, delete_removes_the_rows_that_where_selects) {
  EXPECT_EQ(database.run("DELETE FROM readings WHERE heat < 13").changes, 2u);
  EXPECT_EQ(result("SELECT id FROM readings"), "1|3");
  EXPECT_EQ(database.run("DELETE FROM names WHERE name = 'two'").changes, 1u);
  EXPECT_EQ(database.run("DELETE FROM names").changes, 2u);
}

TEST_F(Sql, parameters_have_numbers_and_names) {
  EXPECT_EQ(result("SELECT id FROM readings WHERE id = ? OR id = ?", {integer(1), integer(3)}), "1|3");
  EXPECT_EQ(result("SELECT id FROM readings WHERE id = ?2", {integer(1), integer(3)}), "3");
  EXPECT_EQ(result("SELECT id FROM readings WHERE id >= :low AND id < :high AND id <> :low", {integer(2), integer(4)}),
            "3");
  EXPECT_EQ(result("SELECT id FROM readings WHERE id = ?"), "") << "not bound: NULL";
}

TEST_F(Sql, transactions_commit_and_roll_back) {
  ASSERT_EQ(database.all("BEGIN; DELETE FROM readings; ROLLBACK TRANSACTION"), 0);
  EXPECT_EQ(result("SELECT COUNT(*) FROM readings"), "4");
  ASSERT_EQ(database.all("BEGIN TRANSACTION; DELETE FROM readings WHERE id > 1; COMMIT;"), 0);
  EXPECT_EQ(result("SELECT COUNT(*) FROM readings"), "1");
}

TEST_F(Sql, a_statement_that_fails_midway_rolls_back_its_transaction) {
  ASSERT_EQ(database.all("BEGIN; INSERT INTO names VALUES ('four', 4)"), 0);
  EXPECT_EQ(database.run("INSERT INTO names VALUES ('one', 1)").error, LUNAR_E_EXISTS) << "nothing was changed";
  EXPECT_EQ(database.run("INSERT INTO names VALUES ('five', 5), ('one', 1)").error, LUNAR_E_EXISTS);
  EXPECT_EQ(database.run("SELECT * FROM names").error, LUNAR_E_TXN);
  EXPECT_EQ(database.run("COMMIT").error, LUNAR_E_TXN);
  EXPECT_EQ(result("SELECT COUNT(*) FROM names"), "3");
}

TEST_F(Sql, explain_reports_the_access_path) {
  EXPECT_EQ(result("EXPLAIN SELECT * FROM readings WHERE id = 3 AND n = 1"),
            "readings: one row by the key id; tested by WHERE");
  EXPECT_EQ(result("EXPLAIN SELECT * FROM readings WHERE 3 < id AND id < 9 ORDER BY id DESC"),
            "readings: a range of the key id, last first; tested by WHERE");
  EXPECT_EQ(result("EXPLAIN SELECT * FROM names WHERE n = 3 ORDER BY n"),
            "names: every row; tested by WHERE; sorted in memory, in several passes where it is short");
  EXPECT_EQ(result("EXPLAIN SELECT COUNT(*) FROM names"), "names: its number of rows");
  EXPECT_EQ(result("EXPLAIN UPDATE names SET n = 1"),
            "names: every row; keys collected before a change in memory, in several passes where it is short");
  EXPECT_EQ(result("EXPLAIN DELETE FROM readings"), "readings: every row, in order");
  EXPECT_EQ(result("EXPLAIN SELECT SUM(n) FROM names"), "names: every row; made one row");
}

TEST_F(Sql, explain_names_the_index) {
  ASSERT_EQ(database.all("CREATE INDEX by_place ON readings (place); CREATE INDEX by_heat ON readings (heat);"
                         "CREATE INDEX by_n ON readings (n) USING HASH; CREATE INDEX names_n ON names (n) USING TREE"),
            0);
  const auto path = [&](const std::string& sql) { return result("EXPLAIN " + sql); };
  EXPECT_EQ(path("SELECT * FROM readings WHERE n = 5"), "readings: one value of n by the index by_n; tested by WHERE");
  EXPECT_EQ(path("SELECT * FROM readings WHERE 'roof' = place"),
            "readings: one value of place by the index by_place; tested by WHERE");
  EXPECT_EQ(path("SELECT * FROM readings WHERE heat IS NULL"),
            "readings: one value of heat by the index by_heat; tested by WHERE");
  EXPECT_EQ(path("SELECT * FROM readings WHERE heat IS NULL ORDER BY id DESC"),
            "readings: one value of heat by the index by_heat, last first; tested by WHERE");
  EXPECT_EQ(path("SELECT * FROM readings WHERE n IN (5, ?)"),
            "readings: some values of n by the index by_n; tested by WHERE");
  EXPECT_EQ(path("SELECT * FROM readings WHERE id IN (1, 3) ORDER BY id"),
            "readings: some values of the key id; tested by WHERE; sorted in memory, in several passes where it is "
            "short");
  EXPECT_EQ(path("SELECT * FROM readings WHERE heat BETWEEN 1 AND 2"),
            "readings: a range of heat by the index by_heat; tested by WHERE");
  EXPECT_EQ(path("SELECT * FROM readings WHERE heat > 1 ORDER BY heat DESC"),
            "readings: a range of heat by the index by_heat, last first; tested by WHERE");
  EXPECT_EQ(path("SELECT * FROM readings WHERE place LIKE 'ro%'"),
            "readings: a range of place by the index by_place; tested by WHERE");
  EXPECT_EQ(path("SELECT * FROM readings ORDER BY heat LIMIT 3"), "readings: every row by the index by_heat, in order");
  EXPECT_EQ(path("SELECT name FROM names ORDER BY n"), "names: every row by the index names_n, in order");
  EXPECT_EQ(path("DELETE FROM names WHERE n > 1"),
            "names: a range of n by the index names_n; tested by WHERE; keys collected before a change in memory, in "
            "several passes where it is short");
  // Two indexes: the better one.
  EXPECT_EQ(path("SELECT * FROM readings WHERE n = 5 AND id = 1"), "readings: one row by the key id; tested by WHERE");
  EXPECT_EQ(path("SELECT * FROM readings WHERE heat > 1 AND n = 5 AND id > 1"),
            "readings: one value of n by the index by_n; tested by WHERE");
  EXPECT_EQ(path("SELECT * FROM readings WHERE heat > 1 AND id > 1"),
            "readings: a range of the key id, in order; tested by WHERE");
  EXPECT_EQ(path("SELECT * FROM readings WHERE heat > 1 ORDER BY id"),
            "readings: a range of heat by the index by_heat; tested by WHERE; sorted in memory, in several passes "
            "where it is short");
  // No index.
  const std::string every = "readings: every row, in order; tested by WHERE";
  for (const char* where : {"n > 5", "heat <> 1", "heat = 1 OR id = 1", "place LIKE '%f'", "NOT heat = 1",
                            "heat + 1 = 2", "heat = n", "heat IN (1, n)", "heat IN ()", "place NOT LIKE 'r%'"})
    EXPECT_EQ(path(std::string("SELECT * FROM readings WHERE ") + where), every) << where;
  EXPECT_EQ(path("SELECT place FROM readings ORDER BY place"),
            "readings: every row, in order; sorted in memory, in several passes where it is short")
      << "an index has the first bytes of a text";
}

TEST_F(Sql, an_index_returns_the_rows_of_a_scan) {
  const std::vector<std::string> wheres = {"place = 'roof'",
                                           "place LIKE 'RO%'",
                                           "place LIKE 'c_l%'",
                                           "heat IS NULL",
                                           "heat >= 7.25",
                                           "heat IN (12, 7.25, 12.0, NULL)",
                                           "n = 5",
                                           "n IN (-128, '127', 9)",
                                           "ok = TRUE",
                                           "n = 1000",
                                           "heat = NULL",
                                           "n IS -128",
                                           "id IN (4, 1, 4, 'x')",
                                           "place = 5",
                                           "place BETWEEN 'a' AND 'm'",
                                           "ok IN (0, 1, 7)"};
  std::vector<std::string> scanned;
  for (const auto& where : wheres) scanned.push_back(result("SELECT id FROM readings WHERE " + where + " ORDER BY id"));
  EXPECT_EQ(scanned[0], "1|3");
  ASSERT_EQ(database.all("CREATE INDEX a ON readings (place) USING TREE; CREATE INDEX b ON readings (heat) USING TREE;"
                         "CREATE INDEX c ON readings (n) USING HASH; CREATE INDEX d ON readings (ok) USING HASH"),
            0);
  for (std::size_t i = 0; i < wheres.size(); ++i) {
    EXPECT_EQ(result("SELECT id FROM readings WHERE " + wheres[i] + " ORDER BY id"), scanned[i]) << wheres[i];
    if (i != 12) {
      EXPECT_NE(result("EXPLAIN SELECT id FROM readings WHERE " + wheres[i]).find("index"), std::string::npos)
          << wheres[i];
    }
  }
  EXPECT_EQ(result("SELECT heat FROM readings ORDER BY heat"), "NULL|7.25|12|20.5");
  EXPECT_EQ(result("SELECT heat FROM readings ORDER BY heat DESC LIMIT 2"), "20.5|12");
  EXPECT_EQ(result("SELECT id FROM readings WHERE place = 'roof' ORDER BY id DESC"), "3|1");
}

TEST_F(Sql, indexes_are_created_and_dropped) {
  EXPECT_EQ(database.all("CREATE INDEX by_n ON names (n); CREATE INDEX IF NOT EXISTS BY_N ON names (n);"
                         "DROP INDEX By_n; DROP INDEX IF EXISTS by_n"),
            0);
  EXPECT_EQ(result("DROP INDEX by_n"), "error: no index has this name: by_n @ 11");
  EXPECT_EQ(result("CREATE INDEX names ON names (n)"),
            "error: a table or index of this name exists already: names @ 13");
  EXPECT_EQ(result("CREATE INDEX by_n ON nothing (n)"), "error: no table has this name: nothing @ 21");
  EXPECT_EQ(result("CREATE INDEX by_n ON names (x)"), "error: the table has no column of this name: x @ 28");
  ASSERT_EQ(database.run("CREATE INDEX by_n ON names (n)").error, 0);
  EXPECT_EQ(result("CREATE INDEX By_N ON readings (n)"),
            "error: a table or index of this name exists already: by_n @ 13");
  ASSERT_EQ(database.run("BEGIN").error, 0);
  EXPECT_EQ(result("CREATE INDEX b ON names (n)"), "error: a transaction is open, or none is: b @ 13");
  ASSERT_EQ(database.all("DROP INDEX by_n; ROLLBACK"), 0);
  EXPECT_EQ(result("EXPLAIN SELECT name FROM names WHERE n = 1"),
            "names: one value of n by the index by_n; tested by WHERE");
  ASSERT_EQ(database.run("DROP TABLE names").error, 0);
  EXPECT_EQ(result("DROP INDEX by_n"), "error: no index has this name: by_n @ 11") << "dropped with its table";
}

TEST_F(Sql, a_statement_adapts_to_created_and_dropped_indexes) {
  std::uint64_t memory[300];
  lunar_statement* statement = nullptr;
  const std::string sql = "SELECT id FROM readings WHERE n >= -128 AND n = ?";
  ASSERT_EQ(lunar_prepare(&database.db, sql.data(), sql.size(), memory, sizeof memory, &statement, nullptr), 0);
  ASSERT_EQ(lunar_bind_int64(statement, 1, 127), 0);
  const auto expect_row = [&] {
    const std::uint64_t before = database.device.calls;
    EXPECT_EQ(lunar_step(statement), LUNAR_ROW);
    EXPECT_EQ(lunar_column_int64(statement, 0), 4);
    return database.device.calls - before;
  };
  expect_row();
  EXPECT_EQ(lunar_step(statement), LUNAR_DONE);
  for (const char* kind : {"TREE", "HASH"}) {
    ASSERT_EQ(database.run(std::string("CREATE INDEX i ON readings (n) USING ") + kind).error, 0);
    expect_row();
    EXPECT_STREQ(sql_peek_index(statement), "i");
    EXPECT_EQ(lunar_step(statement), LUNAR_DONE);
    expect_row();
    ASSERT_EQ(database.run("DROP INDEX i").error, 0);
    EXPECT_EQ(lunar_step(statement), LUNAR_E_SCHEMA) << "between two rows";
    expect_row();
    EXPECT_STREQ(sql_peek_index(statement), "");
    EXPECT_EQ(lunar_step(statement), LUNAR_DONE);
  }
  lunar_finalize(statement);
}

TEST_F(Sql, an_error_names_the_token_and_its_position) {
  EXPECT_EQ(result("SELECT wheat FROM readings"), "error: the table has no column of this name: wheat @ 7");
  EXPECT_EQ(result("SELECT id FROM nothing"), "error: no table has this name: nothing @ 15");
  EXPECT_EQ(result("SELECT id FROM readings JOIN names"), "error: not expected here, or not in lunar's SQL: JOIN @ 24");
  EXPECT_EQ(result("SELECT id FROM readings WHERE id = 'a"),
            "error: no character of SQL, or a quote without its end: 'a @ 35");
  EXPECT_EQ(
      result("MERGE INTO x"),
      "error: expected SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, BEGIN, COMMIT, ROLLBACK, EXPLAIN: MERGE @ 0");
  EXPECT_EQ(result("SELECT id, COUNT(*) FROM readings"),
            "error: a column outside an aggregate must be the GROUP BY column: id @ 7");
}

TEST_F(Sql, words_of_other_databases_are_not_taken_for_columns) {
  const auto refused = [](const std::string& word, int at) {
    return "error: not expected here, or not in lunar's SQL: " + word + " @ " + std::to_string(at);
  };
  for (const std::string rest : {"DISTINCT id", "ALL id", "CASE id WHEN 1 THEN 2 END", "CASE WHEN id THEN 2 END",
                                 "CAST(id AS TEXT)", "ABS(id)", "coalesce(id, 1)", "EXISTS (id)", "readings.id"})
    EXPECT_EQ(result("SELECT " + rest + " FROM readings"), refused(rest.substr(0, rest.find_first_of(" (.")), 7));
  EXPECT_EQ(result("SELECT COUNT(DISTINCT id) FROM readings"), refused("DISTINCT", 13));
  EXPECT_EQ(result("SELECT id FROM readings WHERE round(id) = 1"), refused("round", 30));
  EXPECT_EQ(result("SELECT id FROM readings ORDER BY wheat DESC"),
            "error: the table has no column of this name: wheat @ 33");
}

TEST_F(Sql, the_final_zero_of_a_text_may_be_counted) {
  const std::string text = "SELECT COUNT(*) FROM readings";
  for (const std::string end : {"", ";", "; ", " -- a comment\n"}) {
    const std::string counted = text + end + std::string(1, '\0');
    EXPECT_EQ(result(counted), result(text)) << end;
  }
  EXPECT_NE(result(text + std::string("\0 WHERE id = 1", 14)), result(text)) << "only the last byte may be one";
  EXPECT_EQ(result(std::string(1, '\0')), "");
}

TEST_F(Sql, tables_with_rings_are_created_and_dropped) {
  ASSERT_EQ(database.all("CREATE TABLE log (at BIGINT PRIMARY KEY, v REAL NOT NULL) RING ROWS 3;"
                         "INSERT INTO log VALUES (1, 1), (2, 2), (3, 3), (4, 4);"
                         "CREATE TABLE IF NOT EXISTS log (x INT PRIMARY KEY)"),
            0);
  EXPECT_EQ(result("SELECT at FROM log"), "2|3|4");
  EXPECT_EQ(database.run("CREATE TABLE LOG (x INT PRIMARY KEY)").error, LUNAR_E_EXISTS);
  ASSERT_EQ(database.all("DROP TABLE log; DROP TABLE IF EXISTS log"), 0);
  EXPECT_EQ(database.run("DROP TABLE log").error, LUNAR_E_NO_TABLE);
}

TEST_F(Sql, a_statement_runs_repeatedly_with_new_parameters) {
  std::uint64_t memory[300];
  lunar_statement* statement = nullptr;
  const std::string sql = "SELECT name AS w, n + :more FROM names WHERE n >= :least ORDER BY n; SELECT 2";
  const char* tail = nullptr;
  ASSERT_EQ(lunar_prepare(&database.db, sql.data(), sql.size(), memory, sizeof memory, &statement, &tail), 0);
  EXPECT_STREQ(tail, " SELECT 2");
  EXPECT_EQ(lunar_bind_parameter_count(statement), 2u);
  EXPECT_EQ(lunar_bind_parameter_index(statement, ":least"), 2u);
  EXPECT_EQ(lunar_bind_parameter_index(statement, ":most"), 0u);
  EXPECT_EQ(lunar_column_count(statement), 2u);
  EXPECT_STREQ(lunar_column_name(statement, 0), "w");
  EXPECT_STREQ(lunar_column_name(statement, 1), "n + :more");
  EXPECT_EQ(lunar_column_name(statement, 2), nullptr);
  for (std::int64_t least = 1; least <= 3; ++least) {
    ASSERT_EQ(lunar_bind_int64(statement, 1, 10), 0);
    ASSERT_EQ(lunar_bind_double(statement, 2, static_cast<double>(least)), 0);
    ASSERT_EQ(lunar_step(statement), LUNAR_ROW);
    EXPECT_EQ(lunar_bind_int64(statement, 1, 11), LUNAR_E_INVALID) << "between two rows";
    EXPECT_EQ(lunar_column_int64(statement, 1), 10 + least);
    EXPECT_EQ(lunar_column_double(statement, 1), 10.0 + static_cast<double>(least));
    EXPECT_EQ(lunar_column_type(statement, 0), LUNAR_TEXT);
    EXPECT_EQ(std::string(static_cast<const char*>(lunar_column_data(statement, 0)), lunar_column_bytes(statement, 0)),
              least == 1   ? "one"
              : least == 2 ? "two"
                           : "three");
    EXPECT_EQ(lunar_column_type(statement, 7), LUNAR_NULL);
    if (least != 2) {
      for (std::int64_t more = least; more < 3; ++more) ASSERT_EQ(lunar_step(statement), LUNAR_ROW);
      EXPECT_EQ(lunar_step(statement), LUNAR_DONE);
      EXPECT_EQ(lunar_column_type(statement, 0), LUNAR_NULL) << "the rows have ended";
    } else {
      lunar_reset(statement);
    }
  }
  lunar_finalize(statement);
}

TEST_F(Sql, statement_memory_may_be_unaligned_or_too_small) {
  const std::string sql = "SELECT id FROM readings WHERE id IN (1, 2, ?) ORDER BY heat";
  int fitting = 0;
  for (std::size_t bytes = 0; bytes < 2048; ++bytes) {
    std::vector<std::uint8_t> memory(bytes + 3);
    lunar_statement* statement = nullptr;
    int error = lunar_prepare(&database.db, sql.data(), sql.size(), memory.data() + 3, bytes, &statement, nullptr);
    while (error == 0 && (error = lunar_step(statement)) == LUNAR_ROW) error = 0;
    EXPECT_TRUE(error == 0 || error == LUNAR_E_BUFFER) << bytes << " " << error;
    fitting += error == 0;
    EXPECT_EQ(error == 0, fitting > 0) << "a statement that fits also fits into more memory";
  }
  EXPECT_GT(fitting, 500);
}

TEST_F(Sql, deep_nesting_is_refused) {
  for (const char* open : {"(", "NOT ", "- ", "(1 + ", "(0 OR ", "id IN (", "(NOT "}) {
    int deepest = 0;
    for (int depth = 0; depth < 60; ++depth) {
      std::string sql = "SELECT id FROM readings WHERE ";
      for (int i = 0; i < depth; ++i) sql += open;
      sql += "id";
      for (int i = 0; i < depth && std::strchr(open, '(') != nullptr; ++i) sql += ")";
      const Ran ran = database.run(sql);
      if (ran.error == 0) deepest = depth;
      if (ran.error != 0) {
        EXPECT_EQ(ran.complaint.substr(0, 17), "nested too deeply") << sql;
      }
    }
    EXPECT_GE(deepest, 7) << open;
    EXPECT_LT(deepest, 30) << open;
  }
  std::string sql = "SELECT id FROM readings WHERE id = 1";
  for (int i = 0; i < 100; ++i) sql += " OR id = 1 + 1 - 1 AND ok";
  EXPECT_EQ(result(sql), "1") << "long is not deep";
}

TEST_F(Sql, a_null_pointer_is_refused_by_every_function) {
  std::uint64_t memory[512];
  lunar_statement* none = nullptr;
  const char text[] = "SELECT ?";
  const lunar_value value = integer(1);
  EXPECT_EQ(lunar_prepare(nullptr, text, 8, memory, sizeof memory, &none, nullptr), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_prepare(&database.db, nullptr, 8, memory, sizeof memory, &none, nullptr), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_prepare(&database.db, text, 8, nullptr, sizeof memory, &none, nullptr), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_prepare(&database.db, text, 8, memory, sizeof memory, nullptr, nullptr), LUNAR_E_INVALID);
  // An empty statement.
  ASSERT_EQ(lunar_prepare(&database.db, " ; -- none", 10, memory, sizeof memory, &none, nullptr), 0);
  ASSERT_EQ(none, nullptr);
  EXPECT_EQ(lunar_step(none), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_bind(none, 1, &value), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_bind_null(none, 1), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_bind_int64(none, 1, 1), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_bind_double(none, 1, 1), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_bind_text(none, 1, "a", 1), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_bind_blob(none, 1, "a", 1), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_bind_parameter_count(none), 0U);
  EXPECT_EQ(lunar_bind_parameter_index(none, ":a"), 0U);
  EXPECT_EQ(lunar_changes(none), 0U);
  EXPECT_EQ(lunar_column_count(none), 0U);
  EXPECT_EQ(lunar_column_name(none, 0), nullptr);
  EXPECT_EQ(lunar_column_value(none, 0)->type, LUNAR_NULL);
  EXPECT_EQ(lunar_column_type(none, 0), LUNAR_NULL);
  EXPECT_EQ(lunar_column_int64(none, 0), 0);
  EXPECT_EQ(lunar_column_double(none, 0), 0);
  EXPECT_EQ(lunar_column_data(none, 0), nullptr);
  EXPECT_EQ(lunar_column_bytes(none, 0), 0U);
  EXPECT_STREQ(lunar_sql_error(none)->text, "there is no statement: NULL");
  lunar_reset(none);
  lunar_finalize(none);

  lunar_statement* statement = nullptr;
  ASSERT_EQ(database.all("CREATE TABLE t (n INT PRIMARY KEY, s TEXT)"), 0);
  const std::string select = "SELECT n FROM t WHERE s = :s";
  ASSERT_EQ(lunar_prepare(&database.db, select.data(), select.size(), memory, sizeof memory, &statement, nullptr), 0);
  EXPECT_EQ(lunar_bind(statement, 1, nullptr), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_bind_text(statement, 1, nullptr, 3), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_bind_text(statement, 1, nullptr, 0), 0);
  EXPECT_EQ(lunar_bind_parameter_index(statement, nullptr), 0U);
  EXPECT_EQ(lunar_step(statement), LUNAR_DONE);
}

TEST_F(Sql, a_statement_that_could_not_be_prepared_cannot_be_used) {
  ASSERT_EQ(database.all("CREATE TABLE t (n INT PRIMARY KEY)"), 0);
  const std::string texts[] = {"SELECT n FROM t WHERE n IN (?, ?, ?)", "SELECT n FROM t WHERE n IN (?, ?, ?) AND"};
  for (const auto& sql : texts) {
    int error = LUNAR_E_BUFFER;
    for (std::size_t bytes = 0; error != 0 && error != LUNAR_E_SQL; bytes += 8) {
      std::vector<std::uint64_t> memory(bytes / 8 + 1);
      lunar_statement* statement = nullptr;
      error = lunar_prepare(&database.db, sql.data(), sql.size(), memory.data(), bytes, &statement, nullptr);
      if (error == 0) break;
      EXPECT_EQ(lunar_bind_int64(statement, 1, 7), LUNAR_E_INVALID) << bytes;
      EXPECT_EQ(lunar_step(statement), LUNAR_E_INVALID) << bytes;
      EXPECT_EQ(lunar_bind_parameter_count(statement), 0U) << bytes;
      EXPECT_EQ(lunar_column_count(statement), 0U) << bytes;
      EXPECT_EQ(lunar_column_name(statement, 0), nullptr) << bytes;
    }
  }
}

// Every access path gives the same rows.
TEST_F(Sql, an_index_and_a_scan_agree_at_the_limits_of_numbers) {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"i = -9223372036854775808.0", "1"},
      {"i IN (5, -9223372036854775808.0)", "1"},
      {"i IS -9223372036854775808.0", "1"},
      {"i = '-9223372036854775808.0'", "1"},
      {"i <= -9223372036854775808.0", "1"},
      {"i BETWEEN -9e999 AND -9223372036854775808.0", "1"},
      {"i >= 9223372036854775807.0", ""},
      {"i = 9223372036854775808.0", ""},
      {"i > 9007199254740992.0", "3|4|5"},
      {"i = 9007199254740992.0", "2"},
      {"i IN (9007199254740992.0, 9007199254740993, 9e999)", "2|3"},
      {"i = -0.0", "6"},
      {"r = 9007199254740993", ""},
      {"r = 9007199254740992", "2"},
      {"r IN (9007199254740993, 9007199254740992)", "2"},
      {"r >= 9007199254740993", "4|8"},
      {"r = 0", "3|5"},
      {"r = -0.0", "3|5"},
      {"r < -9e307", "1|7"},
      {"r = 9e999", "8"},
      {"r > 9e999", "4"},
      {"r < -9e999", "7"},
  };
  ASSERT_EQ(database.all("CREATE TABLE t (n INT PRIMARY KEY USING TREE, i BIGINT, r REAL);"
                         "INSERT INTO t VALUES (1, -9223372036854775807 - 1, -9e999), (2, 9007199254740992, "
                         "9007199254740992), (3, 9007199254740993, 0.0), (4, 9223372036854775806, 0), "
                         "(5, 9223372036854775807, -0.0), (6, 0, 1), (7, -1, 1), (8, 1, 9e999)"),
            0);
  lunar_table table;
  ASSERT_EQ(lunar_table_open(&database.db, "t", &table), 0);
  for (const auto& [key, sign] : {std::pair{4, 1.0}, {7, -1.0}}) {  // SQL cannot store a NaN
    const lunar_value k = integer(key);
    lunar_value v{};
    v.type = LUNAR_REAL, v.as.real = std::copysign(std::nan(""), sign);
    ASSERT_EQ(lunar_update(&table, &k, 2, &v), 0);
  }
  for (const char* kind : {"", "TREE", "HASH"}) {
    if (*kind != 0) {
      ASSERT_EQ(database.all("CREATE INDEX by_i ON t (i) USING " + std::string(kind) +
                             "; CREATE INDEX by_r ON t (r) USING " + kind),
                0);
    }
    for (const auto& [where, keys] : expected) {
      const std::string sql = "SELECT n FROM t WHERE " + where + " ORDER BY n";
      EXPECT_EQ(database.result(sql), keys) << sql << " " << kind;
    }
    if (*kind != 0) {
      ASSERT_EQ(database.all("DROP INDEX by_i; DROP INDEX by_r"), 0);
    }
  }
}

// One INSERT fits into the log, whatever the log contains before it.
TEST(SqlInsert, of_several_rows_succeeds_whatever_the_log_already_contains) {
  for (const std::size_t buffer : {16384U, 65536U}) {
    Database database(LUNAR_MODE_FULL, 4096, buffer, 160 * 512);
    ASSERT_EQ(database.all("CREATE TABLE t (id BIGINT PRIMARY KEY, c0 BIGINT, c1 TEXT);"
                           "CREATE INDEX i0 ON t (c0); CREATE INDEX i1 ON t (c1)"),
              0);
    for (std::int64_t i = 0; i < 400; ++i) {
      const std::string letters(static_cast<std::size_t>(i % 90), 'x');
      ASSERT_EQ(database.result("INSERT INTO t VALUES (?1, ?2, ?3), (?1 + 1000, ?2, ?3), (?1 + 2000, ?2 + 7, ?3)",
                                {integer(i * 37 % 401), integer(i % 11), text(letters)}),
                "")
          << "statement " << i << ", buffer of " << buffer;
    }
  }
}

TEST(Keys, out_of_range_are_refused_by_every_call_and_match_nothing_in_sql) {
  Database database;
  ASSERT_EQ(database.all("CREATE TABLE t (id TINYINT PRIMARY KEY, v SMALLINT); CREATE INDEX by_v ON t (v);"
                         "INSERT INTO t VALUES (127, 1), (-128, 2)"),
            0);
  lunar_table table;
  lunar_cursor cursor;
  lunar_value row[2];
  char memory[64];
  const lunar_value far = integer(100000), near = integer(1);
  ASSERT_EQ(lunar_table_open(&database.db, "t", &table), 0);
  EXPECT_EQ(lunar_get(&table, &far, memory, sizeof memory, row), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_update(&table, &far, 1, &near), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_remove(&table, &far), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_cursor_open(&cursor, &table, &near, &far, 0), LUNAR_E_INVALID);
  EXPECT_EQ(lunar_index_cursor(&cursor, &table, "by_v", &near, &far, 0), LUNAR_E_INVALID);
  EXPECT_EQ(database.result("SELECT id FROM t WHERE id < 100000 ORDER BY id"), "-128|127");
  EXPECT_EQ(database.result("SELECT id FROM t WHERE id = 100000"), "");
}

TEST(SqlUpdate, changes_each_row_once_although_rows_move) {
  for (const std::size_t memory : {1280U, 65536U}) {
    Database database;
    ASSERT_EQ(database.all("CREATE TABLE t (id INT PRIMARY KEY USING HASH, n INT, s TEXT)"), 0);
    constexpr int rows = 300;
    for (int i = 0; i < rows; ++i) {
      const lunar_value id = integer(i);
      ASSERT_EQ(database.run("INSERT INTO t VALUES (?, 0, 'short')", {id}).error, 0);
    }
    const Ran ran =
        database.run("UPDATE t SET n = n + 1, s = 'so long that the row has to go elsewhere in its table'", {}, memory);
    EXPECT_EQ(ran.error, 0) << ran.complaint;
    EXPECT_EQ(ran.changes, static_cast<std::uint64_t>(rows));
    EXPECT_EQ(ran.several_passes, memory < 2000);
    EXPECT_EQ(database.result("SELECT COUNT(*), MIN(n), MAX(n) FROM t"), "300 1 1");
  }
}

TEST(SqlUpdate, changes_each_row_once_although_it_moves_in_the_index) {
  for (const std::size_t memory : {1536U, 65536U})
    for (const char* key : {"INT PRIMARY KEY USING HASH", "TEXT PRIMARY KEY USING TREE"})
      for (const char* kind : {"TREE", "HASH"}) {
        Database database;
        ASSERT_EQ(database.all(std::string("CREATE TABLE t (id ") + key +
                               ", n INT, s TEXT); CREATE INDEX by_n ON t (n) USING " + kind),
                  0);
        constexpr int rows = 200;
        for (int i = 0; i < rows; ++i) {
          const std::string digits = std::to_string(i);
          const lunar_value id = key[0] == 'I' ? integer(i) : text(digits);
          ASSERT_EQ(database.run("INSERT INTO t VALUES (?, 7, 'short')", {id}).error, 0);
        }
        const std::string where = kind[0] == 'T' ? " WHERE n >= 7" : " WHERE n IN (7, 8, 9)";
        const Ran ran = database.run(
            "UPDATE t SET n = n + 1, s = 'so long that the row has to go elsewhere in its table'" + where, {}, memory);
        EXPECT_EQ(ran.error, 0) << ran.complaint;
        EXPECT_EQ(ran.changes, static_cast<std::uint64_t>(rows));
        EXPECT_EQ(ran.several_passes, memory < 2000);
        EXPECT_EQ(ran.index, "by_n");
        EXPECT_EQ(database.result("SELECT COUNT(*), MIN(n), MAX(n) FROM t"), "200 8 8");
        const Ran removed = database.run("DELETE FROM t" + where, {}, memory);
        EXPECT_EQ(removed.changes, static_cast<std::uint64_t>(rows)) << removed.complaint;
        EXPECT_EQ(removed.index, "by_n");
        EXPECT_EQ(database.result("SELECT COUNT(*) FROM t WHERE n = 8"), "0");
      }
}

TEST(SqlModes, mode_none_has_statements_and_no_transactions) {
  Database database(LUNAR_MODE_NONE);
  ASSERT_EQ(database.all("CREATE TABLE t (id INT PRIMARY KEY, n INT8); INSERT INTO t VALUES (1, 1), (2, 127), (3, 3)"),
            0);
  EXPECT_EQ(database.run("BEGIN").error, LUNAR_E_UNSUPPORTED);
  EXPECT_EQ(database.run("UPDATE t SET n = n + 1").error, LUNAR_E_INVALID);
  EXPECT_EQ(database.result("SELECT n FROM t"), "2|127|3") << "changes before the error stay";
}

// One statement on a device of which one call fails, each in turn. Its effect is complete or absent, in the handle at
// once and after the next mount.
struct Failing {
  lunar_mode mode;
  std::string statement, after;
  std::uint64_t call = 0;
  int errors = 0, failed = 0;

  static constexpr const char* before = "10 4";
  static constexpr const char* query = "SELECT SUM(n), COUNT(*) FROM t";

  // Returns false once the statement makes fewer calls.
  bool fails_at_next_call() {
    Database database(mode, 1024, LUNAR_BUFFER_BYTES_MIN(512));
    EXPECT_EQ(database.all("CREATE TABLE t (id INT PRIMARY KEY, n INT, s TEXT); CREATE INDEX by_n ON t (n);"
                           "INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (4, 4, 'd')"),
              0);
    EXPECT_EQ(lunar_sync(&database.db), 0);
    emubd_reset(&database.device);
    database.device.fail_at = ++call;
    const Ran ran = database.run(statement);
    const bool failed_now = database.device.calls >= call;
    emubd_reset(&database.device);
    const std::string live = database.result(query);
    const bool refused = live.starts_with("error: an earlier error of the device ended this handle");
    if (ran.error != 0) {
      ++errors, failed += refused;
      EXPECT_EQ(ran.error, LUNAR_E_IO) << "call " << call;
      EXPECT_EQ(ran.changes, 0U) << "call " << call;
      EXPECT_TRUE(refused || live == before) << "call " << call << ": the handle shows " << live;
    } else {
      EXPECT_EQ(live, after) << "call " << call;
    }
    EXPECT_EQ(lunar_unmount(&database.db), refused ? LUNAR_E_FAILED : 0) << "call " << call;
    EXPECT_EQ(lunar_mount(&database.db, &database.config), 0) << "call " << call;
    const std::string mounted = database.result(query);
    if (refused)
      EXPECT_TRUE(mounted == before || mounted == after) << "call " << call << ": the next mount has " << mounted;
    else
      EXPECT_EQ(mounted, live) << "call " << call;
    return failed_now;
  }
};

TEST(SqlFailures, leave_a_statement_done_or_not_begun) {
  const std::pair<const char*, const char*> statements[] = {
      {"UPDATE t SET n = n + 10, s = 'longer than it was before' WHERE id > 1", "40 4"},
      {"INSERT INTO t VALUES (5, 5, 'e'), (6, 6, 'f')", "21 6"},
      {"INSERT INTO t VALUES (5, 5, 'e')", "15 5"},
      {"DELETE FROM t WHERE n > 1", "1 1"}};
  int errors = 0, failed = 0;
  for (const lunar_mode mode : {LUNAR_MODE_DISORDER, LUNAR_MODE_METADATA, LUNAR_MODE_DATA, LUNAR_MODE_FULL}) {
    for (const auto& [statement, after] : statements) {
      SCOPED_TRACE(std::string(statement) + ", mode " + std::to_string(mode));
      Failing failing{mode, statement, after};
      while (failing.fails_at_next_call()) continue;
      errors += failing.errors, failed += failing.failed;
    }
  }
  std::printf("%d statements failed, %d handles with them\n", errors, failed);
  EXPECT_GT(errors, 300);
  EXPECT_GT(failed, 100);
}

// Prints the figures of docs/adr/015.
TEST(SqlSort, reads_more_in_less_memory_and_writes_nothing) {
  Database database(LUNAR_MODE_DATA, 32768, 8192);
  ASSERT_EQ(database.all("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, content BLOB)"), 0);
  const std::string content(88, 'x');
  constexpr int rows = 2000;
  for (int i = 0; i < rows; ++i) {
    const lunar_value id = integer(i), n = integer(i * 7919LL % 10007), bytes = blob(content);
    ASSERT_EQ(database.run("INSERT INTO t VALUES (?, ?, ?)", {id, n, bytes}, 4096).error, 0);
  }
  ASSERT_EQ(lunar_checkpoint(&database.db), 0);
  const struct {
    const char *name, *sql;
    std::size_t results;
  } statements[] = {{"scan", "SELECT n FROM t", rows},
                    {"order", "SELECT n FROM t ORDER BY n", rows},
                    {"order, BLOB", "SELECT n, content FROM t ORDER BY n", rows},
                    {"order, limit 10", "SELECT n FROM t ORDER BY n DESC LIMIT 10", 10},
                    {"998 groups", "SELECT n, COUNT(*) FROM t WHERE n < 5000 GROUP BY n", 998}};
  std::printf("statement         memory   sectors read   rows\n");
  for (const auto& statement : statements) {
    std::uint64_t least = 1ULL << 40;
    for (const std::size_t memory : {2048U, 8192U, 65536U, 1048576U}) {
      const auto read = database.device.sectors_read, written = database.device.sectors_written;
      const Ran ran = database.run(statement.sql, {}, memory);
      ASSERT_EQ(ran.error, 0) << ran.complaint;
      EXPECT_EQ(database.device.sectors_written, written);
      const auto sectors = database.device.sectors_read - read;
      std::printf("%-16s%8zu%15llu%7zu\n", statement.name, memory, static_cast<unsigned long long>(sectors),
                  ran.rows.size());
      EXPECT_LE(sectors, least + 10) << "more memory, no more reads";
      least = sectors;
      EXPECT_EQ(ran.rows.size(), statement.results);
      if (std::strcmp(statement.name, "scan") != 0) {
        for (std::size_t i = 1; i < ran.rows.size(); ++i) {
          const int before = std::stoi(ran.rows[i - 1][0]), here = std::stoi(ran.rows[i][0]);
          EXPECT_TRUE(std::strcmp(statement.name, "order, limit 10") == 0 ? here < before : here > before) << i;
        }
      }
    }
  }
}

// Runs the statements between ```sql and ``` and compares each result with its line "--> ".
TEST(SqlDocumentation, examples_give_the_documented_results) {
  std::ifstream page(LUNAR_SQL_PAGE);
  ASSERT_TRUE(page);
  Database database;
  bool inside = false;
  std::vector<std::string> actual, expected;
  int statements = 0;
  const auto compare = [&] {
    EXPECT_EQ(actual, expected) << "statement " << statements;
    actual.clear();
    expected.clear();
  };
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("```", 0) == 0) {
      if (inside) compare();
      inside = line == "```sql";
    } else if (inside && line.rfind("--> ", 0) == 0) {
      expected.push_back(line.substr(4));
    } else if (inside) {
      compare();
      ++statements;
      const Ran ran = database.run(line, {}, 4096);
      for (const auto& row : ran.rows) {
        std::string text;
        for (const auto& value : row) text += (text.empty() ? "" : " ") + value;
        actual.push_back(text);
      }
      if (ran.error != 0) actual.push_back("error: " + ran.complaint.substr(0, ran.complaint.find(" @")));
    }
  }
  EXPECT_GT(statements, 15);
}

// The shell writes each REAL with 17 digits where fewer are not enough.
TEST(SqlNumbers, of_17_digits_are_read_back) {
  std::mt19937_64 random(test_seed());
  std::uint64_t tried = 0;
  for (std::uint64_t i = 0; i < 4'000'000 / one_in(20); ++i) {
    std::uint64_t bits = random();
    if (i % 4 == 0) bits = (bits & 0x800fffffffffffff) | (1023 - 60 + random() % 120) << 52;  // not far from 1
    if (i % 64 == 1) bits &= 0x800fffffffffffff;                                              // subnormal
    if (i % 64 == 2) bits &= 0xfff0000000000000 | ((1ULL << random() % 52) - 1);              // near a power of two
    double real;
    std::memcpy(&real, &bits, sizeof real);
    if (!std::isfinite(real) || real == 0) continue;
    char text[40];
    const int bytes = std::snprintf(text, sizeof text, "%.16e", std::fabs(real));
    lunar_value value{};
    ASSERT_EQ(ln_sql_number(text, static_cast<std::uint32_t>(bytes), &value), static_cast<std::uint32_t>(bytes));
    ASSERT_EQ(value.as.real, std::fabs(real)) << text;
    ++tried;
  }
  std::printf("%lu numbers\n", static_cast<unsigned long>(tried));
}

}  // namespace
}  // namespace lunar_test
