#include "daemon.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "clock.h"
#include "credentials.h"
#include "metrics.h"
#include "nats_federation.h"
#include "node.h"
#include "node_worker.h"
#include "services.h"
#include "state_file.h"
#include "static_federation.h"

namespace eco {
namespace {

constexpr double save_every_s = 60;

std::unique_ptr<Federation> make_federation(const Config& config, StateFile& state) {
  const auto& federation = config.federation;
  if (federation.mode == "nats")
    return make_nats_federation({.server = config.name, .federation = federation, .tls = config.tls});
  if (federation.mode == "member") {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 200);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
    auto channel = grpc::CreateCustomChannel(federation.master, channel_credentials(config.tls), arguments);
    return std::make_unique<StaticMember>(channel, static_cast<double>(federation.beat_ms) * 1e-3);
  }
  return std::make_unique<StaticMaster>(state);
}

// Limits gRPC's threads, which otherwise grow with the load.
void few_threads(grpc::ServerBuilder& builder) {
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 2);
}

// Replaces a Unix socket that a killed ecod left behind. One that answers belongs to another ecod.
void make_way(const std::string& socket) {
  std::error_code error;
  const auto folder = std::filesystem::path(socket).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) throw std::runtime_error(fmt::format("{}: {}", folder.string(), error.message()));
  if (!std::filesystem::exists(socket)) return;
  const auto channel = grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials());
  if (channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::milliseconds(200)))
    throw std::runtime_error(fmt::format("{}: another ecod listens there", socket));
  std::filesystem::remove(socket, error);
  if (error) throw std::runtime_error(fmt::format("{}: {}", socket, error.message()));
}

std::unique_ptr<grpc::Server> serve_unix(const std::string& socket, mode_t mode, grpc::Service& service) {
  make_way(socket);
  grpc::ServerBuilder builder;
  few_threads(builder);
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const mode_t before = umask(0177);  // denies access until the mode is set
  auto server = builder.BuildAndStart();
  umask(before);
  if (!server) throw std::runtime_error(fmt::format("{}: cannot listen there", socket));
  if (chmod(socket.c_str(), mode) != 0) throw std::runtime_error(fmt::format("{}: {}", socket, std::strerror(errno)));
  return server;
}

class Daemon {
 public:
  Daemon(Config config, std::filesystem::path file)
      : config_(std::move(config)),
        file_(std::move(file)),
        state_(config_.state_directory),
        federation_(make_federation(config_, state_)),
        node_(config_, *federation_, state_, boot_clock_s),
        sensors_(config_),
        node_service_(node_),
        control_service_(node_),
        master_service_(node_, *federation_) {}

  ~Daemon() { federation_->leave(); }  // it calls the node, so it must end first
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  int run(const sigset_t& signals) {
    start();
    const double beat_s = static_cast<double>(config_.federation.beat_ms) * 1e-3;
    double next_s = boot_clock_s(), saved_s = next_s;
    for (;;) {
      node_.beat(sensors_.read(boot_clock_s()));
      next_s = std::max(next_s + beat_s, boot_clock_s());
      if (boot_clock_s() - saved_s > save_every_s) save(), saved_s = boot_clock_s();
      if (const int signal = wait_until(next_s, signals); signal != 0) return stop(signal);
    }
  }

 private:
  void start() {
    serve_members();
    if (config_.worker.enabled && config_.federation.mode != "none") {
      worker_ = std::make_unique<NodeWorker>(config_, node_);
      node_.set_worker([this] { return worker_->load(); });
    }
    federation_->join(node_);
    (void)sensors_.read(boot_clock_s());  // rates need two readings
    node_.beat(sensors_.read(boot_clock_s()));
    servers_.push_back(serve_unix(config_.control_socket, 0600, control_service_));
    const auto mode = static_cast<mode_t>(std::stoul(config_.node_socket_mode, nullptr, 8));
    servers_.push_back(serve_unix(config_.node_socket, mode, node_service_));
    if (!config_.metrics_listen.empty()) metrics_ = std::make_unique<Metrics>(node_, config_.metrics_listen);
    spdlog::info("ecod of {} is running: federation {} ({}), policy {}{}, applications at {}{}{}", config_.name,
                 config_.federation.name, config_.federation.mode, config_.policy.name,
                 config_.policy.shadow ? " in shadow mode" : "", config_.node_socket,
                 worker_ ? ", jobs at " + worker_->address() : "",
                 metrics_ ? fmt::format(", metrics at port {}", metrics_->port()) : "");
    if (sensors_.read(boot_clock_s()).link_bytes_s) return;
    const std::string interface = sensors_.interface();
    spdlog::warn(
        "the link speed of {} is unknown: this server neither offloads nor takes jobs until "
        "telemetry.link_mbit_s is set",
        interface.empty() ? "the network" : interface);
  }

  void serve_members() {
    if (config_.federation.mode != "master") return;
    grpc::ServerBuilder builder;
    few_threads(builder);
    int port = 0;
    builder.AddListeningPort(config_.federation.listen, server_credentials(config_.tls), &port);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.RegisterService(&master_service_);
    auto server = builder.BuildAndStart();
    if (!server || port == 0)
      throw std::runtime_error(fmt::format("federation.listen {}: cannot listen there", config_.federation.listen));
    servers_.push_back(std::move(server));
    spdlog::info("members are served at {}", with_port(config_.federation.listen, port));
  }

  // Returns 0 at the time of the next beat, or the signal that ends the daemon.
  int wait_until(double until_s, const sigset_t& signals) {
    for (;;) {
      const double left_s = std::max(0.0, until_s - boot_clock_s());
      const double whole = std::floor(left_s);
      const timespec timeout{.tv_sec = static_cast<time_t>(whole),
                             .tv_nsec = static_cast<long>((left_s - whole) * 1e9)};
      const int signal = sigtimedwait(&signals, nullptr, &timeout);
      if (signal == SIGHUP)
        reload();
      else if (signal > 0)
        return signal;
      else if (errno != EINTR)
        return 0;
    }
  }

  void reload() {
    try {
      const Config read = file_.empty() ? config_ : read_config(file_);
      node_.set_policy(read);
      spdlog::info("SIGHUP: the policy is {}{}", read.policy.name, read.policy.shadow ? " in shadow mode" : "");
    } catch (const ConfigError& error) {
      spdlog::error("SIGHUP: {}; the policy is unchanged", error.what());
    }
  }

  void save() {
    if (const auto saved = node_.save(); !saved) spdlog::error("{}", saved.error());
  }

  int stop(int signal) {
    spdlog::info("{}: ecod of {} exits", strsignal(signal), config_.name);
    metrics_.reset();
    for (auto& server : servers_) server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
    servers_.clear();
    federation_->leave();
    node_.set_worker([] { return WorkerLoad{}; });
    worker_.reset();
    save();
    for (const auto& socket : {config_.node_socket, config_.control_socket}) unlink(socket.c_str());
    return 0;
  }

  Config config_;
  std::filesystem::path file_;
  StateFile state_;
  std::unique_ptr<Federation> federation_;
  Node node_;
  Sensors sensors_;
  NodeService node_service_;
  ControlService control_service_;
  MasterService master_service_;
  std::unique_ptr<NodeWorker> worker_;
  std::vector<std::unique_ptr<grpc::Server>> servers_;
  std::unique_ptr<Metrics> metrics_;
};

}  // namespace

int run_daemon(Config config, const std::filesystem::path& file) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Daemon daemon(std::move(config), file);
  return daemon.run(signals);
}

}  // namespace eco
