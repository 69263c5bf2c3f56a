#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "bench_bed.h"
#include "compaction_text.h"
#include "options_file.h"
#include "rocksdb_text.h"
#include "served_files.h"
#include "settings_file.h"
#include "staging.h"
#include "subcompaction.h"
#include "verification.h"

namespace {

using namespace eco;

// --- texts

// Written by eco-capture-texts with the RocksDB release in the folder's name.
std::string captured(const std::string& release, const std::string& name) {
  std::ifstream file(ECO_TEXTS "/" + release + '/' + name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class JobTexts : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] TextForm form() const { return text_form(GetParam()).value(); }
  [[nodiscard]] bool nine() const { return form() == TextForm::rocksdb_9_10; }
  [[nodiscard]] std::string text(const std::string& name) const { return captured(GetParam(), name); }
  [[nodiscard]] std::string result_with(const std::string& old, const std::string& replacement) const {
    std::string changed = text("result");
    const auto at = changed.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    return changed.replace(at, old.size(), replacement);
  }
  [[nodiscard]] bool refused(const std::string& result) const {
    std::string why;
    const bool read = read_result(form(), result, why).has_value();
    EXPECT_EQ(read, why.empty());
    return !read;
  }
};
INSTANTIATE_TEST_SUITE_P(Release, JobTexts, testing::Values("7.8", "9.10"), [](const auto& instance) {
  return std::string(instance.param) == "7.8" ? "rocksdb_7_8" : "rocksdb_9_10";
});

TEST_P(JobTexts, of_a_job_are_read_whole) {
  std::string why;
  const auto input = read_input(form(), text("input"), why);
  ASSERT_TRUE(input) << why;
  EXPECT_EQ(input->files, (std::vector<std::string>{"000015.sst", "000013.sst", "000011.sst", "000009.sst"}));
  EXPECT_EQ(input->output_level, nine() ? 6 : 1);
  EXPECT_EQ(input->column_family, "default");
  EXPECT_TRUE(input->has_snapshots);
  EXPECT_FALSE(input->has_begin || input->has_end);
  EXPECT_EQ(input->options_file, nine() ? std::optional<std::uint64_t>(7) : std::nullopt);
  if (!nine()) {
    EXPECT_EQ(input->cf_options.at("compression"), "kSnappyCompression");
  }
}

TEST_P(JobTexts, of_a_result_are_read_whole) {
  std::string why;
  const auto result = read_result(form(), text("result"), why);
  ASSERT_TRUE(result) << why;
  EXPECT_EQ(result->code, 0);
  EXPECT_EQ(result->folder, "/tmp/eco-texts/output");
  EXPECT_EQ(result->records, 3800U);
  EXPECT_EQ(result->bytes, nine() ? 79819U : 79573U);
  EXPECT_EQ(result->replaced, 3516U);
  EXPECT_EQ(result->expired, 200U);
  EXPECT_EQ(result->input_records, nine() ? std::optional<std::uint64_t>(7995) : std::nullopt);
  ASSERT_EQ(result->tables.size(), 2U);
  EXPECT_EQ(result->tables[0].name, "000017.sst");
  EXPECT_EQ(result->tables[0].smallest.substr(0, 9), "key100000");
  EXPECT_EQ(result->tables[0].created_s, nine() ? 1795390979U : 1795390953U);
  EXPECT_EQ(result->tables[1].largest_sequence, 8001U);
  EXPECT_EQ(result->tables[1].entries, nine() ? std::optional<std::uint64_t>(371) : std::nullopt);
  EXPECT_EQ(result->tables[1].range_deletions, nine() ? std::optional<std::uint64_t>(1) : std::nullopt);
}

TEST_P(JobTexts, of_another_release_are_refused) {
  std::string why;
  const auto other = nine() ? TextForm::rocksdb_7_8 : TextForm::rocksdb_9_10;
  EXPECT_FALSE(read_input(other, text("input"), why));
  EXPECT_FALSE(read_result(other, text("result"), why));
}

TEST_P(JobTexts, cut_anywhere_are_refused) {
  const std::string result = text("result");
  for (std::size_t bytes = 0; bytes + 1 < result.size(); ++bytes)
    ASSERT_TRUE(refused(result.substr(0, bytes))) << bytes;
}

TEST_P(JobTexts, with_another_member_or_number_or_format_are_refused) {
  EXPECT_FALSE(refused(text("result")));
  EXPECT_TRUE(refused(result_with("stats=", "file_temperature=0;stats=")));
  EXPECT_TRUE(refused(text("result") + "output_level=1;"));
  EXPECT_TRUE(refused(result_with("\1", "\2")));
  // RocksDB also reads these, and an unreadable one stops the database.
  for (const char* name :
       {"num_records_replaced=", "cpu_micros=", "is_full_compaction=", "bytes_read=", "unique_id=", "paranoid_hash="})
    EXPECT_TRUE(refused(result_with(name, name + std::string("x")))) << name;
  EXPECT_TRUE(refused(result_with("stats={", "stats={micros=0;")));
  if (!nine()) return;
  for (const char* name : {"num_filter_entries=", "compression_name=", "epoch_number="})
    EXPECT_TRUE(refused(result_with(name, name + std::string("x")))) << name;
  EXPECT_TRUE(refused(result_with("is_remote_compaction=true", "is_remote_compaction=false")));
  EXPECT_TRUE(refused(result_with("table_properties={", "table_properties={micros=0;")));
}

TEST(TextForm, is_known_of_releases_that_were_tried) {
  EXPECT_EQ(text_form("7.8.3"), TextForm::rocksdb_7_8);
  EXPECT_EQ(text_form("9.10.0"), TextForm::rocksdb_9_10);
  for (const char* release : {"", "7.7.0", "7.9.2", "9.1.0", "9.9.3", "9.11.2", "10.2.1"})
    EXPECT_EQ(text_form(release), std::nullopt) << release;
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

TEST(OptionsFile, has_the_options_of_each_family) {
  const std::string text =
      "[DBOptions]\n  max_subcompactions=3\n[CFOptions \"default\"]\n  a=1\n[TableOptions/BlockBasedTable "
      "\"default\"]\n  block_size=4096\n  filter_policy=bloomfilter:10:false\n\n[CFOptions \"b\"]\n  a=x=2\n"
      "[TableOptions/BlockBasedTable \"b\"]\n  block_size=1\n";
  std::string why;
  const auto first = options_in(text, "default", why), second = options_in(text, "b", why);
  ASSERT_TRUE(first && second) << why;
  EXPECT_EQ(first->table, "id=BlockBasedTable;block_size=4096;filter_policy=bloomfilter:10:false;");
  EXPECT_EQ(first->db, (rocksdb_text::Fields{{"max_subcompactions", "3"}}));
  EXPECT_EQ(first->family, (rocksdb_text::Fields{{"a", "1"}}));
  EXPECT_EQ(second->family, (rocksdb_text::Fields{{"a", "x=2"}}));
  EXPECT_EQ(options_in(text, "c", why), std::nullopt);
  EXPECT_NE(why, "");
}

TEST(OptionsFile, of_rocksdb_9_10_says_what_a_job_of_7_8_carries) {
  std::string why;
  const auto input = read_input(TextForm::rocksdb_7_8, captured("7.8", "input"), why);
  const auto options = options_in(captured("9.10", "OPTIONS"), "default", why);
  ASSERT_TRUE(input && options) << why;
  for (const char* name : {"comparator", "compaction_filter", "merge_operator", "prefix_extractor", "table_factory",
                           "compaction_style", "write_buffer_size", "level0_file_num_compaction_trigger"})
    EXPECT_EQ(options->family.at(name), input->cf_options.at(name)) << name;
  for (const char* name : {"file_checksum_gen_factory", "delayed_write_rate", "max_subcompactions"})
    EXPECT_EQ(options->db.at(name), input->db_options.at(name)) << name;
}

// --- the jail

// RocksDB may begin a part at the last key.
TEST(Subcompaction, of_the_last_key_alone_has_an_entry_and_bytes) {
  test::TemporaryFolder folder;
  test::Bed bed(folder / "db", test::small_tables());
  bed.write(1000, 1, 100);
  bed.flush();
  rocksdb::ColumnFamilyMetaData family;
  bed.db().GetColumnFamilyMetaData(&family);
  ASSERT_EQ(family.file_count, 1U);
  const Job compaction{.input_bytes = 10'000, .input_entries = 100, .codec = "Snappy"};
  CompactionInput input;
  input.column_family = rocksdb::kDefaultColumnFamilyName;
  input.has_begin = true, input.begin = family.levels[0].files[0].largestkey;
  const Job part = part_of(compaction, input, bed.db(), *rocksdb::BytewiseComparator());
  EXPECT_GE(part.input_entries, 1U);
  EXPECT_LE(part.input_entries, 2U);
  EXPECT_GE(part.input_bytes, 100U);
  EXPECT_LE(part.input_bytes, 200U);
  EXPECT_EQ(part.codec, "Snappy");
  input.has_begin = false;
  const Job whole = part_of(compaction, input, bed.db(), *rocksdb::BytewiseComparator());
  EXPECT_EQ(whole.input_bytes, 10'000U);
  EXPECT_EQ(whole.input_entries, 100U);
}

TEST(ServedFiles, are_the_database_s_own_without_its_log) {
  for (const char* name : {"CURRENT", "IDENTITY", "MANIFEST-000005", "OPTIONS-000007", "000012.sst", "7.blob"})
    EXPECT_TRUE(ServedFiles::serves(name)) << name;
  for (const char* name : {"000012.log", "LOG", "LOCK", "", ".", "..", "../000012.sst", "/etc/passwd", "a/000012.sst",
                           "MANIFEST-", "MANIFEST-5/../x", "x.sst", ".sst", "000012.sst.", "000012.dbtmp"})
    EXPECT_FALSE(ServedFiles::serves(name)) << name;
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
  received.expected.input_records = 13, received.expected.accountable = true;
  received.result.tables = {{.name = "1.sst",
                             .smallest_sequence = 1,
                             .largest_sequence = 9,
                             .smallest = internal("a", 1),
                             .largest = internal("f", 2),
                             .unique_id = "1:1",
                             .created_s = 1010},
                            {.name = "2.sst",
                             .smallest_sequence = 0,
                             .largest_sequence = 40,
                             .smallest = internal("g", 3),
                             .largest = internal("m", 4),
                             .unique_id = "1:2",
                             .created_s = 1020}};
  received.expected.begun_s = 1010, received.expected.now_s = 1020;
  received.result.records = 10, received.result.bytes = 300;
  received.result.replaced = 2, received.result.expired = 1;
  received.tables["1.sst"] = {
      .bytes = 100, .entries = 4, .range_deletions = 0, .created_s = 1010, .first = "a", .last = "f"};
  received.tables["2.sst"] = {
      .bytes = 200, .entries = 7, .range_deletions = 1, .created_s = 1020, .first = "g", .last = "l"};
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
      {"a key without a sequence", [](Received& r) { r.result.tables[0].smallest.resize(1); }},
      {"a sequence of the future", [](Received& r) { r.result.tables[1].largest_sequence = 51; }},
      {"a time before the job", [](Received& r) { r.result.tables[0].created_s = 1008; }},
      {"a time of the future", [](Received& r) { r.result.tables[1].created_s = 1022; }},
      {"a time in a table's properties before the job", [](Received& r) { r.tables["1.sst"].created_s = 1008; }},
      {"a time in a table's properties of the future", [](Received& r) { r.tables["2.sst"].created_s = 1022; }},
      {"an entry less", [](Received& r) { --r.tables["1.sst"].entries; }},
      {"a byte less", [](Received& r) { --r.tables["1.sst"].bytes; }},
      {"an entry that is not accounted for", [](Received& r) { --r.result.replaced; }},
      {"more entries than can have gone in",
       [](Received& r) { r.expected.input_records.reset(), r.expected.entries_max = 12; }},
      {"another number of entries that went in",
       [](Received& r) { r.result.input_records = 14, r.expected.accountable = false; }},
      {"an entry that is not accounted for in a subcompaction",
       [](Received& r) { r.result.input_records = 14, r.expected.input_records.reset(); }},
      {"other entries in a table's properties", [](Received& r) { r.result.tables[0].entries = 5; }},
      {"other range deletions in a table's properties", [](Received& r) { r.result.tables[0].range_deletions = 1; }},
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
    std::vector<std::string> warnings;
    (void)read_settings(file, warnings);
  } catch (const std::runtime_error& error) {
    return std::string(error.what()).substr(file.size() + 1);
  }
  return "";
}

TEST(SettingsFile, names_the_line_and_key_that_it_refuses) {
  EXPECT_EQ(refusal("worker = \"127.0.0.1:1\"\nheartbeat_s = 2.5\n"), "");
  EXPECT_EQ(refusal("worker = \"127.0.0.1:1\"\nwrker = 3\n"),
            "2: wrker: unknown key; the top of the file knows worker, node, token, shared_directory, same_code, "
            "place_timeout_ms, heartbeat_s, standstill_s, job_s_max, tls");
  EXPECT_EQ(refusal("worker = \"127.0.0.1:1\"\n\n[tls]\nco = 3\n"),
            "4: tls.co: unknown key; [tls] knows ca, certificate, key");
  EXPECT_EQ(refusal("worker = 7\n"), "1: worker: expected a string, in quotes");
  for (const char* worker : {"127.0.0.1:99999", "127.0.0.1:0", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:"})
    EXPECT_EQ(refusal("worker = \"" + std::string(worker) + "\"\n"),
              "1: worker: expected HOST:PORT with a port from 1 to 65535")
        << worker;
  EXPECT_EQ(refusal("worker = \"unix:/run/worker.sock\"\nshared_directory = \"/\"\n"), "");
  for (const char* folder : {"data", "/there/is/none"})
    EXPECT_EQ(refusal("worker = \"[::1]:7070\"\nshared_directory = \"" + std::string(folder) + "\"\n"),
              "2: shared_directory: expected the absolute path of an existing folder")
        << folder;
  for (const char* seconds : {"nan", "inf", "-1.0"})
    EXPECT_EQ(refusal("worker = \"127.0.0.1:1\"\nheartbeat_s = " + std::string(seconds) + "\n"),
              "2: heartbeat_s: expected a number, 0 or more")
        << seconds;
  EXPECT_EQ(refusal("worker = \"127.0.0.1:1\"\nheartbeat_s = 0\n"), "2: heartbeat_s: expected seconds, more than 0");
  EXPECT_EQ(refusal("heartbeat_s = 1\n"), " either worker or node is expected");
  EXPECT_NE(refusal("worker = \n"), "");
  EXPECT_EQ(refusal("worker = \"127.0.0.1:1\"\nshared_directory = \"/tmp\"\n"), "");
  EXPECT_EQ(refusal("worker = \"127.0.0.1:1\"\nsame_code = [\"MyMerge\"]\n"), "");
  EXPECT_EQ(refusal("worker = \"127.0.0.1:1\"\nsame_code = \"MyMerge\"\n"), "2: same_code: expected a list of strings");
}

TEST(SettingsFile, hedge_share_of_earlier_versions_gives_a_warning) {
  const test::TemporaryFolder folder;
  const std::string file = folder / "eco.toml";
  std::ofstream(file) << "worker = \"127.0.0.1:1\"\nhedge_share = 0.05\n";
  std::vector<std::string> warnings;
  (void)read_settings(file, warnings);
  EXPECT_EQ(warnings,
            std::vector<std::string>{file + ":2: hedge_share: has no effect, second attempts at late jobs were "
                                            "removed; remove the line"});
}

}  // namespace
