// A client thread's connection to Redis. A record is a hash under its key, as in YCSB's binding.
#pragma once

#include <string>
#include <vector>

#include "adapters/server/server_session.h"
#include "connection.h"

namespace edgejoule::driver {

inline constexpr std::string_view redis_index_key = "_indices";

// Equals java.lang.String.hashCode, which YCSB uses as the score of a key.
[[nodiscard]] std::int32_t java_hash(std::string_view key);

class RedisSession final : public ServerSession {
 public:
  // Throws DatabaseError. Settings and counters must outlive the session.
  RedisSession(const RedisSettings& settings, ServerCounters& counters);

  Status read(std::string_view key, FieldNames names, Row& row) override;
  Status scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) override;
  Status update(std::string_view key, Fields fields) override;
  Status insert(std::string_view key, Fields fields) override;
  Status upsert(std::string_view key, Fields fields) override;
  Status insert_batch(std::span<const Record> records) override;
  Status upsert_batch(std::span<const Record> records) override;
  Status remove(std::string_view key) override;

 private:
  using Arguments = std::vector<std::string_view>;

  void connect(std::uint64_t time_limit_ms) override { connection_.connect(time_limit_ms); }

  void ask_for_row(std::string_view key, FieldNames names);
  Status take_row(std::string_view key, FieldNames names, const redisReply& reply, std::vector<Field>& fields);
  Status update_now(std::string_view key, Fields fields);
  Status scan_now(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows);
  bool undo_if_new(std::string_view key, Fields fields, Status& status);
  std::size_t append_insert(std::string_view key, Fields fields);
  std::size_t append_upsert(std::string_view key, Fields fields);
  std::size_t append_index(std::string_view key);
  void append_wait();
  Status check_wait(std::string_view operation, std::string_view key);
  Status finish_writes(std::string_view operation, std::string_view key, std::size_t replies);
  Status failed(std::string_view operation, std::string_view key, const redisReply& reply);

  const RedisSettings& settings_;
  RedisConnection connection_;
  RedisReply reply_;                 // the last row points into it
  std::vector<RedisReply> replies_;  // the rows of the last scan point into them
  Arguments arguments_;
};

}  // namespace edgejoule::driver
