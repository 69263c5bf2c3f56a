#include "compaction_text.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <set>
#include <sstream>
#include <stdexcept>

#include "policy.h"

namespace eco {
namespace {

using rocksdb_text::Fields;

constexpr std::uint32_t text_format = 1;

struct Malformed : std::runtime_error {
  using runtime_error::runtime_error;
};

// Fields; one that stays unread is an error.
class Members {
 public:
  explicit Members(std::string_view text) {
    auto parsed = rocksdb_text::fields(text);
    if (!parsed) throw Malformed("its braces or names do not match");
    fields_ = std::move(*parsed);
  }

  const std::string& text(const char* name) {
    const auto found = fields_.find(name);
    if (found == fields_.end()) throw Malformed(fmt::format("{} is missing", name));
    used_.insert(name);
    return found->second;
  }
  template <typename T>
  T number(const char* name) {
    return known(name, rocksdb_text::number<T>(text(name)));
  }
  bool boolean(const char* name) { return known(name, rocksdb_text::boolean(text(name))); }
  std::string bytes(const char* name) { return known(name, rocksdb_text::bytes(text(name))); }
  std::vector<std::string> list(const char* name) { return known(name, rocksdb_text::list(text(name))); }
  Fields fields(const char* name) { return known(name, rocksdb_text::fields(text(name))); }
  void expect_no_more() const {
    for (const auto& [name, value] : fields_)
      if (!used_.contains(name)) throw Malformed(fmt::format("{} is not known", name));
  }

 private:
  template <typename T>
  static T known(const char* name, std::optional<T> value) {
    if (!value) throw Malformed(fmt::format("{} is malformed", name));
    return std::move(*value);
  }

  Fields fields_;
  std::set<std::string, std::less<>> used_;
};

std::string_view body_of(std::string_view text) {
  static_assert(std::endian::native == std::endian::little, "RocksDB writes the lowest byte first");
  std::uint32_t format = 0;
  if (text.size() <= sizeof format) throw Malformed("it is too short");
  std::memcpy(&format, text.data(), sizeof format);
  if (format != text_format) throw Malformed(fmt::format("format {} is not known", format));
  return text.substr(sizeof format);
}

CompactionInput input_of(TextForm form, std::string_view text) {
  Members members(body_of(text));
  CompactionInput input;
  for (const auto& name : members.list("input_files")) {
    auto bytes = rocksdb_text::bytes(name);
    if (!bytes) throw Malformed("input_files is malformed");
    input.files.push_back(std::move(*bytes));
  }
  input.output_level = members.number<int>("output_level");
  input.has_begin = members.boolean("has_begin"), input.has_end = members.boolean("has_end");
  input.begin = members.bytes("begin"), input.end = members.bytes("end");
  if (form == TextForm::rocksdb_7_8) {
    input.db_options = members.fields("db_options");
    Members family(members.text("column_family"));
    input.column_family = family.bytes("name");
    input.cf_options = family.fields("options");
    family.expect_no_more();
  } else {
    input.column_family = members.bytes("cf_name");
    input.options_file = members.number<std::uint64_t>("options_file_number");
  }
  input.has_snapshots = !members.list("snapshots").empty();
  (void)members.bytes("db_id");
  members.expect_no_more();
  return input;
}

// RocksDB reads every member, so each must have its type. names: separated by spaces.
template <typename Read>
void expect(const char* names, Read read) {
  std::istringstream stream(names);
  for (std::string name; stream >> name;) read(name.c_str());
}
void expect_numbers(Members& members, const char* names) {
  expect(names, [&](const char* name) { (void)members.number<std::uint64_t>(name); });
}
void expect_bytes(Members& members, const char* names) {
  expect(names, [&](const char* name) { (void)members.bytes(name); });
}

void read_properties(std::string_view text, OutputTable& table) {
  Members members(text);
  table.entries = members.number<std::uint64_t>("num_entries");
  table.range_deletions = members.number<std::uint64_t>("num_range_deletions");
  expect_numbers(members,
                 "orig_file_number data_size index_size index_partitions top_level_index_size "
                 "index_key_is_user_key index_value_is_delta_encoded filter_size raw_key_size "
                 "raw_value_size num_data_blocks num_filter_entries num_deletions num_merge_operands "
                 "format_version fixed_key_len column_family_id creation_time oldest_key_time "
                 "newest_key_time file_creation_time slow_compression_estimated_data_size "
                 "fast_compression_estimated_data_size external_sst_file_global_seqno_offset "
                 "tail_start_offset user_defined_timestamps_persisted key_largest_seqno");
  expect_bytes(members,
               "db_id db_session_id db_host_id column_family_name filter_policy_name comparator_name "
               "merge_operator_name prefix_extractor_name property_collectors_names compression_name "
               "compression_options seqno_to_time_mapping");
  for (const char* name : {"user_collected_properties", "readable_properties"}) (void)members.fields(name);
  members.expect_no_more();
}

OutputTable table_of(TextForm form, std::string_view text) {
  Members members(text);
  OutputTable table{.name = members.bytes("file_name"),
                    .smallest_sequence = members.number<std::uint64_t>("smallest_seqno"),
                    .largest_sequence = members.number<std::uint64_t>("largest_seqno"),
                    .smallest = members.bytes("smallest_internal_key"),
                    .largest = members.bytes("largest_internal_key"),
                    .unique_id = members.text("unique_id"),
                    .created_s = members.number<std::uint64_t>("file_creation_time")};
  expect_numbers(members, "oldest_ancester_time paranoid_hash");
  (void)members.boolean("marked_for_compaction");
  const auto identity = members.list("unique_id");
  if (identity.size() != 2) throw Malformed("unique_id is malformed");
  for (const auto& half : identity)
    if (!rocksdb_text::number<std::uint64_t>(half)) throw Malformed("unique_id is malformed");
  if (form == TextForm::rocksdb_9_10) {
    (void)members.number<std::uint64_t>("epoch_number");
    expect_bytes(members, "file_checksum file_checksum_func_name");
    read_properties(members.text("table_properties"), table);
  }
  members.expect_no_more();
  return table;
}

void read_stats(TextForm form, std::string_view text, CompactionResult& result) {
  Members members(text);
  result.replaced = members.number<std::uint64_t>("num_records_replaced");
  result.expired = members.number<std::uint64_t>("num_expired_deletion_records");
  result.single_delete_mismatches = members.number<std::uint64_t>("num_single_del_mismatch");
  result.corrupt_keys = members.number<std::uint64_t>("num_corrupt_keys");
  const auto input_records = members.number<std::uint64_t>("num_input_records");
  const auto records = members.number<std::uint64_t>("num_output_records");
  const auto bytes = members.number<std::uint64_t>("total_output_bytes");
  if (form == TextForm::rocksdb_9_10) {
    result.input_records = input_records, result.records = records, result.bytes = bytes;
    if (!members.boolean("is_remote_compaction")) throw Malformed("it is of no remote compaction");
  }
  expect_numbers(members,
                 "elapsed_micros cpu_micros num_blobs_read num_input_files num_input_files_at_output_level "
                 "num_output_files_blob total_input_bytes total_blob_bytes_read total_output_bytes_blob "
                 "total_input_raw_key_bytes total_input_raw_value_bytes num_input_deletion_records "
                 "file_write_nanos file_range_sync_nanos file_fsync_nanos file_prepare_write_nanos "
                 "num_output_files num_single_del_fallthru");
  for (const char* name : {"is_full_compaction", "is_manual_compaction"}) (void)members.boolean(name);
  expect_bytes(members, "smallest_output_key_prefix largest_output_key_prefix");
  members.expect_no_more();
}

CompactionResult result_of(TextForm form, std::string_view text) {
  Members members(body_of(text));
  CompactionResult result;
  Members status(members.text("status"));
  result.code = status.number<int>("code");
  result.message = status.bytes("message");
  (void)status.number<int>("subcode");
  (void)status.number<int>("severity");
  status.expect_no_more();
  for (const auto& table : members.list("output_files")) result.tables.push_back(table_of(form, table));
  result.output_level = members.number<int>("output_level");
  result.folder = members.bytes("output_path");
  expect_numbers(members, "bytes_read bytes_written");
  if (form == TextForm::rocksdb_7_8) {
    result.records = members.number<std::uint64_t>("num_output_records");
    result.bytes = members.number<std::uint64_t>("total_bytes");
  }
  read_stats(form, members.text("stats"), result);
  members.expect_no_more();
  return result;
}

template <typename Read>
auto read(Read reader, TextForm form, std::string_view text, std::string& why)
    -> std::optional<decltype(reader(form, text))> {
  try {
    return reader(form, text);
  } catch (const Malformed& malformed) {
    why = malformed.what();
    return std::nullopt;
  }
}

}  // namespace

std::optional<TextForm> text_form(std::string_view release) {
  if (same_release(release, "7.8")) return TextForm::rocksdb_7_8;
  if (same_release(release, "9.10")) return TextForm::rocksdb_9_10;
  return std::nullopt;
}

std::optional<CompactionInput> read_input(TextForm form, std::string_view text, std::string& why) {
  return read(input_of, form, text, why);
}

std::optional<CompactionResult> read_result(TextForm form, std::string_view text, std::string& why) {
  return read(result_of, form, text, why);
}

}  // namespace eco
