// ecoctl: queries and controls the ecod of this server; also reads a RocksDB LOG.
#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "command_line.h"
#include "eco.grpc.pb.h"
#include "estimate.h"
#include "policy.h"
#include "show.h"

namespace {

using namespace eco;

constexpr const char* examples = R"(Examples:
  ecoctl servers                    list the servers, their load and the master
  ecoctl decisions --last 20        show the last 20 decisions and their reasons
  ecoctl decisions --options        also show the prediction for each server
  ecoctl policy eco --shadow on     decide by the paper's rule, but only log the decisions
  ecoctl policy configured          return to the policy in the master's configuration
  ecoctl drain pi-3                 pi-3 takes no new jobs; its running jobs finish
  ecoctl undrain pi-3               pi-3 takes jobs again
  ecoctl kill                       every server compacts for itself, at once
  ecoctl resume                     servers offload again
  ecoctl estimate /data/db/LOG      estimate the cost of stalls and the savings of offloading
  ecoctl estimate /data/db/LOG --speed 4 --link-mbit-s 100    assume a server four times as fast, over a slow link
All commands except estimate talk to this server's ecod through its control socket; only its owner may use it.)";

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename Message>
void print_json(const Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) throw Failure(status.ToString());
  fmt::print("{}", text);
}

class Ecod {
 public:
  explicit Ecod(const std::string& socket)
      : socket_(socket),
        stub_(proto::Control::NewStub(grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials()))) {}

  template <typename Answer, typename Request>
  Answer ask(grpc::Status (proto::Control::Stub::*call)(grpc::ClientContext*, const Request&, Answer*),
             const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    Answer answer;
    const auto status = (stub_.get()->*call)(&context, request, &answer);
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE)
      throw Failure(fmt::format(
          "no ecod answers at {} (is it running? may you use the socket? --socket selects another)", socket_));
    if (!status.ok()) throw Failure(status.error_message());
    return answer;
  }

 private:
  std::string socket_;
  std::unique_ptr<proto::Control::Stub> stub_;
};

struct Arguments {
  std::string socket = "/run/ecod/control.sock", policy, shadow, server;
  bool json = false, options = false;
  double wait_s = 10;
  std::uint32_t last = 20;
  std::string log;
  Assumptions assumptions;
};

void servers(const Arguments& arguments) {
  const auto view = Ecod(arguments.socket).ask(&proto::Control::Stub::Servers, proto::Empty());
  arguments.json ? print_json(view) : fmt::print("{}", show(view));
}

void decisions(const Arguments& arguments) {
  proto::DecisionsRequest request;
  request.set_last(arguments.last);
  const auto log = Ecod(arguments.socket).ask(&proto::Control::Stub::Decisions, request);
  arguments.json ? print_json(log) : fmt::print("{}", show(log, arguments.options));
}

void policy(const Arguments& arguments) {
  Ecod ecod(arguments.socket);
  if (!arguments.policy.empty() || !arguments.shadow.empty()) {
    proto::PolicyRequest request;
    request.set_policy(arguments.policy);
    if (!arguments.shadow.empty()) request.set_shadow(arguments.shadow == "on");
    (void)ecod.ask(&proto::Control::Stub::SetPolicy, request);
  }
  const auto now = ecod.ask(&proto::Control::Stub::Servers, proto::Empty()).policy();
  if (arguments.json) return print_json(now);
  fmt::print("{}{}\n", now.name(), now.shadow() ? " in shadow mode" : "");
}

void drain(const Arguments& arguments, bool on) {
  proto::DrainRequest request;
  request.set_server(arguments.server);
  request.set_drain(on);
  (void)Ecod(arguments.socket).ask(&proto::Control::Stub::Drain, request);
  fmt::print("{} takes {}\n", arguments.server, on ? "no new jobs; its running jobs finish" : "jobs again");
}

// Waits until every server has confirmed, or the time is over.
Confirmation wait_for_confirmation(Ecod& ecod, bool on, double wait_s) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait_s);
  for (;;) {
    auto now = confirmation(ecod.ask(&proto::Control::Stub::Servers, proto::Empty()), on);
    if (now.complete() || std::chrono::steady_clock::now() > end) return now;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void kill(const Arguments& arguments, bool on) {
  Ecod ecod(arguments.socket);
  proto::KillRequest request;
  request.set_local_only(on);
  std::string kill_error;
  try {
    (void)ecod.ask(&proto::Control::Stub::Kill, request);
  } catch (const Failure& failure) {
    kill_error = failure.what();
  }
  const auto result =
      wait_for_confirmation(ecod, on, kill_error.empty() ? arguments.wait_s : std::min(arguments.wait_s, 2.0));
  fmt::print("{}", result.table);
  std::fflush(stdout);  // keeps the order with stderr in a common file
  if (!kill_error.empty()) throw Failure(kill_error);
  if (!result.own_switches.empty())
    throw Failure(fmt::format("{} of {} servers have confirmed. {} has its own kill switch on: run ecoctl resume there",
                              result.confirmed, result.servers, result.own_switches));
  if (!result.complete())
    throw Failure(
        fmt::format("{} of {} servers have confirmed. The others will follow when they reconnect; repeat "
                    "`ecoctl {}` to check",
                    result.confirmed, result.servers, on ? "kill" : "resume"));
  fmt::print("{}\n",
             on ? "every server compacts for itself; `ecoctl resume` ends that" : "compactions are offloaded again");
}

void estimate(const Arguments& arguments) {
  const Estimation estimation = estimate_log(arguments.log, arguments.assumptions);
  fmt::print("{}", arguments.json ? json_of(estimation) : show(estimation));
}

// The example lines for one command.
std::string examples_of(const std::string& command) {
  std::string lines;
  std::istringstream all(examples);
  for (std::string line; std::getline(all, line);)
    if (line.starts_with("  ecoctl " + command + ' ')) lines += '\n' + line;
  return "Examples:" + lines;
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"ecoctl: controls and inspects ecod", "ecoctl"};
  app.footer(examples);
  app.set_version_flag("--version", EDGEJOULE_VERSION);
  app.require_subcommand(1);
  app.add_option("--socket", arguments.socket, "control socket of ecod")
      ->envname("ECOD_CONTROL_SOCKET")
      ->capture_default_str();
  std::function<void(const Arguments&)> action;
  const auto command = [&](const std::string& name, const std::string& about,
                           std::function<void(const Arguments&)> call) {
    auto* sub = app.add_subcommand(name, about);
    sub->footer(examples_of(name));
    sub->callback([&action, call = std::move(call)] { action = call; });
    sub->fallthrough();
    return sub;
  };
  const auto with_json = [&](CLI::App* sub) { sub->add_flag("--json", arguments.json, "print all fields as JSON"); };

  with_json(command("servers", "list the servers, their load and the master", servers));
  auto* log =
      command("decisions", "list this ecod's decisions, with those it got from the master; newest last", decisions);
  with_json(log);
  log->add_option("--last", arguments.last, "number of decisions to show")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  log->add_flag("--options", arguments.options, "also show the prediction for each server");
  auto* set_policy = command("policy", "show or set the policy of all servers", policy);
  with_json(set_policy);
  set_policy->add_option("name", arguments.policy, policy_list() + ", or configured");
  set_policy->add_option("--shadow", arguments.shadow, "on: decide and log, offload nothing")
      ->check(CLI::IsMember({"on", "off"}));
  for (const bool on : {true, false}) {
    auto* sub = command(on ? "drain" : "undrain", on ? "stop giving jobs to a server" : "give jobs to a server again",
                        [on](const Arguments& a) { drain(a, on); });
    sub->add_option("server", arguments.server, "name of the server")->required();
  }
  for (const bool on : {true, false}) {
    auto* sub = command(on ? "kill" : "resume",
                        on ? "make every server compact for itself, at once and until resume" : "end kill",
                        [on](const Arguments& a) { kill(a, on); });
    sub->add_option("--wait-s", arguments.wait_s,
                    "time limit in seconds; the command fails if a server has not confirmed by then")
        ->capture_default_str()
        ->check(number_from_zero());
  }
  auto* reading =
      command("estimate", "estimate from a RocksDB LOG the cost of stalls and the savings of offloading", estimate);
  with_json(reading);
  reading->add_option("LOG", arguments.log, "RocksDB's info log: the file LOG in the database's folder")->required();
  auto& assumed = arguments.assumptions;
  reading->add_option("--speed", assumed.speed, "speed of the other server, relative to this one")
      ->capture_default_str()
      ->check(positive_number());
  reading->add_option("--link-mbit-s", assumed.link_mbit_s, "network speed between them")
      ->capture_default_str()
      ->check(positive_number());
  reading->add_option("--busy-core-w", assumed.busy_core_w, "watts of one busy core here, above idle")
      ->capture_default_str()
      ->check(positive_number());
  reading
      ->add_option("--other-busy-core-w", assumed.other_busy_core_w,
                   "watts of one busy core of the other server, above idle")
      ->capture_default_str()
      ->check(positive_number());
  reading->add_option("--idle-w", assumed.idle_w, "idle power of this server in watts")
      ->capture_default_str()
      ->check(number_from_zero());
  if (const auto code = parse_arguments(app, argc, argv)) return *code;
  action(arguments);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return eco::run_program("ecoctl", [&] { return run(argc, argv); });
}
