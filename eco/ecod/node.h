// One server's part in the federation: decides where its applications' compactions run or asks the master, learns their
// costs and, as the master, decides for the others. Thread-safe.
//
// The master decides. If no master answers, this server decides with the last server table. The compaction stays local
// if that table is too old, while the kill switch is on, and before anything is known.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backoff.h"
#include "config.h"
#include "decision_log.h"
#include "eco.pb.h"
#include "federation.h"
#include "scheduler.h"
#include "state_file.h"
#include "telemetry.h"

namespace eco {

// The current load of this server's worker.
struct WorkerLoad {
  std::string address, rocksdb;  // empty address: no worker
  std::uint32_t slots = 0, jobs = 0;
  double jobs_s = 0;
  std::vector<std::string> tokens;
};

// Counts since the start.
struct NodeCounts {
  std::uint64_t placements_by_master = 0, placements_without_master = 0, offloads = 0, locals = 0, stale_refused = 0,
                decided_for_others = 0, reports = 0, fell_back = 0, federation_errors = 0, bytes_moved = 0,
                bytes_shared = 0, jobs_shared = 0;
  double decision_s = 0;  // sum
};

class Node final : public Member {
 public:
  using Clock = std::function<double()>;

  Node(const Config& config, Federation& federation, StateFile& state, Clock now_s);

  void set_worker(std::function<WorkerLoad()> load) { worker_ = std::move(load); }
  void set_policy(const Config& config);  // the re-read [policy] section

  // Call once each beat.
  void beat(const Telemetry& telemetry);

  // --- For this server's applications; timeout_s: how long they can wait
  [[nodiscard]] proto::Placement place(proto::PlaceRequest request, double timeout_s);
  void report(proto::JobReport report);
  // Learns from a compaction of this server's own that ran here.
  void learn(const Job& job, const Cost& cost);
  // Learns from a guest job that ran here.
  void learn_guest(const Job& job, const Cost& cost);
  [[nodiscard]] Prediction predict_guest(const proto::JobFeatures& features) const;
  // Power per core for callers that know only seconds and bytes, and its source.
  [[nodiscard]] std::pair<Power, std::string> power() const;
  // The newest known master; messages of older ones are refused.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

  // --- For the operator
  [[nodiscard]] proto::FederationView view();
  [[nodiscard]] const DecisionLog& decisions() const { return log_; }
  [[nodiscard]] Result<> set_policy(const proto::PolicyRequest& request);
  [[nodiscard]] Result<> drain(const proto::DrainRequest& request);
  [[nodiscard]] Result<> kill(bool local_only);
  [[nodiscard]] NodeCounts counts() const;
  // Saves the models for the next start.
  [[nodiscard]] Result<> save();

  // --- Member
  void heard_server(const proto::ServerState& state) override;
  void heard_gone(const std::string& server) override;
  [[nodiscard]] Result<proto::Placement> place_for(const proto::PlaceRequest& request) override;
  void heard_report(const proto::JobReport& report) override;
  [[nodiscard]] proto::Table table(bool with_servers) override;
  bool heard_table(const proto::Table& table) override;
  void heard_settings(const proto::Settings& settings) override;
  [[nodiscard]] proto::Settings settings() const override;
  [[nodiscard]] std::uint64_t epoch_known() override;

 private:
  struct InForce {
    Policy policy;
    bool shadow = false;
    bool local_only = false;
  };
  struct Heard {  // from the master
    std::string name;
    double at_s = -1e9;
    proto::Policy policy;
    bool silent = false;  // it did not answer, and sent nothing since
  };

  [[nodiscard]] proto::ServerState own_state(const Telemetry& telemetry);
  void set_settings_in_force(proto::ServerState& state) const;
  [[nodiscard]] InForce in_force() const;
  [[nodiscard]] bool master_is_heard() const;
  // Age limit for servers in the last table: without new messages the table ages as a whole.
  [[nodiscard]] double last_table_alive_s();
  [[nodiscard]] proto::Placement decide_here(const proto::PlaceRequest& request, const InForce& in_force,
                                             double alive_s, const std::string& decided_by, std::uint64_t epoch,
                                             proto::LoggedDecision& log);
  [[nodiscard]] proto::Placement place_somehow(const proto::PlaceRequest& request, double timeout_s,
                                               proto::LoggedDecision& log);
  [[nodiscard]] std::optional<proto::Placement> stay_by_own_model(const proto::PlaceRequest& request,
                                                                  const Policy& policy,
                                                                  proto::LoggedDecision& log) const;
  [[nodiscard]] proto::Placement stay(std::string reason) const;
  void learn_reachability(const proto::JobReport& report);
  [[nodiscard]] Result<proto::Placement> ask_master(const proto::PlaceRequest& request, double timeout_s);
  [[nodiscard]] Result<> change(const std::function<void(proto::Settings&)>& change);
  [[nodiscard]] proto::Settings newest_settings(const proto::Settings& kept);
  void learn_remote(const proto::JobReport& report);
  void warn_of_twins();
  [[nodiscard]] bool is_known(const std::string& server);
  [[nodiscard]] std::string backoff_reason(const std::string& server) const;
  void log_kept(const proto::JobReport& report);
  void send_reports();
  void count(const std::function<void(NodeCounts&)>& change);

  const Config config_;
  Federation& federation_;
  StateFile& state_;
  Clock now_s_;
  std::function<WorkerLoad()> worker_ = [] { return WorkerLoad{}; };
  Scheduler scheduler_;
  DecisionLog log_;

  mutable std::mutex mutex_;  // guards the following
  Policy configured_;
  bool configured_shadow_;
  proto::Settings settings_;
  bool local_only_here_ = false;
  Heard master_;
  CompactionModel model_, guest_, residual_, overhead_;
  double guest_learnt_s_ = 0;
  Power power_;
  std::string power_method_;
  std::deque<proto::JobReport> unsent_;
  Backoff backoff_;  // for this server's applications' jobs
  NodeCounts counts_;
  std::atomic<std::uint64_t> epoch_ = 0;
  std::uint64_t beat_;
  const std::string instance_;   // identifies this run
  std::set<std::string> twins_;  // names with a warning; used only by the beat's thread
};

}  // namespace eco
