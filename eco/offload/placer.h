// Decides where a job runs and receives the report when it has ended. A placer never fails a job; without a decision
// the job stays local.
#pragma once

#include <memory>
#include <string>

#include "credentials.h"
#include "eco.pb.h"

namespace eco {

class Placer {
 public:
  virtual ~Placer() = default;
  // Any thread; bounded time. Without an answer in time the placement does not offload and has the reason.
  [[nodiscard]] virtual proto::Placement place(const proto::PlaceRequest& request) = 0;
  // Any thread; bounded time. A lost report is no error.
  virtual void report(const proto::JobReport& report) = 0;
};

// Sends every job to one worker, without a federation. After a job that fell back, avoids the worker for a while
// (backoff.h).
class FixedPlacer : public Placer {
 public:
  explicit FixedPlacer(std::string address, std::string token = "");
  ~FixedPlacer() override;
  [[nodiscard]] proto::Placement place(const proto::PlaceRequest& request) override;
  void report(const proto::JobReport& report) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Asks the ecod of this server over its Unix socket, such as "unix:/run/ecod/node.sock".
class NodePlacer : public Placer {
 public:
  explicit NodePlacer(const std::string& socket, int deadline_ms = 20);
  ~NodePlacer() override;
  [[nodiscard]] proto::Placement place(const proto::PlaceRequest& request) override;
  void report(const proto::JobReport& report) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace eco
