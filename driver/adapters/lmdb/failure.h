// LMDB's result codes in words, each with the way out where there is one.
#pragma once

#include <lmdb.h>

#include <string>

namespace edgejoule::driver {

// `environment` may be null when it is not open yet.
[[nodiscard]] std::string lmdb_failure(MDB_env* environment, int code);

}  // namespace edgejoule::driver
