#include "redis_session.h"

#include <fmt/format.h>

#include <algorithm>

namespace edgejoule::driver {
namespace {

// Undoes an update that created a missing record: removes it, unless another client has inserted it meanwhile. Returns
// 1 if the record existed.
constexpr std::string_view undo_script =
    "if redis.call('HLEN',KEYS[1])~=#ARGV/2 then return 1 end "
    "for i=1,#ARGV,2 do if redis.call('HGET',KEYS[1],ARGV[i])~=ARGV[i+1] then return 1 end end "
    "redis.call('DEL',KEYS[1]) return 0";

bool is_error(const redisReply& reply) { return reply.type == REDIS_REPLY_ERROR; }

}  // namespace

std::int32_t java_hash(std::string_view key) {
  std::uint32_t hash = 0;
  for (const char letter : key) hash = 31 * hash + static_cast<unsigned char>(letter);
  return static_cast<std::int32_t>(hash);
}

RedisSession::RedisSession(const RedisSettings& settings, ServerCounters& counters)
    : ServerSession(settings.server.reconnect_ms, counters), settings_(settings), connection_(settings) {
  connection_.connect();
}

Status RedisSession::failed(std::string_view operation, std::string_view key, const redisReply& reply) {
  const auto message = text_of(reply);
  error_ = fmt::format("Redis at {}: {} of key {}: {}", settings_.server.address(), operation, key, message);
  if (message.starts_with("WRONGTYPE")) {
    error_ += "; its value is not a record";
    return Status::unexpected_state;
  }
  if (message.starts_with("MOVED") || message.starts_with("CROSSSLOT"))
    error_ += "; this adapter does not support Redis Cluster";
  if (message.starts_with("OOM")) error_ += "; raise its maxmemory, or load fewer records";
  const bool busy = message.starts_with("LOADING") || message.starts_with("BUSY") || message.starts_with("TRYAGAIN");
  return busy ? Status::busy : Status::error;
}

void RedisSession::ask_for_row(std::string_view key, FieldNames names) {
  arguments_.assign({names.empty() ? "HGETALL" : "HMGET", key});
  arguments_.insert(arguments_.end(), names.begin(), names.end());
  connection_.append(arguments_);
}

// Returns not_found if there is no record, or if it has none of the requested fields.
Status RedisSession::take_row(std::string_view key, FieldNames names, const redisReply& reply,
                              std::vector<Field>& fields) {
  if (is_error(reply)) return failed("read", key, reply);
  const auto elements = std::span(reply.element, reply.elements);
  fields.clear();
  if (names.empty()) {
    for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
      fields.push_back({text_of(*elements[i]), text_of(*elements[i + 1])});
    }
    return fields.empty() ? Status::not_found : Status::ok;
  }
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i]->type == REDIS_REPLY_STRING) fields.push_back({names[i], text_of(*elements[i])});
  }
  if (fields.empty()) return Status::not_found;
  if (fields.size() == names.size()) return Status::ok;
  error_ = fmt::format("Redis at {}: row of key {} lacks a requested field", settings_.server.address(), key);
  return Status::unexpected_state;
}

Status RedisSession::read(std::string_view key, FieldNames names, Row& row) {
  return guarded("read", key, [&] {
    ask_for_row(key, names);
    reply_ = connection_.next();
    return take_row(key, names, *reply_, row.fields);
  });
}

Status RedisSession::scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) {
  if (settings_.index == RedisIndex::none) {
    error_ = "Redis: redis.index=none keeps no index for scans; load with redis.index=ycsb or ordered";
    return Status::error;
  }
  return guarded("scan", start, [&] { return scan_now(start, count, names, rows); });
}

Status RedisSession::scan_now(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) {
  const bool ordered = settings_.index == RedisIndex::ordered;
  const auto first = ordered ? fmt::format("[{}", start) : std::to_string(java_hash(start));
  const auto limit = std::to_string(std::min<std::uint64_t>(count, 1ULL << 40U));
  reply_ = connection_.ask(
      {ordered ? "ZRANGEBYLEX" : "ZRANGEBYSCORE", redis_index_key, first, ordered ? "+" : "+inf", "LIMIT", "0", limit});
  if (is_error(*reply_)) return failed("scan", start, *reply_);
  const auto keys = std::span(reply_->element, reply_->elements);
  for (const auto* const key : keys) ask_for_row(text_of(*key), names);
  replies_.clear();
  for (std::size_t i = 0; i < keys.size(); ++i) replies_.push_back(connection_.next());
  rows.resize(keys.size());
  std::size_t found = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto key = text_of(*keys[i]);
    const auto status = take_row(key, names, *replies_[i], rows[found].fields);
    if (status == Status::not_found) continue;  // removed after the index was read
    if (status != Status::ok) return status;
    rows[found++].key = key;
  }
  rows.resize(found);
  return Status::ok;
}

Status RedisSession::update(std::string_view key, Fields fields) {
  return guarded("update", key, [&] { return update_now(key, fields); });
}

Status RedisSession::update_now(std::string_view key, Fields fields) {
  arguments_.assign({"HSET", key});
  for (const auto& field : fields) arguments_.insert(arguments_.end(), {field.name, field.value});
  connection_.append(arguments_);
  append_wait();
  const auto reply = connection_.next();
  const auto waited = check_wait("update", key);
  if (is_error(*reply)) return failed("update", key, *reply);
  const bool all_new = reply->integer == static_cast<long long>(fields.size());
  auto status = Status::ok;
  if (all_new && undo_if_new(key, fields, status)) return status;
  return waited;
}

void RedisSession::append_wait() {
  if (settings_.wait_replicas == 0) return;
  connection_.append({"WAIT", std::to_string(settings_.wait_replicas), std::to_string(settings_.wait_timeout_ms)});
}

// Checks the reply to append_wait().
Status RedisSession::check_wait(std::string_view operation, std::string_view key) {
  if (settings_.wait_replicas == 0) return Status::ok;
  const auto reply = connection_.next();
  if (is_error(*reply)) return failed(operation, key, *reply);
  if (reply->integer >= static_cast<long long>(settings_.wait_replicas)) return Status::ok;
  error_ = fmt::format("Redis at {}: {} of key {}: {} of {} replicas confirmed it within {} ms (redis.wait_timeout_ms)",
                       settings_.server.address(), operation, key, reply->integer, settings_.wait_replicas,
                       settings_.wait_timeout_ms);
  return Status::busy;
}

// Returns true if the record did not exist and has been removed, or if the script failed.
bool RedisSession::undo_if_new(std::string_view key, Fields fields, Status& status) {
  arguments_.assign({"EVAL", undo_script, "1", key});
  for (const auto& field : fields) arguments_.insert(arguments_.end(), {field.name, field.value});
  connection_.append(arguments_);
  const auto reply = connection_.next();
  if (is_error(*reply)) {
    status = failed("update", key, *reply);
    return true;
  }
  if (reply->integer == 1) return false;
  status = Status::not_found;
  return true;
}

std::size_t RedisSession::append_index(std::string_view key) {
  if (settings_.index == RedisIndex::none) return 0;
  const auto score = settings_.index == RedisIndex::ycsb ? std::to_string(java_hash(key)) : std::string("0");
  connection_.append({"ZADD", redis_index_key, score, key});
  return 1;
}

std::size_t RedisSession::append_insert(std::string_view key, Fields fields) {
  arguments_.assign({"HSET", key});
  for (const auto& field : fields) arguments_.insert(arguments_.end(), {field.name, field.value});
  connection_.append(arguments_);
  return 1 + append_index(key);
}

std::size_t RedisSession::append_upsert(std::string_view key, Fields fields) {
  connection_.append({"MULTI"});
  connection_.append({"DEL", key});
  const auto writes = append_insert(key, fields);
  connection_.append({"EXEC"});
  return 3 + writes;
}

// Returns the first failure among the replies to all appended commands.
Status RedisSession::finish_writes(std::string_view operation, std::string_view key, std::size_t replies) {
  append_wait();
  auto status = Status::ok;
  for (std::size_t i = 0; i < replies; ++i) {
    const auto reply = connection_.next();
    if (status != Status::ok) continue;
    if (is_error(*reply)) status = failed(operation, key, *reply);
    const bool transaction = reply->type == REDIS_REPLY_ARRAY;
    for (std::size_t part = 0; transaction && part < reply->elements; ++part) {
      if (status == Status::ok && is_error(*reply->element[part])) {
        status = failed(operation, key, *reply->element[part]);
      }
    }
  }
  const auto error = error_;
  const auto waited = check_wait(operation, key);
  if (status == Status::ok) return waited;
  error_ = error;  // the error of the write itself
  return status;
}

Status RedisSession::insert(std::string_view key, Fields fields) {
  return guarded("insert", key, [&] { return finish_writes("insert", key, append_insert(key, fields)); });
}

Status RedisSession::upsert(std::string_view key, Fields fields) {
  return guarded("upsert", key, [&] { return finish_writes("upsert", key, append_upsert(key, fields)); });
}

Status RedisSession::insert_batch(std::span<const Record> records) {
  if (records.empty()) return Status::ok;
  return guarded("batch", records.front().key, [&] {
    std::size_t replies = 0;
    for (const auto& record : records) replies += append_insert(record.key, record.fields);
    return finish_writes("batch", records.front().key, replies);
  });
}

Status RedisSession::upsert_batch(std::span<const Record> records) {
  if (records.empty()) return Status::ok;
  return guarded("batch", records.front().key, [&] {
    std::size_t replies = 0;
    for (const auto& record : records) replies += append_upsert(record.key, record.fields);
    return finish_writes("batch", records.front().key, replies);
  });
}

Status RedisSession::remove(std::string_view key) {
  return guarded("remove", key, [&] {
    connection_.append({"DEL", key});
    const bool indexed = settings_.index != RedisIndex::none;
    if (indexed) connection_.append({"ZREM", redis_index_key, key});
    const auto removed = connection_.next();
    const auto status = finish_writes("remove", key, indexed ? 1 : 0);
    if (is_error(*removed)) return failed("remove", key, *removed);
    if (status != Status::ok) return status;
    return removed->integer > 0 ? Status::ok : Status::not_found;
  });
}

}  // namespace edgejoule::driver
