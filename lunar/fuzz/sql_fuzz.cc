#include "fuzz/sql.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lunar_fuzz::run_sql(data, size);
  return 0;
}
