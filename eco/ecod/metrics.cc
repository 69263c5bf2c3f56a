#include "metrics.h"

#include <fmt/format.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>

#include <optional>
#include <stdexcept>

namespace eco {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<prometheus::ClientMetric::Label>;

class Page {
 public:
  void add(const std::string& name, const std::string& help, MetricType type, std::optional<double> value,
           Labels labels = {}) {
    if (!value) return;
    if (families_.empty() || families_.back().name != name) families_.push_back({name, help, type, {}});
    auto& metric = families_.back().metric.emplace_back();
    metric.label = std::move(labels);
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = *value;
  }
  [[nodiscard]] std::vector<MetricFamily> families() && { return std::move(families_); }

 private:
  std::vector<MetricFamily> families_;
};

class Source final : public prometheus::Collectable {
 public:
  explicit Source(Node& node) : node_(node) {}

  [[nodiscard]] std::vector<MetricFamily> Collect() const override {
    Page page;
    const auto view = node_.view();
    federation(page, view);
    for (const auto& line : view.servers())
      if (line.state().name() == view.server()) server(page, line.state());
    counts(page, node_.counts());
    return std::move(page).families();
  }

 private:
  static void federation(Page& page, const proto::FederationView& view) {
    const auto gauge = MetricType::Gauge;
    double alive = 0, taking = 0;
    for (const auto& line : view.servers()) alive += line.alive(), taking += line.takes_jobs();
    page.add("ecod_is_master", "this server is the master", gauge, view.master() == view.server());
    page.add("ecod_master_is_heard", "a master is known", gauge, !view.master().empty());
    page.add("ecod_epoch", "of the newest known master", gauge, static_cast<double>(view.epoch()));
    page.add("ecod_table_age_seconds", "since the master's last message", gauge,
             view.table_age_s() < 1e6 ? std::optional(view.table_age_s()) : std::nullopt);
    page.add("ecod_servers_alive", "with messages in time", gauge, alive);
    page.add("ecod_servers_taking_jobs", "that take a job now", gauge, taking);
    page.add("ecod_local_only", "the kill switch is on", gauge, view.settings().local_only() || view.local_only_here());
    page.add("ecod_shadow", "decisions are logged and not followed", gauge, view.policy().shadow());
    page.add("ecod_policy", "in force", gauge, 1, {{"name", view.policy().name()}});
  }

  static void server(Page& page, const proto::ServerState& state) {
    const auto gauge = MetricType::Gauge;
    const auto known = [](bool has, double value) { return has ? std::optional(value) : std::nullopt; };
    page.add("ecod_cores", "that eco counts on", gauge, state.cores());
    page.add("ecod_busy_cores", "of the server", gauge, known(state.has_busy_cores(), state.busy_cores()));
    page.add("ecod_network_bytes_per_second", "of the direction that is used more", gauge,
             known(state.has_network_bytes_s(), state.network_bytes_s()));
    page.add("ecod_link_bytes_per_second", "of the interface", gauge,
             known(state.has_link_bytes_s(), state.link_bytes_s()));
    page.add("ecod_power_watts", "of the server", gauge, known(state.has_power_w(), state.power_w()),
             {{"method", state.power_method()}});
    page.add("ecod_battery_ratio", "what is left", gauge, known(state.has_battery(), state.battery()));
    page.add("ecod_worker_jobs", "of other servers, running here", gauge, state.jobs());
    page.add("ecod_worker_slots", "for them", gauge, state.slots());
    page.add("ecod_draining", "takes no more jobs", gauge, state.draining());
    double observations = 0;
    for (const auto* models : {&state.models(), &state.guest()})
      for (const auto& model : *models) observations += model.compute().observations();
    page.add("ecod_model_observations", "compactions that its models have learnt from", gauge, observations);
  }

  static void counts(Page& page, const NodeCounts& counts) {
    const auto counter = MetricType::Counter;
    const auto add = [&](const std::string& name, const std::string& help, std::uint64_t value, Labels labels = {}) {
      page.add(name, help, counter, static_cast<double>(value), std::move(labels));
    };
    add("ecod_placements_total", "asked for by this server's applications", counts.offloads, {{"place", "remote"}});
    add("ecod_placements_total", "", counts.locals, {{"place", "local"}});
    page.add("ecod_decision_seconds_total", "that they waited for the answer", counter, counts.decision_s);
    add("ecod_placements_by_total", "who decided", counts.placements_by_master, {{"by", "master"}});
    add("ecod_placements_by_total", "", counts.placements_without_master, {{"by", "without the master"}});
    add("ecod_decided_for_others_total", "as the master", counts.decided_for_others);
    add("ecod_stale_masters_refused_total", "answers and tables from an earlier epoch", counts.stale_refused);
    add("ecod_reports_total", "jobs that applications reported", counts.reports);
    add("ecod_fell_back_total", "of them, offloaded without success", counts.fell_back);
    add("ecod_tables_bytes_total", "of tables, moved for this server's jobs elsewhere", counts.bytes_moved,
        {{"by", "stream"}});
    add("ecod_tables_bytes_total", "", counts.bytes_shared, {{"by", "shared folder"}});
    add("ecod_shared_jobs_total", "whose tables went through a shared folder", counts.jobs_shared);
    add("ecod_federation_errors_total", "requests to the master that failed", counts.federation_errors);
  }

  Node& node_;
};

}  // namespace

Metrics::Metrics(Node& node, const std::string& listen) : source_(std::make_shared<Source>(node)) {
  try {
    exposer_ = std::make_unique<prometheus::Exposer>(listen, 1);
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("metrics.listen {}: {}", listen, error.what()));
  }
  exposer_->RegisterCollectable(source_);
}

Metrics::~Metrics() = default;

int Metrics::port() const { return exposer_->GetListeningPorts().front(); }

}  // namespace eco
