// Connects the worker to the node: refuses jobs that a deposed master placed, reports the worker's load, and lets the
// node learn from its jobs.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "node.h"
#include "worker.h"

namespace eco {

class NodeWorker {
 public:
  // Listens when the constructor returns; throws std::runtime_error. `node` must outlive it.
  NodeWorker(const Config& config, Node& node);

  [[nodiscard]] std::string address() const { return address_; }  // where primaries reach it
  [[nodiscard]] WorkerLoad load();

 private:
  struct Begun {
    std::string job;
    double ends_s = 0;  // predicted
  };

  [[nodiscard]] std::string admit(const proto::Start& start);
  void finished(const FinishedJob& job);

  Node& node_;
  const WorkerConfig config_;
  const std::string rocksdb_;
  const double report_duration_s_;  // a job's token is reported for this long: some beats
  std::mutex mutex_;
  std::deque<std::pair<double, std::string>> tokens_;  // with arrival times
  std::deque<Begun> begun_;
  std::unique_ptr<Worker> worker_;
  std::string address_;
};

// Replaces the port 0 in "host:0" by the actual port.
[[nodiscard]] std::string with_port(const std::string& host_port, int port);

}  // namespace eco
