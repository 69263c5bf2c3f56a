#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "bench_bed.h"
#include "compaction_text.h"
#include "patience.h"
#include "rocksdb_text.h"
#include "served_files.h"
#include "settings_file.h"
#include "staging.h"
#include "table_options.h"
#include "verification.h"

namespace {

using namespace eco;

// --- texts

const std::string result_body =
    "stats={num_single_del_mismatch=0;num_records_replaced=30041;cpu_micros=25871;num_corrupt_keys=0;"
    "num_expired_deletion_records=1000;};bytes_read=848141;total_bytes=378815;num_output_records=29000;"
    "output_path=2F6F7574;bytes_written=378815;output_level=1;output_files={{{marked_for_compaction=false;"
    "file_creation_time=1795373503;oldest_ancester_time=1795373502;paranoid_hash=0;"
    "largest_internal_key=6B6579390100000000000000;smallest_internal_key=6B6579310100000000000000;largest_seqno=0;"
    "unique_id=60975:45138;smallest_seqno=0;file_name=3030303032362E737374;}}};"
    "status={message=;severity=0;subcode=0;code=0;};";

std::string with_format(const std::string& body) { return std::string("\1\0\0\0", 4) + body; }

TEST(ResultText, is_read_whole) {
  std::string why;
  const auto result = read_result(with_format(result_body), why);
  ASSERT_TRUE(result) << why;
  EXPECT_EQ(result->folder, "/out");
  EXPECT_EQ(result->records, 29000U);
  EXPECT_EQ(result->replaced, 30041U);
  EXPECT_EQ(result->expired, 1000U);
  ASSERT_EQ(result->tables.size(), 1U);
  EXPECT_EQ(result->tables[0].name, "000026.sst");
  EXPECT_EQ(result->tables[0].smallest, std::string("key1\1\0\0\0\0\0\0\0", 12));
}

TEST(RocksdbText, reads_lists_in_each_form_that_rocksdb_writes) {
  using Texts = std::vector<std::string>;
  for (const char* one : {"{{{a=1;b=2:3;}}}", "{{a=1;b=2:3;}}", "{a=1;b=2:3;}"})
    EXPECT_EQ(rocksdb_text::list(one), Texts{"a=1;b=2:3;"}) << one;
  for (const char* two : {"{{{a=1;}}:{{a=2;}}}", "{{a=1;}:{a=2;}}", "{a=1;}:{a=2;}"})
    EXPECT_EQ(rocksdb_text::list(two), (Texts{"a=1;", "a=2;"})) << two;
  EXPECT_EQ(rocksdb_text::list("1:2"), (Texts{"1", "2"}));
  EXPECT_EQ(rocksdb_text::list("{1:2}"), (Texts{"1", "2"}));
  EXPECT_EQ(rocksdb_text::list(""), Texts{});
  EXPECT_EQ(rocksdb_text::list("{1:2"), std::nullopt);
}

TEST(ResultText, cut_anywhere_is_refused) {
  const std::string text = with_format(result_body);
  for (std::size_t bytes = 0; bytes + 1 < text.size(); ++bytes) {
    std::string why;
    EXPECT_FALSE(read_result(text.substr(0, bytes), why)) << bytes;
    EXPECT_FALSE(why.empty());
  }
}

TEST(ResultText, with_another_member_or_number_or_format_is_refused) {
  const auto refused = [](const std::string& text) {
    std::string why;
    return !read_result(text, why);
  };
  EXPECT_TRUE(refused(with_format("file_temperature=0;" + result_body)));
  EXPECT_TRUE(refused(with_format(result_body + "output_level=1;")));
  std::string body = result_body;
  body.replace(body.find("378815"), 6, "37x815");
  EXPECT_TRUE(refused(with_format(body)));
  EXPECT_TRUE(refused(std::string("\2\0\0\0", 4) + result_body));
}

TEST(TableOptions, are_those_of_the_family) {
  const std::string text =
      "[CFOptions \"default\"]\n  a=1\n[TableOptions/BlockBasedTable \"default\"]\n  block_size=4096\n"
      "  filter_policy=bloomfilter:10:false\n\n[CFOptions \"b\"]\n[TableOptions/BlockBasedTable \"b\"]\n  "
      "block_size=1\n";
  EXPECT_EQ(table_options_in(text, "default"),
            "id=BlockBasedTable;block_size=4096;filter_policy=bloomfilter:10:false;");
  EXPECT_EQ(table_options_in(text, "b"), "id=BlockBasedTable;block_size=1;");
  EXPECT_EQ(table_options_in(text, "c"), std::nullopt);
}

// --- the jail

TEST(ServedFiles, are_the_database_s_own_without_its_log) {
  for (const char* name : {"CURRENT", "IDENTITY", "MANIFEST-000005", "OPTIONS-000007", "000012.sst", "7.blob"})
    EXPECT_TRUE(ServedFiles::serves(name)) << name;
  for (const char* name : {"000012.log", "LOG", "LOCK", "", ".", "..", "../000012.sst", "/etc/passwd", "a/000012.sst",
                           "MANIFEST-", "MANIFEST-5/../x", "x.sst", ".sst", "000012.sst.", "000012.dbtmp"})
    EXPECT_FALSE(ServedFiles::serves(name)) << name;
}

// --- patience

using Limits = Patience::Limits;

TEST(Patience, lasts_while_a_worker_moves_and_speaks) {
  Patience patience(Limits{.usual_s = 10}, 1000, 100);
  for (int s = 1; s <= 10; ++s) {
    patience.progressed(100 + s, static_cast<std::uint64_t>(100 * s), 0);
    EXPECT_EQ(patience.exhausted(100 + s), "");
  }
}

TEST(Patience, ends_with_the_heartbeats) {
  Patience patience(Limits{.heartbeat_s = 3}, 1000, 100);
  patience.heard(102);
  EXPECT_EQ(patience.exhausted(104.9), "");
  EXPECT_NE(patience.exhausted(105.1), "");
}

TEST(Patience, ends_when_a_worker_only_speaks) {
  Patience patience(Limits{.heartbeat_s = 3, .standstill_s = 10}, 1000, 100);
  for (int s = 1; s <= 10; ++s) patience.progressed(100 + s, 0, 0);
  EXPECT_EQ(patience.exhausted(110), "");
  patience.heard(110.5);
  EXPECT_NE(patience.exhausted(110.5), "");
}

TEST(Patience, ends_when_the_rest_takes_longer_than_a_local_compaction) {
  Patience patience(Limits{.usual_s = 4}, 1000, 100);
  patience.progressed(100, 1, 0);
  patience.progressed(102, 400, 0);  // 3 s more
  EXPECT_EQ(patience.exhausted(102), "");
  patience.progressed(103, 410, 0);  // 4.3 s more
  EXPECT_NE(patience.exhausted(103), "");
}

TEST(Patience, does_not_take_the_begin_of_a_slow_server_for_its_speed) {
  Patience patience(Limits{.heartbeat_s = 10, .usual_s = 4}, 1000, 100);
  patience.progressed(104, 10, 0);
  patience.progressed(106.5, 410, 0);  // 3.7 s more
  EXPECT_EQ(patience.exhausted(106.5), "");
  patience.progressed(108, 450, 0);  // 5 s more
  EXPECT_NE(patience.exhausted(108), "");
}

TEST(Patience, ends_when_a_worker_does_not_begin) {
  Patience patience(Limits{.heartbeat_s = 10, .usual_s = 4}, 1000, 100);
  patience.progressed(104.9, 0, 0);
  EXPECT_EQ(patience.exhausted(104.9), "");
  EXPECT_NE(patience.exhausted(105.1), "");
}

TEST(Patience, for_the_verification_is_bounded_by_the_total_alone) {
  Patience patience(Limits{.heartbeat_s = 3, .total_s = 60, .usual_s = 1}, 1000, 100);
  patience.received();
  EXPECT_EQ(patience.exhausted(150), "");
  EXPECT_NE(patience.exhausted(161), "");
}

// --- verification

std::string internal(const std::string& user, char sequence) {
  return user + std::string(1, '\1') + std::string(1, sequence) + std::string(6, '\0');
}

struct Received {
  CompactionResult result;
  std::map<std::string, TableFacts> tables;
  Expectation expected;
};

Received two_tables() {
  Received received;
  received.result.folder = received.expected.folder = "/db/eco-staging/1";
  received.result.output_level = received.expected.output_level = 1;
  received.expected.comparator = rocksdb::BytewiseComparator();
  received.expected.latest_sequence = 50;
  received.expected.input_entries = 13;
  received.result.tables = {{.name = "1.sst",
                             .smallest_sequence = 1,
                             .largest_sequence = 9,
                             .smallest = internal("a", 1),
                             .largest = internal("f", 2),
                             .unique_id = "1:1"},
                            {.name = "2.sst",
                             .smallest_sequence = 0,
                             .largest_sequence = 40,
                             .smallest = internal("g", 3),
                             .largest = internal("m", 4),
                             .unique_id = "1:2"}};
  received.result.records = 10, received.result.bytes = 300;
  received.result.replaced = 2, received.result.expired = 1;
  received.tables["1.sst"] = {.bytes = 100, .entries = 4, .range_deletions = 0, .first = "a", .last = "f"};
  received.tables["2.sst"] = {.bytes = 200, .entries = 7, .range_deletions = 1, .first = "g", .last = "l"};
  return received;
}

TEST(Verification, accepts_what_is_whole) {
  const Received received = two_tables();
  EXPECT_EQ(verify_result(received.result, received.tables, received.expected), "");
}

TEST(Verification, refuses_each_single_fault) {
  using Change = std::function<void(Received&)>;
  const std::vector<std::pair<const char*, Change>> changes = {
      {"a status", [](Received& r) { r.result.code = 2; }},
      {"another folder", [](Received& r) { r.result.folder = "/db/eco-staging/2"; }},
      {"another level", [](Received& r) { r.result.output_level = 2; }},
      {"corrupt keys", [](Received& r) { r.result.corrupt_keys = 1; }},
      {"a table less in the result", [](Received& r) { r.result.tables.pop_back(); }},
      {"a table less on the disk", [](Received& r) { r.tables.erase("1.sst"); }},
      {"a table twice", [](Received& r) { r.result.tables.push_back(r.result.tables.back()); }},
      {"an identity twice", [](Received& r) { r.result.tables[1].unique_id = "1:1"; }},
      {"a key without a sequence", [](Received& r) { r.result.tables[0].smallest = "a"; }},
      {"a sequence of the future", [](Received& r) { r.result.tables[1].largest_sequence = 51; }},
      {"an entry less", [](Received& r) { --r.tables["1.sst"].entries; }},
      {"a byte less", [](Received& r) { --r.tables["1.sst"].bytes; }},
      {"an entry that is not accounted for", [](Received& r) { --r.result.replaced; }},
      {"more entries than can have gone in",
       [](Received& r) { r.expected.input_entries.reset(), r.expected.entries_max = 12; }},
      {"a table left out consistently",
       [](Received& r) {
         r.result.tables.pop_back(), r.tables.erase("2.sst");
         r.result.records = 4, r.result.bytes = 100;
       }},
      {"another order", [](Received& r) { std::swap(r.result.tables[0], r.result.tables[1]); }},
      {"an overlap", [](Received& r) { r.result.tables[0].largest = internal("h", 2), r.tables["1.sst"].last = "h"; }},
      {"one key at the border twice", [](Received& r) { r.result.tables[0].largest = internal("g", 2); }},
      {"a range backwards", [](Received& r) { r.result.tables[1].largest = internal("a", 9); }},
      {"a key before the range", [](Received& r) { r.tables["2.sst"].first = "f"; }},
      {"a key after the range", [](Received& r) { r.tables["2.sst"].last = "n"; }},
      {"a key before the job", [](Received& r) { r.expected.begin = "b"; }},
      {"a key after the job", [](Received& r) { r.expected.end = "l"; }},
  };
  for (const auto& [what, change] : changes) {
    Received received = two_tables();
    change(received);
    EXPECT_NE(verify_result(received.result, received.tables, received.expected), "") << what;
  }
}

// --- the janitor

TEST(Janitor, removes_orphans_and_no_live_file) {
  const test::TemporaryFolder folder;
  namespace fs = std::filesystem;
  const std::string db = folder / "db";
  fs::create_directories(db + "/eco-staging/dead");
  fs::create_directories(db + "/eco-staging/alive");
  for (const char* name : {"/000001.sst", "/eco-staging/dead/000002.sst", "/eco-staging/alive/000003.sst"})
    std::ofstream(db + name) << "x";
  auto& files = *rocksdb::FileSystem::Default();
  EXPECT_EQ(clean_staging(files, db, {"alive"}), 1U);
  EXPECT_TRUE(fs::exists(db + "/000001.sst"));
  EXPECT_TRUE(fs::exists(db + "/eco-staging/alive/000003.sst"));
  EXPECT_FALSE(fs::exists(db + "/eco-staging/dead"));
  EXPECT_EQ(clean_staging(files, db, {}), 1U);
  EXPECT_FALSE(fs::exists(db + "/eco-staging"));
  EXPECT_TRUE(fs::exists(db + "/000001.sst"));
  EXPECT_EQ(clean_staging(files, db, {}), 0U);
}

// --- settings

std::string refusal(const std::string& text) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "eco.toml";
  std::ofstream(file) << text;
  try {
    (void)read_settings(file);
  } catch (const std::runtime_error& error) {
    return std::string(error.what()).substr(file.size() + 1);
  }
  return "";
}

TEST(SettingsFile, names_the_line_and_key_that_it_refuses) {
  EXPECT_EQ(refusal("worker = \"127.0.0.1:1\"\nheartbeat_s = 2.5\n"), "");
  EXPECT_EQ(refusal("worker = \"127.0.0.1:1\"\nwrker = 3\n"), "2: wrker: is not known");
  EXPECT_EQ(refusal("worker = \"127.0.0.1:1\"\n\n[tls]\nco = 3\n"), "4: tls.co: is not known");
  EXPECT_EQ(refusal("worker = 7\n"), "1: worker: a string is expected");
  EXPECT_EQ(refusal("worker = \"127.0.0.1:1\"\nheartbeat_s = 0\n"),
            "2: heartbeat_s: a number of seconds above 0 is expected");
  EXPECT_EQ(refusal("heartbeat_s = 1\n"), " either worker or node is expected");
  EXPECT_NE(refusal("worker = \n"), "");
}

}  // namespace
