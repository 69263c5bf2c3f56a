#include "compaction_text.h"

#include <fmt/format.h>

#include <cstring>
#include <set>
#include <stdexcept>

#include "policy.h"

namespace eco {
namespace {

using rocksdb_text::Fields;

constexpr std::uint32_t text_format = 1;

struct Malformed : std::runtime_error {
  using runtime_error::runtime_error;
};

// Fields of which each has to be used.
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
  void ignore(std::initializer_list<const char*> names) {
    for (const char* name : names) (void)text(name);
  }
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
  std::uint32_t format = 0;
  if (text.size() <= sizeof format) throw Malformed("it is too short");
  std::memcpy(&format, text.data(), sizeof format);
  if (format != text_format) throw Malformed(fmt::format("format {} is not known", format));
  return text.substr(sizeof format);
}

CompactionInput input_of(std::string_view text) {
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
  input.db_options = members.fields("db_options");
  Members family(members.text("column_family"));
  input.column_family = family.bytes("name");
  input.cf_options = family.fields("options");
  family.expect_no_more();
  input.has_snapshots = !members.list("snapshots").empty();
  members.ignore({"db_id"});
  members.expect_no_more();
  return input;
}

OutputTable table_of(std::string_view text) {
  Members members(text);
  OutputTable table{.name = members.bytes("file_name"),
                    .smallest_sequence = members.number<std::uint64_t>("smallest_seqno"),
                    .largest_sequence = members.number<std::uint64_t>("largest_seqno"),
                    .smallest = members.bytes("smallest_internal_key"),
                    .largest = members.bytes("largest_internal_key"),
                    .unique_id = members.text("unique_id")};
  (void)members.number<std::uint64_t>("oldest_ancester_time");
  (void)members.number<std::uint64_t>("file_creation_time");
  (void)members.number<std::uint64_t>("paranoid_hash");
  (void)members.boolean("marked_for_compaction");
  members.expect_no_more();
  return table;
}

CompactionResult result_of(std::string_view text) {
  Members members(body_of(text));
  CompactionResult result;
  Members status(members.text("status"));
  result.code = status.number<int>("code");
  result.message = status.bytes("message");
  (void)status.number<int>("subcode");
  (void)status.number<int>("severity");
  status.expect_no_more();
  for (const auto& table : members.list("output_files")) result.tables.push_back(table_of(table));
  result.output_level = members.number<int>("output_level");
  result.folder = members.bytes("output_path");
  result.records = members.number<std::uint64_t>("num_output_records");
  result.bytes = members.number<std::uint64_t>("total_bytes");
  (void)members.number<std::uint64_t>("bytes_read");
  (void)members.number<std::uint64_t>("bytes_written");
  Members stats(members.text("stats"));
  result.replaced = stats.number<std::uint64_t>("num_records_replaced");
  result.expired = stats.number<std::uint64_t>("num_expired_deletion_records");
  result.single_delete_mismatches = stats.number<std::uint64_t>("num_single_del_mismatch");
  result.corrupt_keys = stats.number<std::uint64_t>("num_corrupt_keys");
  members.expect_no_more();
  return result;
}

template <typename Read>
auto read(Read reader, std::string_view text, std::string& why) -> std::optional<decltype(reader(text))> {
  try {
    return reader(text);
  } catch (const Malformed& malformed) {
    why = malformed.what();
    return std::nullopt;
  }
}

}  // namespace

bool texts_known(std::string_view release) { return same_release(release, "7.8"); }

std::optional<CompactionInput> read_input(std::string_view text, std::string& why) { return read(input_of, text, why); }

std::optional<CompactionResult> read_result(std::string_view text, std::string& why) {
  return read(result_of, text, why);
}

}  // namespace eco
