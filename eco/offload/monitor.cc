#include "monitor.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace eco {
namespace {

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The result of an offloaded job does not name the blob files that its tables refer to; RocksDB would delete them.
bool has_blob_files(rocksdb::DB& db, const std::string& column_family) {
  std::vector<rocksdb::ColumnFamilyMetaData> families;
  db.GetAllColumnFamilyMetaData(&families);
  return std::ranges::any_of(
      families, [&](const auto& family) { return family.name == column_family && family.blob_file_count > 0; });
}

// Reasons against offloading that a job's options do not show.
std::string unsuited(rocksdb::DB& db, const rocksdb::DBOptions& options, const std::string& column_family) {
  if (std::string elsewhere = tables_elsewhere(options.db_paths, db.GetName()); !elsewhere.empty()) return elsewhere;
  if (options.allow_2pc) return "it has transactions";
  if (has_blob_files(db, column_family)) return "it has blob files";
  return "";
}

struct LevelZeroNow {
  double files = 0, memtable = 0;
};

LevelZeroNow level_zero_now(rocksdb::DB& db, const std::string& column_family) {
  LevelZeroNow now;
  if (column_family == rocksdb::kDefaultColumnFamilyName) {
    std::string text;
    std::uint64_t bytes = 0;
    if (db.GetProperty(rocksdb::DB::Properties::kNumFilesAtLevelPrefix + "0", &text)) now.files = std::stod(text);
    const auto buffer = db.GetOptions().write_buffer_size;
    if (db.GetIntProperty(rocksdb::DB::Properties::kCurSizeActiveMemTable, &bytes) && buffer > 0)
      now.memtable = std::min(1.0, static_cast<double>(bytes) / static_cast<double>(buffer));
    return now;
  }
  std::vector<rocksdb::ColumnFamilyMetaData> families;
  db.GetAllColumnFamilyMetaData(&families);
  for (const auto& family : families)
    if (family.name == column_family && !family.levels.empty())
      now.files = static_cast<double>(family.levels.front().files.size());
  return now;
}

}  // namespace

std::string tables_elsewhere(const std::vector<rocksdb::DbPath>& paths, const std::string& database) {
  for (const auto& path : paths)
    if (path.path != database) return "its tables lie in another folder: " + path.path;
  return "";
}

std::string codec_name(rocksdb::CompressionType type) {
  switch (type) {
    case rocksdb::kNoCompression:
      return "NoCompression";
    case rocksdb::kSnappyCompression:
      return "Snappy";
    case rocksdb::kZlibCompression:
      return "Zlib";
    case rocksdb::kBZip2Compression:
      return "BZip2";
    case rocksdb::kLZ4Compression:
      return "LZ4";
    case rocksdb::kLZ4HCCompression:
      return "LZ4HC";
    case rocksdb::kXpressCompression:
      return "Xpress";
    case rocksdb::kZSTD:
      return "ZSTD";
    default:
      return "other";
  }
}

void Monitor::on_flush(rocksdb::DB& db, const rocksdb::FlushJobInfo& info) {
  observe(db, info.cf_name, 1, level_zero_now(db, info.cf_name).memtable);
}

void Monitor::observe(rocksdb::DB& db, const std::string& column_family, std::uint64_t flushes, double memtable) {
  const std::lock_guard lock(mutex_);
  Input& input = inputs_[{db.GetName(), column_family}];
  input.flushed += 1000 * flushes;
  input.rate.observe(now_s(), input.flushed + static_cast<std::uint64_t>(1000 * memtable));
}

LevelZero Monitor::level_zero(rocksdb::DB& db, const std::string& column_family) {
  const LevelZeroNow now = level_zero_now(db, column_family);
  observe(db, column_family, 0, now.memtable);
  const std::lock_guard lock(mutex_);
  return {.files = now.files + now.memtable, .files_s = inputs_[{db.GetName(), column_family}].rate.bytes_s() / 1000};
}

void Monitor::on_begin(rocksdb::DB& db, const rocksdb::CompactionJobInfo& info) {
  if (info.base_input_level != 0) return;
  Begun begun;
  begun.db = &db, begun.column_family = info.cf_name;
  begun.level = info.base_input_level, begun.output_level = info.output_level;
  begun.features.codec = codec_name(info.compression);
  begun.input_records = 0, begun.countable = true;
  begun.level_zero = level_zero(db, info.cf_name);
  begun.files = db.GetEnv()->GetFileSystem();
  begun.log = db.GetDBOptions().info_log;
  begun.latest_sequence = db.GetLatestSequenceNumber();
  rocksdb::Options options = db.GetOptions();
  options.listeners.clear(), options.compaction_service.reset();  // they own this object: a cycle would leak it
  begun.default_options = std::make_shared<const rocksdb::Options>(std::move(options));
  begun.unsuited = unsuited(db, *begun.default_options, info.cf_name);
  for (const auto& path : info.input_files) {
    std::uint64_t bytes = 0;
    if (begun.files->GetFileSize(path, {}, &bytes, nullptr).ok()) begun.features.input_bytes += bytes;
    const auto found = info.table_properties.find(path);
    if (found == info.table_properties.end()) {
      begun.input_records.reset(), begun.countable = false;
      continue;
    }
    const auto& properties = *found->second;
    begun.features.input_entries += properties.num_entries;
    if (begun.input_records) *begun.input_records += properties.num_entries - properties.num_range_deletions;
    if (properties.num_range_deletions > 0) begun.range_deletions = true;
    if (properties.num_range_deletions > 0 || properties.num_merge_operands > 0) begun.countable = false;
    if (!path.starts_with(db.GetName() + '/')) begun.unsuited = "its tables lie in another folder";
  }
  const std::lock_guard lock(mutex_);
  begun_[{db.GetName(), info.job_id}] = std::move(begun);
}

void Monitor::on_end(rocksdb::DB& db, const rocksdb::CompactionJobInfo& info) {
  const std::lock_guard lock(mutex_);
  begun_.erase({db.GetName(), info.job_id});
}

std::optional<Begun> Monitor::begun(const std::string& database, int job) const {
  const std::lock_guard lock(mutex_);
  const auto found = begun_.find({database, job});
  if (found == begun_.end()) return std::nullopt;
  return found->second;
}

}  // namespace eco
