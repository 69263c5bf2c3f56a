// Unifies RocksDB's interface for compaction services, which differs between releases, into start and wait.
//
// | release | start | wait | also |
// |---|---|---|---|
// | 7.8 ... 9.0 | StartV2 | WaitForCompleteV2 | |
// | 9.1 ... | Schedule | Wait | |
// | 9.11 ... | | | CancelAwaitingJobs when a database closes |
//
// OnInstallation (9.6 ...) is not used: OnCompactionCompleted, in all releases, gives the same information.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/version.h>

#include <cstdint>
#include <memory>
#include <string>

#define ECO_ROCKSDB_GE(major, minor) (ROCKSDB_MAJOR > (major) || (ROCKSDB_MAJOR == (major) && ROCKSDB_MINOR >= (minor)))

namespace eco {

// The release that this was compiled for, such as "7.8".
inline std::string compiled_release() { return std::to_string(ROCKSDB_MAJOR) + '.' + std::to_string(ROCKSDB_MINOR); }

// The result type of DB::Open. From 9.11 on the form with DB** exists only in the headers, from 11 on not at all.
#if ECO_ROCKSDB_GE(9, 11)
using Opened = std::unique_ptr<rocksdb::DB>;
#else
using Opened = rocksdb::DB*;
#endif

class PortableCompactionService : public rocksdb::CompactionService {
 public:
  using Info = rocksdb::CompactionServiceJobInfo;
  using Status = rocksdb::CompactionServiceJobStatus;

  [[nodiscard]] static std::string id_of(const Info& info) {
    return info.db_session_id + '-' + std::to_string(info.job_id >> 32) + '-' +
           std::to_string(info.job_id & 0xffffffff);
  }

#if ECO_ROCKSDB_GE(9, 1)
  rocksdb::CompactionServiceScheduleResponse Schedule(const Info& info, const std::string& input) final {
    return {id_of(info), status_of(start(info, input))};
  }
  Status Wait(const std::string& id, std::string* result) final { return status_of(wait(id, result)); }
#if ECO_ROCKSDB_GE(9, 11)
  void CancelAwaitingJobs() final { cancel(); }
#endif
#else
  Status StartV2(const Info& info, const std::string& input) final { return status_of(start(info, input)); }
  Status WaitForCompleteV2(const Info& info, std::string* result) final { return status_of(wait(id_of(info), result)); }
#endif

 protected:
  // True: the job was accepted, or has succeeded. False: RocksDB compacts locally. Failure is never reported, because
  // it would stop the database.
  [[nodiscard]] virtual bool start(const Info& info, const std::string& input) noexcept = 0;
  [[nodiscard]] virtual bool wait(const std::string& id, std::string* result) noexcept = 0;
  // Makes every wait return false soon.
  virtual void cancel() noexcept = 0;

 private:
  static Status status_of(bool taken) { return taken ? Status::kSuccess : Status::kUseLocal; }
};

}  // namespace eco
