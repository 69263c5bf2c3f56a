// A connection to one MongoDB server or to a replica set. Every wait has a time limit.
#pragma once

#include <mongoc/mongoc.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/server/lost_server.h"
#include "document.h"
#include "settings.h"

namespace edgejoule::driver {

// A refusal by the server, with its message and error code.
struct MongoRefusal {
  std::int64_t code = 0;
  std::string message;

  [[nodiscard]] bool is_busy() const;  // a retry may succeed
};

using MongoDocuments = std::vector<std::unique_ptr<MongoDocument>>;

class MongoConnection {
 public:
  explicit MongoConnection(const MongoSettings& settings);

  // Connects or reconnects. Throws DatabaseError.
  void connect();

  // Sends a command once, without retry. Returns false if the server refused it. These functions throw LostServer if
  // there was no answer.
  [[nodiscard]] bool ask(const std::string& database, const bson_t* command, MongoDocument& reply,
                         MongoRefusal& refusal);
  // Returns all documents of a find in the collection, with several requests if necessary.
  [[nodiscard]] bool find(const bson_t* filter, const bson_t* options, MongoDocuments& found, MongoRefusal& refusal);

  // A batch of writes, split if it exceeds the size of a message.
  class Batch {
   public:
    void insert(const bson_t* document);
    void replace(const bson_t* filter, const bson_t* document);  // or insert

   private:
    friend class MongoConnection;
    struct Destroy {
      void operator()(mongoc_bulk_operation_t* bulk) const { mongoc_bulk_operation_destroy(bulk); }
    };
    std::unique_ptr<mongoc_bulk_operation_t, Destroy> bulk_;
    bson_error_t error_{};
    bool failed_ = false;
  };
  [[nodiscard]] Batch batch(bool ordered);
  [[nodiscard]] bool run(Batch& batch, MongoRefusal& refusal);

  [[nodiscard]] const bson_t* write_concern() const { return write_concern_.get(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct DestroyClient {
    void operator()(mongoc_client_t* client) const { mongoc_client_destroy(client); }
  };
  struct DestroyCollection {
    void operator()(mongoc_collection_t* collection) const { mongoc_collection_destroy(collection); }
  };
  struct DestroyPreference {
    void operator()(mongoc_read_prefs_t* preference) const { mongoc_read_prefs_destroy(preference); }
  };

  // Returns the server's refusal. Throws LostServer if the error is not an answer of the server.
  [[nodiscard]] MongoRefusal refused(const bson_error_t& error, Clock::time_point begin);

  const MongoSettings& settings_;
  std::unique_ptr<mongoc_read_prefs_t, DestroyPreference> preference_;
  MongoDocument write_concern_;
  std::unique_ptr<mongoc_client_t, DestroyClient> client_;
  std::unique_ptr<mongoc_collection_t, DestroyCollection> collection_;  // destroyed before its client
};

}  // namespace edgejoule::driver
