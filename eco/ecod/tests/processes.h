// nats-servers and ecods of a test, on free loopback ports; the destructors stop them by pid.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "credentials.h"
#include "eco.grpc.pb.h"
#include "temporary_folder.h"

namespace eco::test {

// Polls until the condition holds; returns false after timeout_s. Tests wait for conditions, never for a time.
[[nodiscard]] bool eventually(const std::function<bool()>& holds, double timeout_s = 30);

// Returns ports that were free at the time of the call.
[[nodiscard]] std::vector<int> free_ports(std::size_t count);

// Returns the whole answer of a server on loopback; empty without one.
[[nodiscard]] std::string http_get(int port, const std::string& path);

class Process {
 public:
  // log: file for the output.
  Process(const std::vector<std::string>& command, std::string log);
  ~Process();  // SIGCONT, SIGTERM, finally SIGKILL
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void signal(int number) const;
  // Waits. Returns the exit code, or minus the signal.
  int wait();
  [[nodiscard]] bool runs() const;
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::string log() const;

 private:
  pid_t pid_ = -1;
  bool waited_ = false;
  std::string log_;
};

// One nats-server with JetStream, or a cluster of three. With TLS each side shows a certificate, also in the cluster.
class Nats {
 public:
  explicit Nats(std::size_t servers, const TlsFiles& tls = {});
  [[nodiscard]] std::string urls() const;  // a TOML list
  [[nodiscard]] std::string url(std::size_t i) const;
  [[nodiscard]] Process& server(std::size_t i) { return *servers_[i]; }
  [[nodiscard]] std::size_t size() const { return servers_.size(); }
  // Kills all servers and restarts them with an empty JetStream.
  void lose_storage();

 private:
  void start(std::size_t i);

  TemporaryFolder folder_;
  std::string scheme_;
  std::vector<int> ports_;
  std::vector<std::unique_ptr<Process>> servers_;
};

// An ecod with sockets and state in a separate folder.
class Ecod {
 public:
  static constexpr const char* fast = "beat_ms = 100\nalive_ms = 600\nlease_ms = 1000\nplace_timeout_ms = 100\n";

  // federation, timing: lines of [federation]; rest: whole tables of TOML.
  Ecod(std::string name, const std::string& federation, const std::string& rest = "", const std::string& timing = fast);

  void start();
  [[nodiscard]] Process& process() { return *process_; }
  [[nodiscard]] bool started() const { return process_ != nullptr; }
  void forget_process() { process_.reset(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string file() const { return folder_ / "ecod.toml"; }
  [[nodiscard]] std::string control_socket() const { return folder_ / "control.sock"; }
  [[nodiscard]] std::string node_socket() const { return folder_ / "node.sock"; }
  [[nodiscard]] const TemporaryFolder& folder() const { return folder_; }

  // Returns an empty view if it does not answer.
  [[nodiscard]] proto::FederationView view();
  [[nodiscard]] proto::Placement place(const proto::PlaceRequest& request, double deadline_s = 5);
  // Reports twenty local jobs, from which it learns that a job of 64 MB takes compute_s here, others in proportion.
  void teach(double compute_s);
  [[nodiscard]] grpc::Status kill(bool on);
  [[nodiscard]] grpc::Status drain(const std::string& server, bool on);
  [[nodiscard]] grpc::Status set_policy(const std::string& policy, std::optional<bool> shadow = {});
  [[nodiscard]] std::vector<proto::LoggedDecision> decisions();
  // Runs ecoctl on this ecod. Returns its output and exit code.
  [[nodiscard]] std::pair<std::string, int> ecoctl(const std::string& program,
                                                   const std::vector<std::string>& arguments);
  // Returns the page; empty before it is served.
  [[nodiscard]] std::string metrics();

 private:
  std::string name_;
  TemporaryFolder folder_;
  std::unique_ptr<proto::Node::Stub> node_;
  std::unique_ptr<proto::Control::Stub> control_;
  std::unique_ptr<Process> process_;
  int ecoctls_ = 0;
};

}  // namespace eco::test
