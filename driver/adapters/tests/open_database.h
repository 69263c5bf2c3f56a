// Shared by the tests of every adapter: test rows, a database in a temporary directory, its events.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/registry.h"
#include "contract/adapter.h"
#include "contract/properties.h"
#include "temporary_directory.h"
#ifdef EDGEJOULE_SERVER_TESTS
#include "servers/test_server.h"
#endif

namespace edgejoule::driver {

[[nodiscard]] inline bool is_server(std::string_view adapter) {
  return adapter == "mongodb" || adapter == "postgres" || adapter == "redis";
}

// All adapters except noop: in the driver's process, or in server_tests those with a server.
[[nodiscard]] inline std::vector<std::string> keeping_adapters() {
#ifdef EDGEJOULE_SERVER_TESTS
  constexpr bool servers = true;
#else
  constexpr bool servers = false;
#endif
  std::vector<std::string> names;
  for (const AdapterInfo& adapter : adapters()) {
    if (adapter.name != "noop" && is_server(adapter.name) == servers) names.push_back(adapter.name);
  }
  return names;
}

// Of these, the ones with a separate write-ahead log file, which settling writes back. (lunar's log is inside the
// image: lunar_test.cc.)
[[nodiscard]] inline std::vector<std::string> logging_adapters() {
  std::vector<std::string> names = keeping_adapters();
  std::erase(names, "lmdb");
  std::erase(names, "lunar");
  std::erase_if(names, is_server);
  return names;
}

// A row of ten fields whose values contain the key, the field and a version.
class TestRow {
 public:
  static constexpr int field_count = 10;

  explicit TestRow(std::string_view key, int version = 0, std::size_t value_bytes = 20) {
    for (int index = 0; index < field_count; ++index) {
      names_.push_back("field" + std::to_string(index));
      values_.push_back(value(key, index, version, value_bytes));
    }
    for (int index = 0; index < field_count; ++index) {
      fields_.push_back({names_[static_cast<std::size_t>(index)], values_[static_cast<std::size_t>(index)]});
    }
  }
  TestRow(const TestRow&) = delete;
  TestRow& operator=(const TestRow&) = delete;

  [[nodiscard]] Fields fields() const { return fields_; }

  [[nodiscard]] static std::string value(std::string_view key, int field, int version, std::size_t value_bytes = 20) {
    std::string text = std::string(key) + "/" + std::to_string(field) + "/" + std::to_string(version) + "/";
    // No two rows are alike, so that compression does not make a test's database tiny.
    std::uint64_t state = std::hash<std::string>{}(text);
    while (text.size() < value_bytes) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      text += static_cast<char>('!' + state / 0x100000000ULL % 90);
    }
    return text;
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::string> values_;
  std::vector<Field> fields_;
};

[[nodiscard]] inline std::string test_key(int number) {
  std::string digits = std::to_string(number);
  return "user" + std::string(8 - digits.size(), '0') + digits;
}

[[nodiscard]] inline std::map<std::string, std::string> as_map(const Row& row) {
  std::map<std::string, std::string> map;
  for (const Field& field : row.fields) map[std::string(field.name)] = std::string(field.value);
  return map;
}

[[nodiscard]] inline std::map<std::string, std::string> as_map(const TestRow& row) {
  std::map<std::string, std::string> map;
  for (const Field& field : row.fields()) map[std::string(field.name)] = std::string(field.value);
  return map;
}

class EventList {
 public:
  [[nodiscard]] EventSink sink() {
    return [this](const DatabaseEvent& event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
    };
  }
  [[nodiscard]] std::vector<DatabaseEvent> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<DatabaseEvent> events_;
};

// A database of one adapter in a directory that may outlive it.
class TestDatabase {
 public:
  explicit TestDatabase(std::string adapter) : adapter_(std::move(adapter)) {
#ifdef EDGEJOULE_SERVER_TESTS
    properties_ = emptied_server(adapter_).properties();
#else
    properties_.set(adapter_ + ".path", path().string());
#endif
  }

  void set(const std::string& option, const std::string& value) { properties_.set(adapter_ + "." + option, value); }

  void set_other(const std::string& property, const std::string& value) { properties_.set(property, value); }

  void open(bool create = true, Durability durability = Durability::process) {
    database_ = find_adapter(adapter_)->make();
    database_->open(properties_, durability, create, events_.sink());
  }
  [[nodiscard]] std::string close() {
    const std::string failure = database_->close();
    database_.reset();
    return failure;
  }

  [[nodiscard]] Database& operator*() { return *database_; }
  [[nodiscard]] Database* operator->() { return database_.get(); }
  [[nodiscard]] EventList& events() { return events_; }
  [[nodiscard]] std::filesystem::path directory() const { return directory_.path(); }
  [[nodiscard]] std::filesystem::path path() const { return directory_.path() / "database"; }

  // Bytes of the logs that recovery would replay after a crash.
  [[nodiscard]] std::uintmax_t log_bytes() const {
    std::uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path())) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".log") || name.ends_with("-wal")) bytes += entry.file_size();
    }
    return bytes;
  }

 private:
  TemporaryDirectory directory_;
  std::string adapter_;
  Properties properties_;
  EventList events_;
  std::unique_ptr<Database> database_;
};

}  // namespace edgejoule::driver
