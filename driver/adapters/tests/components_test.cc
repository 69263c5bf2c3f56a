// A database's component figures agree with its system calls, which this program intercepts, and with the tables that
// it left and deleted. So do the I/O counts of an adapter.
#include <gtest/gtest.h>

#include <utility>

#include "file_calls.h"
#include "open_database.h"
#include "system/system.h"

namespace edgejoule::driver {
namespace {

using Figure = std::optional<std::uint64_t> Component::*;
using Kind = DatabaseEvent::Kind;
using Components = std::map<std::string, Component>;

constexpr std::uint64_t time_limit_ns = 60'000'000'000;
constexpr std::uint64_t log_block_bytes = 32768;    // of LevelDB's and RocksDB's log
constexpr std::uint64_t log_record_head_bytes = 7;  // RocksDB does not count these

struct FigureName {
  const char* name;
  Figure figure;
};
constexpr FigureName figure_names[] = {{"count", &Component::count},
                                       {"duration_ns", &Component::duration_ns},
                                       {"read_bytes", &Component::read_bytes},
                                       {"write_bytes", &Component::write_bytes},
                                       {"syncs", &Component::syncs}};

Components components_of(Database& database) {
  Components components;
  for (const Component& component : database.components()) {
    EXPECT_FALSE(components.contains(component.name)) << component.name << " is there twice";
    components[component.name] = component;
  }
  return components;
}

Components difference(const Components& before, Components after) {
  for (auto& [name, component] : after) {
    for (const auto& [figure_name, figure] : figure_names) {
      auto& value = component.*figure;
      if (value) *value -= (before.at(name).*figure).value();
    }
  }
  return after;
}

bool is_log(std::string_view name) {
  return name.ends_with(".log") || name.ends_with("-wal") || name.ends_with("-journal");
}
bool is_table(std::string_view name) { return name.ends_with(".ldb") || name.ends_with(".sst"); }
bool is_main(std::string_view name) { return name == "database"; }

// The figures that the test observed itself.
struct Witness {
  FileCalls log;
  FileCalls tables;
  FileCalls main_file;
  std::uint64_t deleted_table_bytes = 0;
  std::map<Kind, std::uint64_t> events;
  std::uint64_t duration_ns = 0;
  std::uint64_t insert_ns = 0;  // total of all calls of the single session
  std::uint64_t log_records = 0;
};

struct Range {
  double least;
  double most;
};

Range exactly(std::uint64_t value) { return {static_cast<double>(value), static_cast<double>(value)}; }
Range about(std::uint64_t value, double part) {
  return {static_cast<double>(value) * (1 - part), static_cast<double>(value) * (1 + part)};
}

using Expected = std::map<std::pair<std::string, std::string>, Range>;

Expected expected_of_tables(const std::string& adapter, const Components& seen, const Witness& witness) {
  Expected expected;
  const double longest = static_cast<double>(witness.duration_ns) * 2;  // RocksDB works with two threads
  const std::uint64_t flushed = seen.at("flush").write_bytes.value();
  expected[{"flush", "count"}] = exactly(witness.events.at(Kind::flush));
  expected[{"flush", "duration_ns"}] = {1, longest};
  expected[{"flush", "write_bytes"}] = exactly(witness.tables.write_bytes - seen.at("compaction").write_bytes.value());
  expected[{"compaction", "count"}] = exactly(witness.events.at(Kind::compaction));
  expected[{"compaction", "duration_ns"}] = {1, longest};
  expected[{"compaction", "write_bytes"}] = exactly(witness.tables.write_bytes - flushed);
  // Compacted tables are deleted. LevelDB also reads the indexes of the tables that it has just written.
  expected[{"compaction", "read_bytes"}] =
      adapter == "rocksdb" ? exactly(witness.deleted_table_bytes) : about(witness.deleted_table_bytes, 0.05);
  return expected;
}

Expected expected_of_log(const std::string& adapter, const Witness& witness) {
  Expected expected;
  const auto written = static_cast<double>(witness.log.write_bytes);
  const auto heads = static_cast<double>(log_record_head_bytes *
                                         (witness.log_records + 2 * (witness.log.write_bytes / log_block_bytes + 1)));
  expected[{"wal", "write_bytes"}] = {adapter == "rocksdb" ? written - heads : written, written};
  return expected;
}

Expected expected_of(const std::string& adapter, const Components& seen, const Witness& witness) {
  Expected expected = expected_of_log(adapter, witness);
  if (adapter == "sqlite") {
    constexpr std::uint64_t settling_syncs = 1;  // of the main file, beside the checkpoint
    expected[{"wal", "syncs"}] =
        exactly(witness.log.syncs + witness.main_file.syncs - settling_syncs - seen.at("checkpoint").syncs.value());
    expected[{"wal", "read_bytes"}] = {0, 1e9};
    expected[{"checkpoint", "count"}] = exactly(witness.events.at(Kind::checkpoint));
    expected[{"checkpoint", "duration_ns"}] = {1, static_cast<double>(witness.duration_ns)};
    expected[{"checkpoint", "read_bytes"}] = about(witness.main_file.write_bytes, 0.01);
    expected[{"checkpoint", "write_bytes"}] = exactly(witness.main_file.write_bytes);
    expected[{"checkpoint", "syncs"}] = {1, static_cast<double>(witness.log.syncs + witness.main_file.syncs)};
    return expected;
  }
  expected[{"wal", "syncs"}] = exactly(witness.log.syncs);
  if (adapter == "rocksdb") {
    expected[{"wal", "count"}] = exactly(witness.log_records);
    expected[{"stall", "duration_ns"}] = {0, static_cast<double>(witness.insert_ns)};
  }
  expected.merge(expected_of_tables(adapter, seen, witness));
  return expected;
}

// Figures that differ from the observed ones, and figures that are not expected.
std::vector<std::string> disagreements(const std::string& adapter, const Components& seen, const Witness& witness) {
  std::vector<std::string> list;
  const Expected expected = expected_of(adapter, seen, witness);
  for (const auto& [name, component] : seen) {
    for (const auto& [figure_name, figure] : figure_names) {
      const auto& value = component.*figure;
      const auto range = expected.find({name, figure_name});
      if (!value && range == expected.end()) continue;
      if (value && range != expected.end() && static_cast<double>(*value) >= range->second.least &&
          static_cast<double>(*value) <= range->second.most) {
        continue;
      }
      list.push_back(name + "." + figure_name + "=" + (value ? std::to_string(*value) : "absent") + ", expected " +
                     (range == expected.end()
                          ? "absent"
                          : std::to_string(range->second.least) + " to " + std::to_string(range->second.most)));
    }
  }
  return list;
}

class ComponentAccounting : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "leveldb") database_.set("write_buffer_bytes", "262144");
    if (GetParam() == "rocksdb") {
      database_.set("options",
                    "write_buffer_size=262144;target_file_size_base=262144;max_bytes_for_level_base=1048576;"
                    "level0_file_num_compaction_trigger=2");
    }
  }

  // Opens, writes `rows` rows in an order that makes tables overlap, settles, closes.
  void work(Durability durability, int rows) {
    database_.open(true, durability);
    const Components before = components_of(*database_);
    const Witness opened = observe();
    (void)database_.events().take();
    const std::uint64_t begin_ns = now_monotonic_ns();
    {
      const auto session = database_->session();
      for (int number = 0; number < rows; ++number) {
        const std::string key = test_key(number * 7919 % (rows + 1));
        const TestRow row(key, 0, 100);
        const auto fields = row.fields();
        const std::uint64_t insert_begin_ns = now_monotonic_ns();
        ASSERT_EQ(session->insert(key, fields), Status::ok) << session->error();
        witness_.insert_ns += now_monotonic_ns() - insert_begin_ns;
      }
    }
    const std::uint64_t insert_ns = witness_.insert_ns;
    ASSERT_TRUE(database_->settle(time_limit_ns).complete);
    witness_ = observe();
    witness_.insert_ns = insert_ns;
    witness_.duration_ns = now_monotonic_ns() - begin_ns;
    seen_ = difference(before, components_of(*database_));
    witness_.log_records = static_cast<std::uint64_t>(rows);
    for (const Kind kind : {Kind::flush, Kind::compaction, Kind::checkpoint}) witness_.events[kind] = 0;
    for (const DatabaseEvent& event : database_.events().take()) ++witness_.events[event.kind];
    ASSERT_EQ(database_.close(), "");
    subtract(opened);
    witness_.deleted_table_bytes = witness_.tables.write_bytes - table_bytes();
  }

  [[nodiscard]] Witness observe() const {
    Witness witness;
    witness.log = file_calls(database_.directory(), is_log);
    witness.tables = file_calls(database_.directory(), is_table);
    witness.main_file = file_calls(database_.directory(), is_main);
    return witness;
  }

  void subtract(const Witness& opened) {
    const auto less = [](FileCalls& calls, const FileCalls& before) {
      calls.write_bytes -= before.write_bytes;
      calls.syncs -= before.syncs;
    };
    less(witness_.log, opened.log);
    less(witness_.tables, opened.tables);
    less(witness_.main_file, opened.main_file);
  }

  [[nodiscard]] std::uint64_t table_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(database_.directory())) {
      if (is_table(entry.path().filename().string())) bytes += entry.file_size();
    }
    return bytes;
  }

  TestDatabase database_{GetParam()};
  Components seen_;
  Witness witness_;
};

INSTANTIATE_TEST_SUITE_P(Adapters, ComponentAccounting, testing::ValuesIn(logging_adapters()),
                         [](const auto& adapter) { return adapter.param; });

TEST_P(ComponentAccounting, agrees_with_the_calls_and_files_seen) {
  work(Durability::process, 6000);
  EXPECT_GT(witness_.log.write_bytes, 6000U * 1000U) << "nothing to account for: this test could not fail";
  EXPECT_EQ(disagreements(GetParam(), seen_, witness_), std::vector<std::string>());
}

TEST_P(ComponentAccounting, agrees_with_the_syncs_of_class_power) {
  work(Durability::power, 60);
  EXPECT_GE(witness_.log.syncs, 60U) << "nothing to account for: this test could not fail";
  const Component& log = seen_.at("wal");
  EXPECT_GE(log.syncs.value(), 60U);
  for (const std::string& disagreement : disagreements(GetParam(), seen_, witness_)) {
    // 60 rows cause no compaction.
    EXPECT_TRUE(disagreement.starts_with("compaction.duration_ns=0")) << disagreement;
  }
}

// Mutants: an engine that misses a tenth of its work, counts it twice, or reports an unknown value as 0.
TEST_P(ComponentAccounting, is_caught_when_a_figure_is_wrong) {
  work(Durability::process, 6000);
  for (const auto& [name, component] : seen_) {
    for (const auto& [figure_name, figure] : figure_names) {
      const auto value = component.*figure;
      const bool unbounded =
          std::string(figure_name) == "duration_ns" || (name == "wal" && figure == &Component::read_bytes);
      if (unbounded) continue;
      std::vector<std::uint64_t> wrong = {0};
      if (value) wrong = {*value - (*value + 9) / 10, 2 * *value};
      for (const std::uint64_t other : wrong) {
        if (value && (*value == 0 || *value == other)) continue;
        Components mutant = seen_;
        mutant[name].*figure = other;
        EXPECT_FALSE(disagreements(GetParam(), mutant, witness_).empty())
            << name << "." << figure_name << ": " << other << " instead of "
            << (value ? std::to_string(*value) : "none");
      }
    }
  }
}

TEST_P(ComponentAccounting, keeps_its_names_from_open_to_close) {
  database_.open();
  const auto names = [this] {
    std::vector<std::string> list;
    for (const Component& component : database_->components()) list.push_back(component.name);
    return list;
  };
  const auto at_open = names();
  ASSERT_EQ(database_->session()->insert("user1", TestRow("user1").fields()), Status::ok);
  ASSERT_TRUE(database_->settle(time_limit_ns).complete);
  EXPECT_EQ(names(), at_open);
  EXPECT_FALSE(at_open.empty());
}

class DatabaseStats : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Adapters, DatabaseStats, testing::ValuesIn(keeping_adapters()),
                         [](const auto& adapter) { return adapter.param; });

TEST_P(DatabaseStats, are_single_lines) {
  TestDatabase database(GetParam());
  if (GetParam() == "rocksdb") database.set("statistics", "true");
  database.open();
  ASSERT_EQ(database->session()->insert("user1", TestRow("user1").fields()), Status::ok);
  for (const auto& [name, value] : database->stats()) {
    EXPECT_EQ(value.find('\n'), std::string::npos) << name;
    EXPECT_LT(value.size(), 100U) << name;
    EXPECT_FALSE(value.empty()) << name;
  }
}

// The adapters that count their I/O.
class IoCounting : public testing::TestWithParam<std::string> {
 protected:
  // The program's calls since the previous call. SQLite creates its shared memory (-shm) without its VFS.
  FileCalls calls() {
    const auto through_the_seam = [](std::string_view name) { return !name.ends_with("-shm"); };
    const FileCalls now = file_calls(database_.directory(), through_the_seam);
    const FileCalls before = std::exchange(calls_, now);
    return {.reads = now.reads - before.reads,
            .writes = now.writes - before.writes,
            .read_bytes = now.read_bytes - before.read_bytes,
            .write_bytes = now.write_bytes - before.write_bytes,
            .syncs = now.syncs - before.syncs};
  }

  // The requests that the adapter counted since the previous call.
  IoCounts counted() {
    const IoCounts now = database_->io_counts().value();
    const IoCounts before = std::exchange(counts_, now);
    return {.reads = now.reads - before.reads,
            .writes = now.writes - before.writes,
            .flushes = now.flushes - before.flushes,
            .read_bytes = now.read_bytes - before.read_bytes,
            .write_bytes = now.write_bytes - before.write_bytes};
  }

  void open() {
    database_.open(true, Durability::power);
    (void)calls();
    (void)counted();
  }

  void insert(int first, int rows) {
    const auto session = database_->session();
    for (int row = first; row < first + rows; ++row) {
      ASSERT_EQ(session->insert(test_key(row), TestRow(test_key(row)).fields()), Status::ok) << session->error();
    }
  }

  void read(int rows) {
    const auto session = database_->session();
    Row found;
    for (int row = 0; row < rows; ++row) {
      ASSERT_EQ(session->read(test_key(row), {}, found), Status::ok) << session->error();
    }
  }

  TestDatabase database_{GetParam()};

 private:
  FileCalls calls_;
  IoCounts counts_;
};

bool agree(const IoCounts& counted, const FileCalls& calls) {
  return counted.reads == calls.reads && counted.writes == calls.writes && counted.flushes == calls.syncs &&
         counted.read_bytes == calls.read_bytes && counted.write_bytes == calls.write_bytes;
}

INSTANTIATE_TEST_SUITE_P(Adapters, IoCounting, testing::Values("lunar", "sqlite"),
                         [](const auto& adapter) { return adapter.param; });

TEST_P(IoCounting, counts_each_request_that_the_program_makes) {
  open();
  insert(0, 500);
  ASSERT_TRUE(database_->settle(time_limit_ns).complete);
  const FileCalls written = calls();
  const IoCounts counted_writes = counted();
  EXPECT_GE(counted_writes.writes, 500U);
  EXPECT_GE(counted_writes.flushes, 500U);
  EXPECT_TRUE(agree(counted_writes, written))
      << counted_writes.reads << " reads, " << written.reads << " seen; " << counted_writes.writes << " writes, "
      << written.writes << " seen; " << counted_writes.flushes << " flushes, " << written.syncs << " seen";
  // Mutants: an adapter that misses one request of one kind, or one byte.
  for (const auto count :
       {&IoCounts::reads, &IoCounts::writes, &IoCounts::flushes, &IoCounts::read_bytes, &IoCounts::write_bytes}) {
    IoCounts mutant = counted_writes;
    --(mutant.*count);
    EXPECT_FALSE(agree(mutant, written));
  }
}

TEST_P(IoCounting, a_durable_insert_is_one_flush_and_a_read_is_none) {
  open();
  insert(0, 10);
  const IoCounts of_inserts = counted();
  EXPECT_EQ(of_inserts.flushes, 10U);
  // lunar: the log's next sectors. SQLite: a frame of the WAL for a page of the rows and one of their index, each with
  // a write of its header and one of the page.
  EXPECT_EQ(of_inserts.writes, GetParam() == "lunar" ? 10U : 40U);
  insert(10, 1);
  EXPECT_EQ(counted().flushes, 1U);
  read(10);
  const IoCounts of_reads = counted();
  EXPECT_EQ(of_reads.flushes, 0U);
  EXPECT_EQ(of_reads.writes, 0U);
}

TEST(IoCounts, are_absent_where_an_adapter_has_no_seam) {
  for (const std::string& adapter : keeping_adapters()) {
    TestDatabase database(adapter);
    database.open();
    EXPECT_EQ(database->io_counts().has_value(), adapter == "lunar" || adapter == "sqlite") << adapter;
  }
}

}  // namespace
}  // namespace edgejoule::driver
