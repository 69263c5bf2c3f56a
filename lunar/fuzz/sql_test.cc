// Texts of SQL, whole, cut and mutated, leave a sound volume. A replay: LUNAR_SEED=N.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "targets.h"
#include "values.h"

namespace lunar_fuzz {
namespace {

const char* const texts[] = {
    "SELECT a, COUNT(*), MIN(e), AVG(b) + 1 FROM t WHERE (id BETWEEN -3 AND 100 OR NOT d) AND a LIKE 'o%e' GROUP BY a "
    "ORDER BY a DESC LIMIT 3 OFFSET 1;",
    "SELECT *, -c AS minus FROM t WHERE id IN (1, 2, ?3, :x) ORDER BY b, a DESC, id; EXPLAIN SELECT * FROM h WHERE k = "
    "?",
    "UPDATE t SET a = 'longer than it was', c = c + 1, b = b - 1.5e0 WHERE e IS NOT NULL; UPDATE h SET m = m + 1, n = "
    "3",
    "INSERT INTO t (id, a, e) VALUES (10, 'it''s', X'c0ffee'), (11, ?1, ?2); DELETE FROM t WHERE id >= 3; DELETE FROM "
    "h",
    "BEGIN; CREATE TABLE IF NOT EXISTS \"n\" (x BIGINT NOT NULL PRIMARY KEY USING TREE, y CHAR(3), z FLOAT) RING ROWS "
    "2;"
    "INSERT INTO n VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3); SELECT SUM(x) FROM n; ROLLBACK; DROP TABLE IF EXISTS "
    "n",
    "CREATE TABLE big (id INT PRIMARY KEY, n INT64); INSERT INTO big VALUES (1, 9223372036854775807), (2, 1);"
    "SELECT SUM(n) FROM big; SELECT n + 1, -9223372036854775808 FROM big; /* nothing */ -- more\nDROP TABLE big; END",
    "SELECT ((((((((((((((id)))))))))))))) FROM t; SELECT NOT NOT NOT - - + - id FROM t; CREATE INDEX i ON t (a)",
    "CREATE INDEX ta ON t (a); CREATE INDEX tb ON t (b) USING TREE; CREATE INDEX IF NOT EXISTS tc ON t (c) USING HASH;"
    "CREATE INDEX hn ON h (n); SELECT * FROM t WHERE a LIKE 'oN%' AND c IN (1, 5, ?1, 1); SELECT id FROM t WHERE b IS "
    "NULL; DROP INDEX IF EXISTS ta",
    "CREATE INDEX hm ON h (m); CREATE INDEX tb ON t (b); UPDATE h SET m = m - 1, n = 2 WHERE m >= 1; SELECT a, b FROM "
    "t ORDER BY b DESC LIMIT 3; DELETE FROM t WHERE b BETWEEN ?1 AND 4.5; BEGIN; DROP INDEX tb; ROLLBACK; EXPLAIN "
    "SELECT k FROM h WHERE m = 1 ORDER BY k; DROP TABLE h; DROP INDEX hm",
};

void run(const std::string& head, const std::string& text) {
  const std::string input = head + text;
  run_sql(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

TEST(SqlTexts, run_in_any_memory) {
  for (const char* text : texts)
    for (int memory = 0; memory < 256; memory += 5) run({static_cast<char>(memory), static_cast<char>(memory)}, text);
}

TEST(SqlTexts, cut_and_mutated_leave_a_sound_volume) {
  std::mt19937_64 random(lunar_test::test_seed());
  const auto rounds = 3000 / lunar_test::one_in(4);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    std::string text = texts[random() % std::size(texts)];
    const std::string other = texts[random() % std::size(texts)];
    const std::size_t from = random() % other.size();
    text.replace(random() % text.size(), random() % 20, other.substr(from, random() % 40));
    for (std::uint64_t k = random() % 3; k > 0; --k) text[random() % text.size()] = static_cast<char>(random());
    run({static_cast<char>(random()), static_cast<char>(random())}, text);
  }
}

}  // namespace
}  // namespace lunar_fuzz
