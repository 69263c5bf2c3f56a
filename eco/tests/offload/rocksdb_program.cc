// eco-program MODE FOLDER: works on a database and prints "done" or the error. Built with RocksDB's shared library and
// with RocksDB linked statically.
#include <rocksdb/db.h>
#include <rocksdb/utilities/transaction_db.h>

#include <cstdio>
#include <memory>
#include <string>

#include "compat.h"

namespace {

class OwnService final : public eco::PortableCompactionService {
 public:
  [[nodiscard]] const char* Name() const override { return "own"; }

 protected:
  bool start(const Info&, const std::string&) noexcept override { return false; }
  bool wait(const std::string&, std::string*) noexcept override { return false; }
  void cancel() noexcept override {}
};

rocksdb::Options options_of(const std::string& mode) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 64 << 10;
  if (mode == "own-service") options.compaction_service = std::make_shared<OwnService>();
  if (mode == "threads-first") options.IncreaseParallelism(4);
  return options;
}

std::string use(rocksdb::DB& db) {
  rocksdb::Status status;
  for (int i = 0; i < 20'000 && status.ok(); ++i)
    status = db.Put({}, "key " + std::to_string(i * 7919 % 20'000), std::string(50, 'v'));
  std::string value;
  if (status.ok()) status = db.CompactRange({}, nullptr, nullptr);
  if (status.ok()) status = db.Get({}, "key 19999", &value);
  return status.ok() ? value : status.ToString();
}

std::string run(const std::string& mode, const std::string& folder) {
  const rocksdb::Options options = options_of(mode);
  if (mode == "transactions") {
    rocksdb::TransactionDB* opened = nullptr;
    const auto status = rocksdb::TransactionDB::Open(options, {}, folder, &opened);
    const std::unique_ptr<rocksdb::DB> db(opened);
    return status.ok() ? use(*db) : status.ToString();
  }
  eco::Opened opened{};
  const auto status = rocksdb::DB::Open(options, folder, &opened);
  const std::unique_ptr<rocksdb::DB> db(std::move(opened));
  if (!status.ok()) return status.ToString();
  std::string said = use(*db);
  if (mode == "two") said = run("one", folder + "-second");
  if (mode == "many")
    for (int i = 1; i < 6 && said == std::string(50, 'v'); ++i) said = run("one", folder + "-" + std::to_string(i));
  return said;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string said = run(argv[1], argv[2]);
  std::puts(said == std::string(50, 'v') ? "done" : said.c_str());
}
