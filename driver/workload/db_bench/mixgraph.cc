// mixgraph: gets, puts and seeks modelled on the store of a social graph, at a rate that may follow a sine.
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include "db_bench_client.h"
#include "kinds.h"
#include "mixgraph_law.h"

namespace edgejoule::driver::db_bench {
namespace {

constexpr double coefficient_max = 1e9;
constexpr std::uint64_t value_bytes_max = 1U << 20U;
constexpr std::uint64_t scan_records_max = 1'000'000'000;

class Mixgraph final : public DbBenchWorkload {
 public:
  Mixgraph(const Properties& properties, Command the_command)
      : DbBenchWorkload(properties, the_command, "reads"), law_(law_of(properties)) {
    read_rate(properties);
  }

  [[nodiscard]] std::unique_ptr<Client> client(DbBenchWork& work, Session& session, unsigned number) const override;

 private:
  MixgraphLaw law_of(const Properties& properties);
  void read_key_laws(PropertyReader& reader, MixgraphParameters& parameters);
  void read_rate(const Properties& properties);

  const MixgraphLaw law_;
};

class MixgraphClient final : public DbBenchClient {
 public:
  MixgraphClient(DbBenchWork& shared, Session& session, unsigned number, const MixgraphLaw& law)
      : DbBenchClient(shared, session, number), law_(law) {}

 private:
  std::uint64_t step(std::uint64_t) override {
    if (next_ == operations_.size()) decide();
    const auto& operation = operations_[next_++];
    switch (operation.kind) {
      case MixgraphOperation::Kind::get:
        get(operation.key);
        break;
      case MixgraphOperation::Kind::put:
        put(operation.key, operation.amount);
        break;
      case MixgraphOperation::Kind::seek:
        seek(operation.key, operation.amount);
        break;
    }
    return 1;
  }

  void decide() {
    Scattered draws;
    for (auto& each : draws) {
      draw_database();
      each = draw_key();
    }
    law_.decide(draws, operations_);
    next_ = 0;
  }

  const MixgraphLaw& law_;
  MixgraphLaw::Operations operations_{};
  std::size_t next_ = operations_.size();
};

std::unique_ptr<Client> Mixgraph::client(DbBenchWork& work, Session& session, unsigned number) const {
  return std::make_unique<MixgraphClient>(work, session, number, law_);
}

void Mixgraph::read_key_laws(PropertyReader& reader, MixgraphParameters& parameters) {
  parameters.key_dist_a = reader.real("key_dist_a", 0, 0, coefficient_max);
  parameters.key_dist_b = reader.real("key_dist_b", 0, 0, coefficient_max);
  const auto coefficient = [&reader](const std::string& name) {
    return reader.real(name, 0, -coefficient_max, coefficient_max);
  };
  const TwoTermExponential shares{coefficient("keyrange_dist_a"), coefficient("keyrange_dist_b"),
                                  coefficient("keyrange_dist_c"), coefficient("keyrange_dist_d")};
  if (shares.a != 0 || shares.b != 0 || shares.c != 0 || shares.d != 0) parameters.key_range_shares = shares;
  parameters.key_range_count = reader.number("keyrange_num", 1, 1, keys);
}

MixgraphLaw Mixgraph::law_of(const Properties& properties) {
  PropertyReader reader(properties, in_force);
  MixgraphParameters parameters{};
  parameters.keys = keys;
  read_key_laws(reader, parameters);
  parameters.ratios = {reader.proportion("mix_get_ratio", 1), reader.proportion("mix_put_ratio", 0),
                       reader.proportion("mix_seek_ratio", 0)};
  if (!(std::accumulate(parameters.ratios.begin(), parameters.ratios.end(), 0.0) > 0)) {
    refuse(properties, "mix_get_ratio", "expected mix_get_ratio, mix_put_ratio or mix_seek_ratio above 0");
  }
  const auto pareto = [&reader](const std::string& of, double k, double sigma) {
    const auto number = [&](const std::string& name, double default_value) {
      return reader.real(of + name, default_value, -coefficient_max, coefficient_max);
    };
    return Pareto{number("_theta", 0), number("_k", k), number("_sigma", sigma)};
  };
  parameters.value_bytes = pareto("value", 0.2615, 25.45);
  parameters.value_bytes_max = reader.number("mix_max_value_size", 1024, 1, value_bytes_max);
  parameters.scan_records = pareto("iter", 2.517, 14.236);
  parameters.scan_records_max = reader.number("mix_max_scan_len", 10'000, 1, scan_records_max);
  try {
    return MixgraphLaw(parameters);
  } catch (const std::range_error& expected) {
    refuse(properties, parameters.key_range_shares ? "keyrange_dist_a" : "key_dist_a",
           fmt::format("no law of keys follows: expected {}", expected.what()));
  }
}

// a sin(b t + c) + d, t in seconds.
void Mixgraph::read_rate(const Properties& properties) {
  PropertyReader reader(properties, in_force);
  const bool varies = reader.flag("sine_mix_rate", false);
  const auto a = reader.real("sine_a", 1, 0, coefficient_max);
  const auto b = reader.real("sine_b", 1, 1e-12, coefficient_max);
  const auto c = reader.real("sine_c", 0, -coefficient_max, coefficient_max);
  const auto d = reader.real("sine_d", 1, 0, coefficient_max);
  if (!varies || command == Command::load) return;
  if (!(d > 0) || a > d)
    refuse(properties, "sine_d", "expected a mean rate above 0, and not below the amplitude sine_a");
  defaults["rate"] = fmt::format("sine:mean={},amplitude={},period={},phase={}", d, a, 2 * std::numbers::pi / b, c);
}

}  // namespace

WorkloadKind mixgraph() {
  using enum PropertyType;
  return db_bench_kind(
      "mixgraph", "db_bench: gets, puts and seeks of a social graph's store (Cao et al., FAST '20)",
      {{"reads", count, "operations of all types together; also set by operationcount", "num"},
       {"key_dist_a", number, "popularity of a key, a x^b: a; a = 0 or b = 0: uniform", "0"},
       {"key_dist_b", number, "popularity of a key: b", "0"},
       {"keyrange_num", count, "number of key ranges", "1"},
       {"keyrange_dist_a", real, "share of a key range, a exp(b x) + c exp(d x): a; all four 0: no ranges", "0"},
       {"keyrange_dist_b", real, "share of a key range: b", "0"},
       {"keyrange_dist_c", real, "share of a key range: c", "0"},
       {"keyrange_dist_d", real, "share of a key range: d", "0"},
       {"mix_get_ratio", share, "share of gets among the operations", "1"},
       {"mix_put_ratio", share, "share of puts among the operations", "0"},
       {"mix_seek_ratio", share, "share of seeks among the operations", "0"},
       {"value_theta", real, "bytes of a put's value, generalised Pareto distribution: location", "0"},
       {"value_k", real, "bytes of a put's value: shape", "0.2615"},
       {"value_sigma", real, "bytes of a put's value: scale", "25.45"},
       {"mix_max_value_size", count, "a drawn size above this becomes the remainder of its division by this", "1024"},
       {"iter_theta", real, "records read after a seek, generalised Pareto distribution: location", "0"},
       {"iter_k", real, "records read after a seek: shape", "2.517"},
       {"iter_sigma", real, "records read after a seek: scale", "14.236"},
       {"mix_max_scan_len", count, "a seek reads the drawn number modulo this", "10000"},
       {"sine_mix_rate", flag, "run at a rate of a sin(b t + c) + d operations per second", "false"},
       {"sine_a", number, "a, operations per second", "1"},
       {"sine_b", number, "b, radians per second", "1"},
       {"sine_c", real, "c, radians", "0"},
       {"sine_d", number, "d, operations per second, at least sine_a", "1"}},
      [](const Properties& properties, Command command) { return std::make_unique<Mixgraph>(properties, command); });
}

}  // namespace edgejoule::driver::db_bench
