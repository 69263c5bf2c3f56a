#include "show.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string_view>

#include "text_table.h"

namespace eco {
namespace {

using Align = TextTable::Align;
constexpr const char* missing = "-";

std::string seconds(double s) {
  if (s <= 0) return missing;
  return s < 1 ? fmt::format("{:.0f} ms", s * 1e3) : fmt::format("{:.1f} s", s);
}

std::string bits_s(bool known, double bytes_s) {
  if (!known) return missing;
  const double mbit_s = bytes_s * 8e-6;
  return mbit_s >= 1000 ? fmt::format("{:g} Gbit/s", std::round(mbit_s / 10) / 100)
                        : fmt::format("{:.1f} Mbit/s", mbit_s);
}

std::string megabytes(double bytes) { return fmt::format("{:.1f} MB", bytes * 1e-6); }

std::string state_of(const proto::ServerLine& line) {
  if (line.state().has_left_s()) return line.why_not();
  if (!line.alive()) return fmt::format("silent for {:.0f} s", line.state().age_s());
  const std::string state = line.takes_jobs() ? "takes jobs" : line.why_not();
  return state + (line.state().local_only_here() ? "; ITS OWN KILL SWITCH IS ON" : "");
}

double observations(const proto::ServerState& state) {
  double sum = 0;
  for (const auto* models : {&state.models(), &state.guest()})
    for (const auto& model : *models) sum += model.compute().observations();
  return sum;
}

std::string head(const proto::FederationView& view) {
  int alive = 0;
  for (const auto& line : view.servers()) alive += line.alive();
  constexpr std::string_view fixed = "static:";
  const std::string& policy = view.policy().name();
  const bool unknown = policy.starts_with(fixed) && std::ranges::none_of(view.servers(), [&](const auto& line) {
                         return line.state().name() == policy.substr(fixed.size());
                       });
  std::string out = fmt::format("asked {}: ", view.server());
  out += view.master().empty() ? "no known master" : fmt::format("master {}, epoch {}", view.master(), view.epoch());
  out +=
      fmt::format("; policy {}{}{}; {} of {} servers alive\n", policy, unknown ? " (NO SERVER HAS THIS NAME)" : "",
                  view.policy().shadow() ? " in shadow mode (nothing is offloaded)" : "", alive, view.servers_size());
  if (view.settings().local_only()) out += "THE KILL SWITCH IS ON: every server compacts for itself (ecoctl resume)\n";
  if (view.local_only_here())
    out += fmt::format("THE KILL SWITCH IS ON at {0} alone (`ecoctl resume` at {0} ends it){1}\n", view.server(),
                       view.master().empty() ? ": the other servers are unreachable, no known master" : "");
  return out;
}

// For the queried server: its applications' jobs.
std::string jobs_elsewhere(const proto::FederationView& view) {
  const auto& jobs = view.own_jobs();
  if (jobs.offloaded() == 0) return "";
  std::string out = fmt::format("{} has offloaded {} of its jobs, {} fell back; tables: {} by streams", view.server(),
                                jobs.offloaded(), jobs.fell_back(), megabytes(static_cast<double>(jobs.bytes_moved())));
  if (jobs.shared() > 0)
    out += fmt::format(", {} by shared folders ({} jobs)", megabytes(static_cast<double>(jobs.bytes_shared())),
                       jobs.shared());
  return out + '\n';
}

std::string moved(const proto::LoggedDecision& decision) {
  std::string out;
  if (decision.bytes_moved() > 0) out = megabytes(static_cast<double>(decision.bytes_moved()));
  if (decision.bytes_shared() > 0)
    out +=
        fmt::format("{}{} shared", out.empty() ? "" : " + ", megabytes(static_cast<double>(decision.bytes_shared())));
  return out.empty() ? missing : out;
}

std::string local_time(double unix_s) {
  const auto at = static_cast<std::time_t>(unix_s);
  return fmt::format("{:%H:%M:%S}.{:03.0f}", fmt::localtime(at), std::floor((unix_s - std::floor(unix_s)) * 1e3));
}

std::string place_of(const proto::Placement& placement) {
  if (!placement.offload()) return "local";
  return placement.server() + (placement.shadow() ? " (shadow)" : "");
}

std::string options_of(const proto::LoggedDecision& decision) {
  TextTable table({{"    SERVER"},
                   {"TIME", Align::right},
                   {"ENERGY", Align::right},
                   {"COST", Align::right},
                   {"STALLS"},
                   {"AVAILABLE"}});
  for (const auto& option : decision.options())
    table.add({"    " + option.server(), fmt::format("{:.3f} s", option.time_s()),
               fmt::format("{:.2f} J", option.energy_j()), fmt::format("{:.2f} J", option.cost_j()),
               option.stalls() ? "yes" : "no", option.available() ? "yes" : "no"});
  return table.text();
}

}  // namespace

std::string show(const proto::FederationView& view) {
  TextTable table({{"SERVER"},
                   {"STATE"},
                   {"JOBS", Align::right},
                   {"CORES", Align::right},
                   {"BUSY", Align::right},
                   {"LINK", Align::right},
                   {"USED", Align::right},
                   {"POWER", Align::right},
                   {"BUSY CORE", Align::right},
                   {"WATTS ARE"},
                   {"BATTERY", Align::right},
                   {"LEARNT FROM", Align::right},
                   {"ROCKSDB"},
                   {"ADDRESS"}});
  for (const auto& line : view.servers()) {
    const auto& state = line.state();
    table.add({state.name() + (state.name() == view.master() ? " *" : ""), state_of(line),
               fmt::format("{}{}/{}", state.jobs(), line.placed() > 0 ? fmt::format("+{}", line.placed()) : "",
                           state.slots()),
               fmt::format("{:g}", state.cores()),
               state.has_busy_cores() ? fmt::format("{:.2f}", state.busy_cores()) : missing,
               bits_s(state.has_link_bytes_s(), state.link_bytes_s()),
               bits_s(state.has_network_bytes_s(), state.network_bytes_s()),
               state.has_power_w() ? fmt::format("{:.1f} W", state.power_w()) : missing,
               fmt::format("{:.1f} W", state.busy_core_w()), state.power_method(),
               state.has_battery() ? fmt::format("{:.0f} %", state.battery() * 100) : "mains",
               fmt::format("{:.0f} jobs", observations(state)), state.rocksdb().empty() ? missing : state.rocksdb(),
               state.address().empty() ? missing : state.address()});
  }
  return head(view) + table.text() + jobs_elsewhere(view);
}

Confirmation confirmation(const proto::FederationView& view, bool local_only) {
  Confirmation out;
  TextTable table({{"SERVER"}, {"STATE"}});
  for (const auto& line : view.servers()) {
    const auto& state = line.state();
    if (state.has_left_s()) {
      table.add({state.name(), line.why_not() + ": its applications compact for themselves"});
      continue;
    }
    const bool own_switch = !local_only && state.local_only_here();
    if (own_switch) out.own_switches += (out.own_switches.empty() ? "" : ", ") + state.name();
    const bool obeys = line.alive() && state.local_only() == local_only;
    ++out.servers, out.confirmed += obeys;
    table.add({state.name(), obeys           ? "confirmed"
                             : !line.alive() ? "NOT CONFIRMED: " + state_of(line)
                             : own_switch    ? "NOT CONFIRMED: its own kill switch is on"
                             : local_only    ? "NOT CONFIRMED: it still offloads"
                                             : "NOT CONFIRMED: it still compacts for itself"});
  }
  out.table = table.text();
  return out;
}

std::string show(const proto::DecisionLog& log, bool with_options) {
  if (log.decisions().empty()) return "no decisions yet\n";
  if (with_options) {
    std::string out;
    for (const auto& d : log.decisions())
      out += fmt::format(
          "{}  {} asks for {} of level 0 ({} entries): {}: {} (by {}, epoch {}, {:.2f} ms){}\n{}", local_time(d.at_s()),
          d.request().server(), megabytes(static_cast<double>(d.request().features().input_bytes())),
          d.request().features().input_entries(), place_of(d.placement()), d.placement().reason(),
          d.placement().decided_by(), d.placement().epoch(), d.took_s() * 1e3,
          d.outcome().empty() ? "" : fmt::format("; {} after {:.2f} s, moved {}", d.outcome(), d.wall_s(), moved(d)),
          options_of(d));
    return out;
  }
  TextTable table({{"TIME"},
                   {"ASKED BY"},
                   {"INPUT", Align::right},
                   {"L0", Align::right},
                   {"PLACE"},
                   {"EXPECTED", Align::right},
                   {"HERE", Align::right},
                   {"TOOK", Align::right},
                   {"OUTCOME"},
                   {"MOVED"},
                   {"BY"},
                   {"REASON"}});
  for (const auto& d : log.decisions()) {
    const auto& level_zero = d.request().level_zero();
    table.add({local_time(d.at_s()), d.request().server(),
               megabytes(static_cast<double>(d.request().features().input_bytes())),
               level_zero.stop() > 0 ? fmt::format("{:.0f}/{:.0f}", level_zero.files(), level_zero.stop()) : missing,
               place_of(d.placement()), seconds(d.placement().expected_s()), seconds(d.placement().local_s()),
               fmt::format("{:.2f} ms", d.took_s() * 1e3),
               d.outcome().empty() ? missing : fmt::format("{}, {}", d.outcome(), seconds(d.wall_s())), moved(d),
               d.placement().decided_by(), d.placement().reason()});
  }
  return table.text();
}

}  // namespace eco
