// Any file is either accepted as properties or refused with its place, and the properties read are those set.
#include "contract/properties.h"
#include "fuzz_input.h"

using namespace edgejoule::driver;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Properties properties;
  try {
    properties.load_file(file_with({reinterpret_cast<const char*>(data), size}));
  } catch (const UsageError& refused) {
    require(std::string_view(refused.what()).size() > 1, "a refusal says why");
    return 0;
  }
  for (const auto& [key, value] : properties.all()) {
    require(properties.get(key, "") == value, "a property has the value that was read");
    require(!properties.origin(key).empty(), "a property says where it came from");
    try {
      static_cast<void>(properties.get_u64(key, 0));
      static_cast<void>(properties.get_double(key, 0));
    } catch (const UsageError&) {
    }
  }
  return 0;
}
