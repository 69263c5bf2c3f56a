#include "rocksdb_session.h"

#include <fmt/format.h>

#include <memory>

namespace edgejoule::driver {
namespace {

rocksdb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

bool is_retryable(const rocksdb::Status& status) {
  return status.IsBusy() || status.IsTryAgain() || status.IsTimedOut();
}

}  // namespace

Status RocksDbSession::outcome(const rocksdb::Status& status, std::string_view operation, std::string_view key) {
  if (status.ok()) return Status::ok;
  if (status.IsNotFound()) return Status::not_found;
  set_error(fmt::format("RocksDB: {} of key {}: {}", operation, key, status.ToString()));
  return is_retryable(status) ? Status::busy : Status::error;
}

Status RocksDbSession::fetch(std::string_view key, std::string_view& value) {
  value_.Reset();
  const rocksdb::Status status = db_.Get(read_, &rows_, slice(key), &value_);
  value = {value_.data(), value_.size()};
  return outcome(status, "read", key);
}

Status RocksDbSession::put(std::string_view key, std::string_view value) {
  return outcome(db_.Put(write_, &rows_, slice(key), slice(value)), "write", key);
}

Status RocksDbSession::erase(std::string_view key) {
  return outcome(db_.Delete(write_, &rows_, slice(key)), "remove", key);
}

Status RocksDbSession::collect(std::string_view start, std::uint64_t count, ScanBuffer& entries) {
  const std::unique_ptr<rocksdb::Iterator> cursor(db_.NewIterator(read_, &rows_));
  cursor->Seek(slice(start));
  copy(*cursor, count, entries);
  return outcome(cursor->status(), "scan", start);
}

void RocksDbSession::add_to_batch(std::string_view key, std::string_view value) {
  const rocksdb::Status added = batch_.Put(&rows_, slice(key), slice(value));
  if (!added.ok()) batch_status_ = added;
}

Status RocksDbSession::write_batch(std::string_view first_key) {
  const rocksdb::Status added = std::exchange(batch_status_, rocksdb::Status::OK());
  return outcome(added.ok() ? db_.Write(write_, &batch_) : added, "batch write from", first_key);
}

}  // namespace edgejoule::driver
