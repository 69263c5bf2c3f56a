// A program with RocksDB linked statically.
#include <rocksdb/db.h>

int main() {
  rocksdb::DB* db = nullptr;
  return rocksdb::DB::OpenForReadOnly({}, "/nonexistent", &db).ok() ? 1 : 0;
}
