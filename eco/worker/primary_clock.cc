#include "primary_clock.h"

#include <chrono>
#include <utility>

namespace eco {
namespace {

class PrimaryClock final : public rocksdb::SystemClockWrapper {
 public:
  PrimaryClock(std::int64_t unix_time_s, double received_s)
      : SystemClockWrapper(rocksdb::SystemClock::Default()), unix_time_s_(unix_time_s), received_s_(received_s) {}

  [[nodiscard]] const char* Name() const override { return "eco.PrimaryClock"; }

  rocksdb::Status GetCurrentTime(std::int64_t* unix_time_s) override {
    *unix_time_s = unix_time_s_ + static_cast<std::int64_t>(steady_s() - received_s_);
    return rocksdb::Status::OK();
  }

 private:
  std::int64_t unix_time_s_;
  double received_s_;
};

class JobEnv final : public rocksdb::EnvWrapper {
 public:
  JobEnv(std::unique_ptr<rocksdb::Env> files, std::shared_ptr<rocksdb::SystemClock> clock)
      : EnvWrapper(std::move(files)) {
    file_system_ = target()->GetFileSystem();
    system_clock_ = std::move(clock);
  }
  rocksdb::Status GetCurrentTime(std::int64_t* unix_time_s) override {
    return system_clock_->GetCurrentTime(unix_time_s);
  }
};

}  // namespace

double steady_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::unique_ptr<rocksdb::Env> env_with_primary_clock(const std::shared_ptr<rocksdb::FileSystem>& files,
                                                     std::int64_t unix_time_s, double received_s) {
  if (unix_time_s == 0) return rocksdb::NewCompositeEnv(files);
  return std::make_unique<JobEnv>(rocksdb::NewCompositeEnv(files),
                                  std::make_shared<PrimaryClock>(unix_time_s, received_s));
}

}  // namespace eco
