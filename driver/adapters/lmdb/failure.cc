#include "failure.h"

#include <fmt/format.h>

#include <cerrno>

namespace edgejoule::driver {
namespace {

std::string way_out(MDB_env* environment, int code) {
  switch (code) {
    case MDB_MAP_FULL: {
      MDB_envinfo info{};
      if (environment == nullptr || mdb_env_info(environment, &info) != MDB_SUCCESS) return "; raise lmdb.map_bytes";
      return fmt::format("; the map has {} bytes: raise lmdb.map_bytes", info.me_mapsize);
    }
    case MDB_READERS_FULL: {
      unsigned readers = 0;
      if (environment != nullptr) mdb_env_get_maxreaders(environment, &readers);
      return fmt::format(
          "; it has room for {} readers: raise lmdb.max_readers above the number of threads of all processes that have "
          "the database open (while one has, the table keeps its size)",
          readers);
    }
    case MDB_BAD_VALSIZE:
      return fmt::format("; LMDB takes keys of 1 to {} bytes",
                         environment == nullptr ? 511 : mdb_env_get_maxkeysize(environment));
    case MDB_TXN_FULL:
      return "; load in smaller batches";
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
      return "; set lmdb.path to a database of this LMDB or to an empty directory";
    case ENOMEM:
      return "; lmdb.map_bytes exceeds the free address space: lower it, or raise the limit (ulimit -v)";
    case EIO:
      return " (LMDB also reports this after an incomplete write: is the disk full, or the file at its size limit?)";
    default:
      return "";
  }
}

}  // namespace

std::string lmdb_failure(MDB_env* environment, int code) { return mdb_strerror(code) + way_out(environment, code); }

}  // namespace edgejoule::driver
