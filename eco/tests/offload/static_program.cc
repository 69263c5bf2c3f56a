// A program with RocksDB linked statically.
#include <rocksdb/db.h>

#include "compat.h"

int main() {
  eco::Opened db{};
  return rocksdb::DB::OpenForReadOnly({}, "/nonexistent", &db).ok() ? 1 : 0;
}
