#include "processes.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace eco::test {
namespace {

using Clock = std::chrono::steady_clock;

void set_deadline(grpc::ClientContext& context, double seconds) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::microseconds(static_cast<long>(seconds * 1e6)));
}

}  // namespace

bool eventually(const std::function<bool()>& holds, double timeout_s) {
  const auto end = Clock::now() + std::chrono::duration<double>(timeout_s);
  while (!holds()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

std::vector<int> free_ports(std::size_t count) {
  std::vector<int> sockets, ports;
  for (std::size_t i = 0; i < count; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0)
      throw std::runtime_error("no free port");
    sockets.push_back(fd);
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int fd : sockets) close(fd);
  return ports;
}

Process::Process(const std::vector<std::string>& command, std::string log) : log_(std::move(log)) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int error = posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(fmt::format("{}: cannot be started", command[0]));
}

Process::~Process() {
  if (waited_) return;
  ::kill(pid_, SIGCONT);
  ::kill(pid_, SIGTERM);
  if (!eventually([this] { return !runs(); }, 5)) ::kill(pid_, SIGKILL);
  if (!waited_) (void)wait();
}

void Process::signal(int number) const {
  if (!waited_) ::kill(pid_, number);
}

bool Process::runs() const {
  siginfo_t info{};
  return !waited_ && waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

int Process::wait() {
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) throw std::runtime_error("waitpid");
  waited_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string Process::log() const {
  std::ifstream in(log_);
  return {std::istreambuf_iterator<char>(in), {}};
}

Nats::Nats(std::size_t servers, const TlsFiles& tls)
    : scheme_(tls.none() ? "nats" : "tls"), ports_(free_ports(2 * servers)) {
  const std::string secret =
      tls.none() ? ""
                 : fmt::format("tls {{ cert_file: \"{}\", key_file: \"{}\", ca_file: \"{}\", verify: true }}\n",
                               tls.certificate, tls.key, tls.ca);
  std::vector<std::string> routes;
  for (std::size_t i = 0; i < servers; ++i) routes.push_back(fmt::format("nats://127.0.0.1:{}", ports_[servers + i]));
  for (std::size_t i = 0; i < servers; ++i) {
    std::string text = fmt::format(
        "server_name: n{}\nlisten: 127.0.0.1:{}\njetstream {{ store_dir: \"{}\", max_mem: 16MB, max_file: 256MB }}\n",
        i, ports_[i], folder_ / fmt::format("store{}", i));
    text += secret;
    if (servers > 1)
      text += fmt::format("cluster {{\nname: c\nlisten: 127.0.0.1:{}\nroutes: [{}]\n{}}}\n", ports_[servers + i],
                          fmt::join(routes, ", "), secret);
    folder_.write(fmt::format("n{}.conf", i), text);
    servers_.emplace_back();
    start(i);
  }
}

void Nats::start(std::size_t i) {
  servers_[i] =
      std::make_unique<Process>(std::vector<std::string>{"nats-server", "-c", folder_ / fmt::format("n{}.conf", i)},
                                folder_ / fmt::format("n{}.log", i));
}

void Nats::lose_storage() {
  for (auto& server : servers_) {
    server->signal(SIGKILL);
    (void)server->wait();
  }
  for (std::size_t i = 0; i < size(); ++i) {
    std::filesystem::remove_all(folder_ / fmt::format("store{}", i));
    start(i);
  }
}

std::string Nats::url(std::size_t i) const { return fmt::format("{}://127.0.0.1:{}", scheme_, ports_[i]); }

std::string Nats::urls() const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < servers_.size(); ++i) all.push_back(fmt::format("\"{}\"", url(i)));
  return fmt::format("[{}]", fmt::join(all, ", "));
}

std::string http_get(int port, const std::string& path) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    std::array<char, 4096> part{};
    for (ssize_t n = 0; (n = recv(fd, part.data(), part.size(), 0)) > 0;)
      answer.append(part.data(), static_cast<std::size_t>(n));
  }
  close(fd);
  return answer;
}

Ecod::Ecod(std::string name, const std::string& federation, const std::string& rest, const std::string& timing)
    : name_(std::move(name)) {
  folder_.write("ecod.toml",
                fmt::format("name = \"{}\"\nnode_socket = \"{}\"\ncontrol_socket = "
                            "\"{}\"\nstate_directory = \"{}\"\nlog_level = \"debug\"\n"
                            "[telemetry]\nlink_mbit_s = 10000\ncores = 1000\n[metrics]\nlisten = \"127.0.0.1:0\"\n"
                            "[worker]\nlisten = \"127.0.0.1:0\"\nscratch = \"{}\"\nslots = 4\n"
                            "[policy]\nname = \"edgepilot\"\nbusy_max = 1\n{}\n"
                            "[federation]\n{}{}\n",
                            name_, node_socket(), control_socket(), folder_ / "state", folder_ / "scratch", rest,
                            timing, federation));
  node_ = proto::Node::NewStub(grpc::CreateChannel("unix:" + node_socket(), grpc::InsecureChannelCredentials()));
  control_ =
      proto::Control::NewStub(grpc::CreateChannel("unix:" + control_socket(), grpc::InsecureChannelCredentials()));
}

void Ecod::start() {
  process_ = std::make_unique<Process>(std::vector<std::string>{ECOD_PROGRAM, "--config", file()}, folder_ / "log");
}

proto::FederationView Ecod::view() {
  grpc::ClientContext context;
  set_deadline(context, 1);
  context.set_wait_for_ready(true);
  proto::FederationView view;
  (void)control_->Servers(&context, {}, &view);
  return view;
}

proto::Placement Ecod::place(const proto::PlaceRequest& request, double deadline_s) {
  grpc::ClientContext context;
  set_deadline(context, deadline_s);
  context.set_wait_for_ready(true);
  proto::Placement placement;
  const auto status = node_->Place(&context, request, &placement);
  if (!status.ok()) throw std::runtime_error(fmt::format("{}: Place: {}", name_, status.error_message()));
  return placement;
}

void Ecod::teach(double compute_s) {
  for (int i = 1; i <= 20; ++i) {
    const double size = 0.1 * i;
    proto::JobReport report;
    report.set_job(fmt::format("teach {}", i));
    report.set_outcome("local");
    report.mutable_features()->set_input_bytes(static_cast<std::uint64_t>(size * 64e6));
    report.mutable_features()->set_input_entries(static_cast<std::uint64_t>(size * 64e3));
    report.mutable_features()->set_codec("Snappy");
    report.set_wall_s(size * compute_s);
    report.set_compute_s(size * compute_s);
    report.set_cpu_s(size * compute_s);
    grpc::ClientContext context;
    set_deadline(context, 2);
    proto::Empty empty;
    const auto status = node_->Report(&context, report, &empty);
    if (!status.ok()) throw std::runtime_error(fmt::format("{}: Report: {}", name_, status.error_message()));
  }
}

grpc::Status Ecod::kill(bool on) {
  grpc::ClientContext context;
  set_deadline(context, 10);
  proto::KillRequest request;
  request.set_local_only(on);
  proto::Empty empty;
  return control_->Kill(&context, request, &empty);
}

grpc::Status Ecod::drain(const std::string& server, bool on) {
  grpc::ClientContext context;
  set_deadline(context, 10);
  proto::DrainRequest request;
  request.set_server(server);
  request.set_drain(on);
  proto::Empty empty;
  return control_->Drain(&context, request, &empty);
}

grpc::Status Ecod::set_policy(const std::string& policy, std::optional<bool> shadow) {
  grpc::ClientContext context;
  set_deadline(context, 10);
  proto::PolicyRequest request;
  request.set_policy(policy);
  if (shadow) request.set_shadow(*shadow);
  proto::Empty empty;
  return control_->SetPolicy(&context, request, &empty);
}

std::vector<proto::LoggedDecision> Ecod::decisions() {
  grpc::ClientContext context;
  set_deadline(context, 2);
  proto::DecisionsRequest request;
  request.set_last(1000);
  proto::DecisionLog log;
  const auto status = control_->Decisions(&context, request, &log);
  if (!status.ok()) throw std::runtime_error(fmt::format("{}: Decisions: {}", name_, status.error_message()));
  return {log.decisions().begin(), log.decisions().end()};
}

std::pair<std::string, int> Ecod::ecoctl(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> command{program, "--socket", control_socket()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Process process(command, folder_ / fmt::format("ecoctl {}", ++ecoctls_));
  const int code = process.wait();
  return {process.log(), code};
}

std::string Ecod::metrics() {
  const std::string said = "metrics at port ", log = process_->log();
  const std::size_t at = log.find(said);
  return at == std::string::npos ? "" : http_get(std::stoi(log.substr(at + said.size())), "/metrics");
}

}  // namespace eco::test
