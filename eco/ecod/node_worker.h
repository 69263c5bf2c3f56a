// The worker as a part of the node: it refuses what a deposed master placed, tells what it does, and the node learns
// from its jobs.
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
  // Listens when it returns; throws std::runtime_error. `node` outlives it.
  NodeWorker(const Config& config, Node& node);

  [[nodiscard]] std::string address() const { return address_; }  // by which the primaries reach it
  [[nodiscard]] WorkerLoad load();

 private:
  struct Begun {
    std::string job;
    double ends_s = 0;  // as predicted
  };

  [[nodiscard]] std::string admit(const proto::Start& start);
  void finished(const FinishedJob& job);

  Node& node_;
  const WorkerConfig config_;
  const std::string rocksdb_;
  const double told_s_;  // a job's token is told for so long: some beats
  std::mutex mutex_;
  std::deque<std::pair<double, std::string>> tokens_;  // when they came
  std::deque<Begun> begun_;
  std::unique_ptr<Worker> worker_;
  std::string address_;
};

// "host:0" with the port that was taken.
[[nodiscard]] std::string with_port(const std::string& host_port, int port);

}  // namespace eco
