// A client thread's connection to MongoDB. A record is a document with its key as _id, as in YCSB's binding.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "adapters/server/server_session.h"
#include "connection.h"

namespace edgejoule::driver {

class MongoSession final : public ServerSession {
 public:
  // Throws DatabaseError. Settings and counters must outlive the session.
  MongoSession(const MongoSettings& settings, ServerCounters& counters);

  Status read(std::string_view key, FieldNames names, Row& row) override;
  Status scan(std::string_view start, std::uint64_t count, FieldNames names, std::vector<Row>& rows) override;
  Status update(std::string_view key, Fields fields) override;
  Status insert(std::string_view key, Fields fields) override;
  Status upsert(std::string_view key, Fields fields) override;
  Status insert_batch(std::span<const Record> records) override;
  Status upsert_batch(std::span<const Record> records) override;
  Status remove(std::string_view key) override;

 private:
  void connect(std::uint64_t /*time_limit_ms*/) override { connection_.connect(); }

  bool append_key(bson_t* to, std::string_view name, std::string_view key);
  bool append_fields(bson_t* to, std::string_view key, Fields fields);
  bool append_document(bson_t* to, std::string_view key, Fields fields);
  static void append_projection(bson_t* to, FieldNames names);
  void append_terms(bson_t* to) const;
  Status take_row(const bson_t* document, FieldNames names, Row& row, bool with_key);
  Status ask_to_write(std::string_view operation, std::string_view key, std::int64_t& touched);
  Status write_update(std::string_view operation, std::string_view key, const bson_t* filter, const bson_t* change,
                      bool upserts, std::int64_t& touched);
  Status failed(std::string_view operation, std::string_view key, const MongoRefusal& refusal);

  const MongoSettings& settings_;
  MongoConnection connection_;
  MongoDocument command_;
  MongoDocument reply_;           // the last row points into it
  MongoDocuments found_;          // the rows of the last scan point into it
  std::deque<std::string> keys_;  // keys of these rows, if they are numbers
};

}  // namespace edgejoule::driver
