#include "node_worker.h"

#include <fmt/format.h>
#include <rocksdb/version.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "clock.h"
#include "messages.h"

namespace eco {

std::string with_port(const std::string& host_port, int port) {
  return fmt::format("{}:{}", host_port.substr(0, host_port.rfind(':')), port);
}

NodeWorker::NodeWorker(const Config& config, Node& node)
    : node_(node),
      config_(config.worker),
      rocksdb_(config_.rocksdb.empty() ? fmt::format("{}.{}.{}", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH)
                                       : config_.rocksdb),
      report_duration_s_(5e-3 * static_cast<double>(config.federation.beat_ms)) {
  WorkerOptions options;
  options.listen = config_.listen;
  options.data_port = static_cast<int>(config_.data_port);
  options.tls = config.tls;
  options.slots = static_cast<std::uint32_t>(config_.slots);
  options.queue_max = static_cast<std::uint32_t>(config_.queue);
  options.scratch = config_.scratch;
  options.nice = static_cast<int>(config_.nice);
  options.cgroup = config_.cgroup;
  options.job_cpu_s_max = config_.job_cpu_s_max;
  options.shared = config_.shared_directory;
  options.admit = [this](const proto::Start& start) { return admit(start); };
  options.finished = [this](const FinishedJob& job) { finished(job); };
  options.energy_of = [this](double cpu_s, double, std::uint64_t bytes_moved) {
    const auto [power, method] = node_.power();
    return Energy{cpu_s * power.busy_core_w + static_cast<double>(bytes_moved) * power.transfer_j_per_byte, method};
  };
  worker_ = std::make_unique<Worker>(std::move(options));
  address_ = config_.address.empty() ? with_port(config_.listen, worker_->port()) : config_.address;
}

std::string NodeWorker::admit(const proto::Start& start) {
  if (start.epoch() < node_.epoch())
    return fmt::format("a master of epoch {} placed it, but the epoch is now {}", start.epoch(), node_.epoch());
  const double now_s = boot_clock_s(), compute_s = node_.predict_guest(start.features()).compute_s.mean;
  const std::scoped_lock lock(mutex_);
  tokens_.emplace_back(now_s, start.token());
  begun_.push_back({start.job(), now_s + compute_s});
  return "";
}

void NodeWorker::finished(const FinishedJob& job) {
  if (job.error.empty())
    node_.learn_guest(job.features, job.cost);
  else
    spdlog::warn("job {}: {}", job.job, job.error);
  const std::scoped_lock lock(mutex_);
  std::erase_if(begun_, [&](const Begun& begun) { return begun.job == job.job; });
}

WorkerLoad NodeWorker::load() {
  const double now_s = boot_clock_s();
  WorkerLoad load;
  load.address = address_, load.rocksdb = rocksdb_, load.slots = static_cast<std::uint32_t>(config_.slots);
  load.jobs = worker_->jobs();
  const std::scoped_lock lock(mutex_);
  while (!tokens_.empty() && now_s - tokens_.front().first > report_duration_s_) tokens_.pop_front();
  for (const auto& [at_s, token] : tokens_) load.tokens.push_back(token);
  if (load.jobs == 0) begun_.clear();  // aborted jobs never finish
  for (const Begun& begun : begun_) load.jobs_s = std::max(load.jobs_s, begun.ends_s - now_s);
  return load;
}

}  // namespace eco
