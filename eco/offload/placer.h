// Where a job goes: asked before it begins, told when it has ended. No placer ever fails a job; what it cannot answer
// stays local.
#pragma once

#include <memory>
#include <string>

#include "credentials.h"
#include "eco.pb.h"

namespace eco {

class Placer {
 public:
  virtual ~Placer() = default;
  // Any thread; bounded. Without an answer in time: a placement that does not offload, with the reason.
  [[nodiscard]] virtual proto::Placement place(const proto::PlaceRequest& request) = 0;
  // Any thread; bounded; a lost report is no error.
  virtual void report(const proto::JobReport& report) = 0;
};

// Without a federation: every job goes to one worker. After a job that fell back the worker is left alone for a while
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

// The ecod of this server decides, asked over its Unix socket, "unix:/run/ecod/node.sock".
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
