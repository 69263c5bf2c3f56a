// Messages for LMDB's result codes, with a remedy if there is one.
#pragma once

#include <lmdb.h>

#include <string>

namespace edgejoule::driver {

// `environment` is null if it is not open yet.
[[nodiscard]] std::string lmdb_failure(MDB_env* environment, int code);

}  // namespace edgejoule::driver
