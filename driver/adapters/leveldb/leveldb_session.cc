#include "leveldb_session.h"

#include <fmt/format.h>

#include <memory>

namespace edgejoule::driver {
namespace {

leveldb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

Status LevelDbSession::outcome(const leveldb::Status& status, std::string_view operation, std::string_view key) {
  if (status.ok()) return Status::ok;
  if (status.IsNotFound()) return Status::not_found;
  set_error(fmt::format("LevelDB: {} of key {}: {}", operation, key, status.ToString()));
  return Status::error;
}

Status LevelDbSession::fetch(std::string_view key, std::string_view& value) {
  const leveldb::Status status = db_.Get(read_, slice(key), &value_);
  value = value_;
  return outcome(status, "read", key);
}

Status LevelDbSession::put(std::string_view key, std::string_view value) {
  return outcome(db_.Put(write_, slice(key), slice(value)), "write", key);
}

Status LevelDbSession::erase(std::string_view key) { return outcome(db_.Delete(write_, slice(key)), "remove", key); }

Status LevelDbSession::collect(std::string_view start, std::uint64_t count, ScanBuffer& entries) {
  const std::unique_ptr<leveldb::Iterator> cursor(db_.NewIterator(read_));
  cursor->Seek(slice(start));
  copy(*cursor, count, entries);
  return outcome(cursor->status(), "scan", start);
}

void LevelDbSession::add_to_batch(std::string_view key, std::string_view value) {
  batch_.Put(slice(key), slice(value));
}

Status LevelDbSession::write_batch(std::string_view first_key) {
  return outcome(db_.Write(write_, &batch_), "batch write", first_key);
}

}  // namespace edgejoule::driver
