#include "document.h"

namespace edgejoule::driver {
namespace {

int length(std::string_view text) { return static_cast<int>(text.size()); }

// The iterator is a parameter because bson_iter_t needs a stricter alignment than std::optional provides.
bool find(const bson_t* document, const char* path, bson_iter_t* at) {
  bson_iter_t begin;
  return bson_iter_init(&begin, document) && bson_iter_find_descendant(&begin, path, at);
}

}  // namespace

void append(bson_t* to, std::string_view name, std::string_view text) {
  bson_append_utf8(to, name.data(), length(name), text.data(), length(text));
}

void append(bson_t* to, std::string_view name, const char* text) { append(to, name, std::string_view(text)); }

void append(bson_t* to, std::string_view name, std::int64_t number) {
  bson_append_int64(to, name.data(), length(name), number);
}

void append(bson_t* to, std::string_view name, bool value) { bson_append_bool(to, name.data(), length(name), value); }

void append(bson_t* to, std::string_view name, const bson_t* document) {
  bson_append_document(to, name.data(), length(name), document);
}

std::optional<std::int64_t> number_at(const bson_t* document, const char* path) {
  bson_iter_t at;
  if (!find(document, path, &at)) return std::nullopt;
  switch (bson_iter_type(&at)) {
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64:
    case BSON_TYPE_DOUBLE:
      return bson_iter_as_int64(&at);
    default:
      return std::nullopt;
  }
}

std::optional<std::string> text_at(const bson_t* document, const char* path) {
  bson_iter_t at;
  if (!find(document, path, &at) || !BSON_ITER_HOLDS_UTF8(&at)) return std::nullopt;
  std::uint32_t size = 0;
  const char* const text = bson_iter_utf8(&at, &size);
  return std::string(text, size);
}

std::optional<bool> truth_at(const bson_t* document, const char* path) {
  bson_iter_t at;
  if (!find(document, path, &at) || !BSON_ITER_HOLDS_BOOL(&at)) return std::nullopt;
  return bson_iter_bool(&at);
}

}  // namespace edgejoule::driver
