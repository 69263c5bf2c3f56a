// ecoctl: queries and controls the ecod of this server; also reads a RocksDB LOG.
#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "eco.grpc.pb.h"
#include "estimate.h"
#include "policy.h"
#include "show.h"

namespace {

using namespace eco;

constexpr const char* examples = R"(Examples:
  ecoctl servers                    who is there, what they do, who is the master
  ecoctl decisions --last 20        what was decided lately, and why
  ecoctl decisions --options        with what the places would have taken
  ecoctl policy eco --shadow on     decide by the paper's rule, but only log it
  ecoctl policy configured          back to what the master's configuration says
  ecoctl drain pi-3                 pi-3 takes no more jobs; those that run there end
  ecoctl undrain pi-3               and takes them again
  ecoctl kill                       every server compacts for itself, at once
  ecoctl resume                     and offloads again
  ecoctl estimate /data/db/LOG      what stalls cost there, and what offloading would save
  ecoctl estimate /data/db/LOG --speed 4 --link-mbit-s 100    by a server four times as fast, over a slow link
All but estimate ask the ecod of this server by its control socket, which its owner alone may use.)";

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
      throw Failure(
          fmt::format("no ecod answers at {} (does it run? may you use its socket? --socket names another)", socket_));
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
  fmt::print("{} takes {}\n", arguments.server, on ? "no more jobs; those that run there end" : "jobs again");
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
  std::string request_error;
  try {
    (void)ecod.ask(&proto::Control::Stub::Kill, request);
  } catch (const Failure& failure) {
    request_error = failure.what();
  }
  const auto confirmation =
      wait_for_confirmation(ecod, on, request_error.empty() ? arguments.wait_s : std::min(arguments.wait_s, 2.0));
  fmt::print("{}", confirmation.table);
  std::fflush(stdout);  // keeps the order with stderr in a common file
  if (!request_error.empty()) throw Failure(request_error);
  if (!confirmation.own_switches.empty())
    throw Failure(
        fmt::format("{} of {} servers have confirmed. {} has a kill switch of its own: run ecoctl resume there",
                    confirmation.confirmed, confirmation.servers, confirmation.own_switches));
  if (!confirmation.complete())
    throw Failure(
        fmt::format("{} of {} servers have confirmed. The others obey when they are connected again; repeat "
                    "`ecoctl {}` to see that they did",
                    confirmation.confirmed, confirmation.servers, on ? "kill" : "resume"));
  fmt::print("{}\n",
             on ? "every server compacts for itself; `ecoctl resume` ends that" : "compactions are offloaded again");
}

void estimate(const Arguments& arguments) {
  const Estimation estimation = estimate_log(arguments.log, arguments.assumptions);
  fmt::print("{}", arguments.json ? json_of(estimation) : show(estimation));
}

// CLI11's checks let nan and inf through.
const CLI::Validator finite(
    [](const std::string& text) {
      double value = 0;
      return CLI::detail::lexical_cast(text, value) && std::isfinite(value) ? std::string()
                                                                            : text + " is no finite number";
    },
    "");

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
  CLI::App app{"ecoctl: the operator's side of ecod", "ecoctl"};
  app.footer(examples);
  app.set_version_flag("--version", EDGEJOULE_VERSION);
  app.require_subcommand(1);
  app.add_option("--socket", arguments.socket, "the ecod's control socket")
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
  const auto with_json = [&](CLI::App* sub) { sub->add_flag("--json", arguments.json, "for a program: all fields"); };

  with_json(command("servers", "the server table: who is there, what they do, who is the master", servers));
  auto* log = command("decisions", "what the asked ecod decided or was told, newest last", decisions);
  with_json(log);
  log->add_option("--last", arguments.last, "so many")->capture_default_str()->check(CLI::Range(1, 1000));
  log->add_flag("--options", arguments.options, "with what the places would have taken");
  auto* set_policy = command("policy", "shows or sets the policy of all servers", policy);
  with_json(set_policy);
  set_policy->add_option("name", arguments.policy, policy_list() + ", or configured");
  set_policy->add_option("--shadow", arguments.shadow, "on: decide and log, offload nothing")
      ->check(CLI::IsMember({"on", "off"}));
  for (const bool on : {true, false}) {
    auto* sub = command(on ? "drain" : "undrain", on ? "a server takes no more jobs" : "it takes jobs again",
                        [on](const Arguments& a) { drain(a, on); });
    sub->add_option("server", arguments.server, "its name")->required();
  }
  for (const bool on : {true, false}) {
    auto* sub =
        command(on ? "kill" : "resume", on ? "every server compacts for itself, at once and until resume" : "ends kill",
                [on](const Arguments& a) { kill(a, on); });
    sub->add_option("--wait-s", arguments.wait_s,
                    "until each server has confirmed; then those that have not are a failure")
        ->capture_default_str()
        ->check(finite)
        ->check(CLI::NonNegativeNumber);
  }
  auto* reading =
      command("estimate", "what stalls cost a database and what offloading would save, by its LOG", estimate);
  with_json(reading);
  reading->add_option("LOG", arguments.log, "RocksDB's info log: LOG in the database's folder")->required();
  auto& assumed = arguments.assumptions;
  reading->add_option("--speed", assumed.speed, "of the other server: so many times as fast as this one")
      ->capture_default_str()
      ->check(finite)
      ->check(CLI::PositiveNumber);
  reading->add_option("--link-mbit-s", assumed.link_mbit_s, "of the network between them")
      ->capture_default_str()
      ->check(finite)
      ->check(CLI::PositiveNumber);
  reading->add_option("--busy-core-w", assumed.busy_core_w, "watts of a busy core here, above idle")
      ->capture_default_str()
      ->check(finite)
      ->check(CLI::PositiveNumber);
  reading->add_option("--other-busy-core-w", assumed.other_busy_core_w, "and there")
      ->capture_default_str()
      ->check(finite)
      ->check(CLI::PositiveNumber);
  reading->add_option("--idle-w", assumed.idle_w, "of this server")
      ->capture_default_str()
      ->check(finite)
      ->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);
  action(arguments);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "ecoctl: {}\n", error.what());
    return 1;
  }
}
