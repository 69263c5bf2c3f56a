// Bytes from a database are either a row or refused, and a decoded row encodes to the same bytes.
#include "adapters/key_value/row_codec.h"
#include "fuzz_input.h"

using namespace edgejoule::driver;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<Field> fields;
  if (!decode_row(bytes, {}, fields)) return 0;
  std::string again;
  encode_row(fields, again);
  require(again == bytes, "a row that was decoded is encoded to the same bytes");
  if (fields.empty()) return 0;
  const std::string_view first[] = {fields.front().name};
  std::vector<Field> some;
  if (!first[0].empty() && decode_row(bytes, first, some)) {
    require(some.size() == 1 && some[0].name == first[0], "the named field is the one that is read");
  }
  return 0;
}
