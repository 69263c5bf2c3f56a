// A BSON document, and access to its values.
#pragma once

#include <bson/bson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace edgejoule::driver {

// Owns its bytes. Its address never changes.
class MongoDocument {
 public:
  MongoDocument() { bson_init(&bson_); }
  ~MongoDocument() { bson_destroy(&bson_); }
  MongoDocument(const MongoDocument&) = delete;
  MongoDocument& operator=(const MongoDocument&) = delete;

  [[nodiscard]] bson_t* get() { return &bson_; }
  [[nodiscard]] const bson_t* get() const { return &bson_; }
  bson_t* cleared() {
    bson_reinit(&bson_);
    return &bson_;
  }
  // For a function that initialises its argument.
  bson_t* taken() {
    bson_destroy(&bson_);
    return &bson_;
  }

 private:
  bson_t bson_;
};

void append(bson_t* to, std::string_view name, std::string_view text);
void append(bson_t* to, std::string_view name, const char* text);
void append(bson_t* to, std::string_view name, std::int64_t number);
void append(bson_t* to, std::string_view name, bool value);
void append(bson_t* to, std::string_view name, const bson_t* document);

// The number at the path "a.b.c" in nested documents, of any numeric type. nullopt: absent or of another type.
[[nodiscard]] std::optional<std::int64_t> number_at(const bson_t* document, const char* path);
[[nodiscard]] std::optional<std::string> text_at(const bson_t* document, const char* path);
[[nodiscard]] std::optional<bool> truth_at(const bson_t* document, const char* path);

}  // namespace edgejoule::driver
