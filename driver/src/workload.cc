#include "workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

namespace edgejoule::driver {
namespace {

[[noreturn]] void refuse(const Properties& properties, const std::string& key, const std::string& why) {
  const auto origin = properties.origin(key);
  throw UsageError(fmt::format("{}{}={}: {}", origin.empty() ? "" : origin + ": property ", key,
                               properties.get(key, "(default)"), why));
}

// Reads properties and keeps what is in force for the start event.
class Reader {
 public:
  Reader(const Properties& properties, std::map<std::string, std::string>& in_force)
      : properties_(properties), in_force_(in_force) {}

  std::uint64_t number(const std::string& key, std::uint64_t default_value, std::uint64_t least = 0,
                       std::uint64_t most = std::numeric_limits<std::int64_t>::max()) {
    const auto value = properties_.get_u64(key, default_value);
    if (value < least || value > most) {
      refuse(properties_, key, fmt::format("expected a number from {} to {}", least, most));
    }
    in_force_[key] = fmt::format("{}", value);
    return value;
  }

  double proportion(const std::string& key, double default_value) {
    const auto value = properties_.get_double(key, default_value);
    if (value < 0) refuse(properties_, key, "expected a proportion >= 0");
    in_force_[key] = fmt::format("{}", value);
    return value;
  }

  bool flag(const std::string& key, bool default_value) {
    const auto value = properties_.get_bool(key, default_value);
    in_force_[key] = value ? "true" : "false";
    return value;
  }

  std::string text(const std::string& key, const std::string& default_value) {
    return in_force_[key] = properties_.get(key, default_value);
  }

  template <typename Value>
  Value choice(const std::string& key, const std::string& default_value,
               const std::vector<std::pair<std::string_view, Value>>& choices) {
    const auto value = text(key, default_value);
    std::string expected;
    for (const auto& [name, meaning] : choices) {
      if (name == value) return meaning;
      expected += fmt::format("{}{}", expected.empty() ? "" : ", ", name);
    }
    refuse(properties_, key, "expected one of: " + expected);
  }

 private:
  const Properties& properties_;
  std::map<std::string, std::string>& in_force_;
};

const std::vector<std::pair<std::string_view, LengthLaw>> length_laws{
    {"constant", LengthLaw::constant}, {"uniform", LengthLaw::uniform}, {"zipfian", LengthLaw::zipfian}};

constexpr std::uint64_t field_bytes_max = 1U << 30U;

void read_keys(Reader& reader, const Properties& properties, Command command, Workload& workload) {
  if (!properties.has("recordcount")) throw UsageError("property recordcount is missing: expected -p recordcount=N");
  workload.records = reader.number("recordcount", 0, 1);
  workload.insert_start = reader.number("insertstart", 0);
  if (workload.insert_start >= workload.records) {
    refuse(properties, "insertstart", fmt::format("expected less than recordcount={}", workload.records));
  }
  const auto rest = workload.records - workload.insert_start;
  workload.insert_count = reader.number("insertcount", rest, 1, rest);
  workload.hashed_keys = reader.choice<bool>("insertorder", "hashed", {{"hashed", true}, {"ordered", false}});
  workload.zero_padding = reader.number("zeropadding", 1, 0, 1000);
  workload.seconds_max = reader.number("maxexecutiontime", 0, 0, 1'000'000'000);
  if (command == Command::load) {
    workload.operations = workload.insert_count;
    return;
  }
  workload.operations = reader.number("operationcount", 0);
  if (workload.operations == 0 && workload.seconds_max == 0) {
    throw UsageError(
        "the run would never end: expected -p operationcount=N or -p maxexecutiontime=SECONDS greater than 0");
  }
}

void read_mix(Reader& reader, Workload& workload) {
  workload.proportions = {reader.proportion("readproportion", 0.95), reader.proportion("updateproportion", 0.05),
                          reader.proportion("insertproportion", 0), reader.proportion("scanproportion", 0),
                          reader.proportion("readmodifywriteproportion", 0)};
  if (std::accumulate(workload.proportions.begin(), workload.proportions.end(), 0.0) <= 0) {
    throw UsageError(
        "all proportions are 0: expected at least one of readproportion, updateproportion, insertproportion, "
        "scanproportion, readmodifywriteproportion above 0");
  }
  workload.key_law =
      reader.choice<KeyLaw>("requestdistribution", "uniform",
                            {{"uniform", KeyLaw::uniform}, {"zipfian", KeyLaw::zipfian}, {"latest", KeyLaw::latest}});
}

void read_fields(Reader& reader, Workload& workload) {
  const auto count = reader.number("fieldcount", 10, 1, 100'000);
  const auto prefix = reader.text("fieldnameprefix", "field");
  for (std::uint64_t i = 0; i < count; ++i) workload.fields.push_back(fmt::format("{}{}", prefix, i));
  workload.read_all_fields = reader.flag("readallfields", true);
  workload.write_all_fields = reader.flag("writeallfields", false);
}

void read_lengths(Reader& reader, const Properties& properties, Workload& workload) {
  workload.field_bytes.law = reader.choice<LengthLaw>("fieldlengthdistribution", "constant", length_laws);
  workload.field_bytes.most = reader.number("fieldlength", 100, 0, field_bytes_max);
  workload.field_bytes.least = reader.number("minfieldlength", 1);
  if (workload.field_bytes.law == LengthLaw::constant) workload.field_bytes.least = workload.field_bytes.most;
  if (workload.field_bytes.least > workload.field_bytes.most) {
    refuse(properties, "minfieldlength", fmt::format("expected at most fieldlength={}", workload.field_bytes.most));
  }
  workload.scan_records.law = reader.choice<LengthLaw>(
      "scanlengthdistribution", "uniform", {{"uniform", LengthLaw::uniform}, {"zipfian", LengthLaw::zipfian}});
  workload.scan_records.most = reader.number("maxscanlength", 1000, 1);
  workload.scan_records.least = reader.number("minscanlength", 1);
  if (workload.scan_records.least > workload.scan_records.most) {
    refuse(properties, "minscanlength", fmt::format("expected at most maxscanlength={}", workload.scan_records.most));
  }
  workload.verify = reader.flag("dataintegrity", false);
  if (workload.verify && workload.field_bytes.law != LengthLaw::constant) {
    refuse(properties, "dataintegrity", "needs fieldlengthdistribution=constant, so that values can be recomputed");
  }
}

}  // namespace

std::uint64_t Workload::expected_new_keys() const {
  const auto inserts = proportions[static_cast<std::size_t>(Transaction::insert)];
  return static_cast<std::uint64_t>(static_cast<double>(operations) * inserts * 2);
}

Workload workload_from(const Properties& properties, Command command) {
  Workload workload{};
  Reader reader(properties, workload.in_force);
  read_keys(reader, properties, command, workload);
  read_mix(reader, workload);
  read_fields(reader, workload);
  read_lengths(reader, properties, workload);
  workload.batch_records = reader.number("batchsize", 1, 1, 1'000'000);
  return workload;
}

}  // namespace edgejoule::driver
