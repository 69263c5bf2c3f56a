#include "mongodb_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace edgejoule::driver {
namespace {

constexpr std::int64_t duplicate_key = 11000;
constexpr std::int64_t write_concern_failed = 64;
constexpr std::int64_t unknown_command = 59;

// The key of the first element of a BSON array.
constexpr const char* first = "0";

int length(std::string_view text) { return static_cast<int>(text.size()); }

std::string_view bytes_of(const bson_iter_t* at) {
  std::uint32_t size = 0;
  if (BSON_ITER_HOLDS_UTF8(at)) {
    const char* const text = bson_iter_utf8(at, &size);
    return {text, size};
  }
  const std::uint8_t* bytes = nullptr;
  bson_iter_binary(at, nullptr, &size, &bytes);
  return {reinterpret_cast<const char*>(bytes), size};
}

bool has_bytes(const bson_iter_t* at) { return BSON_ITER_HOLDS_UTF8(at) || BSON_ITER_HOLDS_BINARY(at); }

}  // namespace

MongoSession::MongoSession(const MongoSettings& settings, ServerCounters& counters)
    : ServerSession(settings.server.reconnect_ms, counters), settings_(settings), connection_(settings) {
  connection_.connect();
}

Status MongoSession::failed(std::string_view operation, std::string_view key, const MongoRefusal& refusal) {
  error_ = fmt::format("mongodb: server at {}: {} of key {}: {} (code {})", settings_.address, operation, key,
                       refusal.message, refusal.code);
  if (refusal.code == duplicate_key) {
    error_ += "; has an earlier run or load inserted it? Drop the collection, or set mongodb.upsert=true";
  }
  if (refusal.code == unknown_command) error_ += "; is this a MongoDB server?";
  return refusal.is_busy() || refusal.code == write_concern_failed ? Status::busy : Status::error;
}

bool MongoSession::append_key(bson_t* to, std::string_view name, std::string_view key) {
  if (settings_.key_type == MongoKeyType::text) {
    append(to, name, key);
    return true;
  }
  if (settings_.key_type == MongoKeyType::blob) {
    return bson_append_binary(to, name.data(), length(name), BSON_SUBTYPE_BINARY,
                              reinterpret_cast<const std::uint8_t*>(key.data()),
                              static_cast<std::uint32_t>(key.size()));
  }
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (failure != std::errc{} || end != key.data() + key.size()) {
    error_ = fmt::format("mongodb: key \"{}\": keytype=integer; expected digits", key);
    return false;
  }
  append(to, name, number);
  return true;
}

bool MongoSession::append_fields(bson_t* to, std::string_view key, Fields fields) {
  for (const auto& field : fields) {
    const auto name = mongo_field(field.name);
    if (!settings_.text_fields) {
      bson_append_binary(to, name.data(), length(name), BSON_SUBTYPE_BINARY,
                         reinterpret_cast<const std::uint8_t*>(field.value.data()),
                         static_cast<std::uint32_t>(field.value.size()));
      continue;
    }
    if (!bson_utf8_validate(field.value.data(), field.value.size(), true)) {
      error_ = fmt::format(
          "mongodb: key {}: field {} is no UTF-8: a string cannot hold it; set fieldtype=blob at load "
          "and run",
          key, name);
      return false;
    }
    append(to, name, field.value);
  }
  return true;
}

bool MongoSession::append_document(bson_t* to, std::string_view key, Fields fields) {
  return append_key(to, "_id", key) && append_fields(to, key, fields);
}

void MongoSession::append_projection(bson_t* to, FieldNames names) {
  if (names.empty()) return;
  bson_t projection;
  bson_append_document_begin(to, "projection", -1, &projection);
  for (const auto name : names) {
    const auto field = mongo_field(name);
    bson_append_int32(&projection, field.data(), length(field), 1);
  }
  bson_append_document_end(to, &projection);
}

void MongoSession::append_terms(bson_t* to) const {
  if (settings_.max_time_ms > 0) append(to, "maxTimeMS", static_cast<std::int64_t>(settings_.max_time_ms));
  if (settings_.read_concern.empty()) return;
  bson_t concern;
  bson_append_document_begin(to, "readConcern", -1, &concern);
  append(&concern, "level", std::string_view(settings_.read_concern));
  bson_append_document_end(to, &concern);
}

Status MongoSession::take_row(const bson_t* document, FieldNames names, Row& row, bool with_key) {
  const auto unexpected = [this](std::string_view what) {
    error_ = fmt::format("mongodb: server at {}: collection {}: {}", settings_.address, settings_.collection, what);
    return Status::unexpected_state;
  };
  row.fields.clear();
  bson_iter_t at;
  if (!bson_iter_init(&at, document)) return unexpected("not a document");
  while (bson_iter_next(&at)) {
    const std::string_view name(bson_iter_key(&at), bson_iter_key_len(&at));
    if (name == "_id") {
      if (!with_key) continue;
      if (BSON_ITER_HOLDS_INT(&at)) {
        keys_.push_back(std::to_string(bson_iter_as_int64(&at)));
        row.key = keys_.back();
        continue;
      }
      if (!has_bytes(&at)) return unexpected("a key that is neither a string, nor binary, nor a number");
      row.key = bytes_of(&at);
      continue;
    }
    if (!has_bytes(&at)) return unexpected(fmt::format("field {} is neither a string nor binary: no record", name));
    row.fields.push_back({settings_.raw_rows ? std::string_view() : name, bytes_of(&at)});
  }
  if (row.fields.size() < names.size()) return unexpected("a record lacks a requested field");
  return Status::ok;
}

Status MongoSession::read(std::string_view key, FieldNames names, Row& row) {
  return guarded("read", key, [&] {
    auto* const command = command_.cleared();
    append(command, "find", std::string_view(settings_.collection));
    bson_t filter;
    bson_append_document_begin(command, "filter", -1, &filter);
    const bool good = append_key(&filter, "_id", key);
    bson_append_document_end(command, &filter);
    if (!good) return Status::error;
    append_projection(command, names);
    bson_append_int32(command, "limit", -1, 1);
    append(command, "singleBatch", true);
    append_terms(command);
    MongoRefusal refusal;
    if (!connection_.ask(settings_.database, command, reply_, refusal)) return failed("read", key, refusal);
    bson_iter_t begin;
    bson_iter_t at;
    bson_t document;
    const std::uint8_t* bytes = nullptr;
    std::uint32_t size = 0;
    if (!bson_iter_init(&begin, reply_.get()) || !bson_iter_find_descendant(&begin, "cursor.firstBatch.0", &at) ||
        !BSON_ITER_HOLDS_DOCUMENT(&at)) {
      return Status::not_found;
    }
    bson_iter_document(&at, &size, &bytes);
    if (!bson_init_static(&document, bytes, size)) return Status::unexpected_state;
    return take_row(&document, names, row, false);
  });
}

Status MongoSession::scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) {
  return guarded("scan", start, [&] {
    keys_.clear();
    rows.clear();
    if (count == 0) return Status::ok;
    MongoDocument filter;
    bson_t range;
    bson_append_document_begin(filter.get(), "_id", -1, &range);
    const bool good = append_key(&range, "$gte", start);
    bson_append_document_end(filter.get(), &range);
    if (!good) return Status::error;
    auto* const options = command_.cleared();
    bson_t sort;
    bson_append_document_begin(options, "sort", -1, &sort);
    bson_append_int32(&sort, "_id", -1, 1);
    bson_append_document_end(options, &sort);
    constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
    const auto limit = static_cast<std::int64_t>(std::min(count, most));
    append(options, "limit", limit);
    append(options, "batchSize", limit);
    append_projection(options, names);
    append_terms(options);
    MongoRefusal refusal;
    if (!connection_.find(filter.get(), options, found_, refusal)) return failed("scan", start, refusal);
    rows.resize(found_.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto status = take_row(found_[i]->get(), names, rows[i], true);
      if (status != Status::ok) return status;
    }
    return Status::ok;
  });
}

// Sends command_, which is a write. touched: number of documents matched or created.
Status MongoSession::ask_to_write(std::string_view operation, std::string_view key, std::int64_t& touched) {
  append(command_.get(), "writeConcern", connection_.write_concern());
  MongoRefusal refusal;
  if (!connection_.ask(settings_.database, command_.get(), reply_, refusal)) return failed(operation, key, refusal);
  if (const auto code = number_at(reply_.get(), "writeErrors.0.code")) {
    return failed(operation, key, {*code, text_at(reply_.get(), "writeErrors.0.errmsg").value_or("no reason given")});
  }
  if (number_at(reply_.get(), "writeConcernError.code")) {
    const auto why = text_at(reply_.get(), "writeConcernError.errmsg").value_or("no reason given");
    return failed(operation, key,
                  {write_concern_failed, "done, but not confirmed as mongodb.w and mongodb.journal require: " + why});
  }
  touched = number_at(reply_.get(), "n").value_or(0);
  return Status::ok;
}

Status MongoSession::write_update(std::string_view operation, std::string_view key, const bson_t* filter,
                                  const bson_t* change, bool upserts, std::int64_t& touched) {
  auto* const command = command_.cleared();
  append(command, "update", std::string_view(settings_.collection));
  bson_t list;
  bson_t update;
  bson_append_array_begin(command, "updates", -1, &list);
  bson_append_document_begin(&list, first, -1, &update);
  append(&update, "q", filter);
  append(&update, "u", change);
  if (upserts) append(&update, "upsert", true);
  bson_append_document_end(&list, &update);
  bson_append_array_end(command, &list);
  return ask_to_write(operation, key, touched);
}

Status MongoSession::update(std::string_view key, Fields fields) {
  return guarded("update", key, [&] {
    MongoDocument filter;
    MongoDocument change;
    bson_t set;
    bson_append_document_begin(change.get(), "$set", -1, &set);
    const bool good = append_fields(&set, key, fields);
    bson_append_document_end(change.get(), &set);
    if (!good || !append_key(filter.get(), "_id", key)) return Status::error;
    std::int64_t touched = 0;
    const auto status = write_update("update", key, filter.get(), change.get(), false, touched);
    return status == Status::ok && touched == 0 ? Status::not_found : status;
  });
}

Status MongoSession::insert(std::string_view key, Fields fields) {
  if (settings_.upserts) return upsert(key, fields);
  return guarded("insert", key, [&] {
    auto* const command = command_.cleared();
    append(command, "insert", std::string_view(settings_.collection));
    bson_t list;
    bson_t document;
    bson_append_array_begin(command, "documents", -1, &list);
    bson_append_document_begin(&list, first, -1, &document);
    const bool good = append_document(&document, key, fields);
    bson_append_document_end(&list, &document);
    bson_append_array_end(command, &list);
    std::int64_t touched = 0;
    return good ? ask_to_write("insert", key, touched) : Status::error;
  });
}

Status MongoSession::upsert(std::string_view key, Fields fields) {
  return guarded("upsert", key, [&] {
    MongoDocument filter;
    MongoDocument document;
    if (!append_key(filter.get(), "_id", key) || !append_document(document.get(), key, fields)) return Status::error;
    std::int64_t touched = 0;
    return write_update("upsert", key, filter.get(), document.get(), true, touched);
  });
}

Status MongoSession::insert_batch(std::span<const Record> records) {
  if (settings_.upserts) return upsert_batch(records);
  if (records.empty()) return Status::ok;
  return guarded("batch", records.front().key, [&] {
    auto batch = connection_.batch(false);
    for (const auto& record : records) {
      auto* const document = command_.cleared();
      if (!append_document(document, record.key, record.fields)) return Status::error;
      batch.insert(document);
    }
    MongoRefusal refusal;
    return connection_.run(batch, refusal) ? Status::ok : failed("batch", records.front().key, refusal);
  });
}

Status MongoSession::upsert_batch(std::span<const Record> records) {
  if (records.empty()) return Status::ok;
  return guarded("batch", records.front().key, [&] {
    auto batch = connection_.batch(true);  // ordered, so that the last record of a key stays
    for (const auto& record : records) {
      MongoDocument filter;
      auto* const document = command_.cleared();
      if (!append_key(filter.get(), "_id", record.key) || !append_document(document, record.key, record.fields)) {
        return Status::error;
      }
      batch.replace(filter.get(), document);
    }
    MongoRefusal refusal;
    return connection_.run(batch, refusal) ? Status::ok : failed("batch", records.front().key, refusal);
  });
}

Status MongoSession::remove(std::string_view key) {
  return guarded("remove", key, [&] {
    auto* const command = command_.cleared();
    append(command, "delete", std::string_view(settings_.collection));
    bson_t list;
    bson_t one;
    bson_t filter;
    bson_append_array_begin(command, "deletes", -1, &list);
    bson_append_document_begin(&list, first, -1, &one);
    bson_append_document_begin(&one, "q", -1, &filter);
    const bool good = append_key(&filter, "_id", key);
    bson_append_document_end(&one, &filter);
    bson_append_int32(&one, "limit", -1, 1);
    bson_append_document_end(&list, &one);
    bson_append_array_end(command, &list);
    std::int64_t touched = 0;
    const auto status = good ? ask_to_write("remove", key, touched) : Status::error;
    return status == Status::ok && touched == 0 ? Status::not_found : status;
  });
}

}  // namespace edgejoule::driver
