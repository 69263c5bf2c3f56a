#include "core_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

#include "core_client.h"
#include "workload/property_reader.h"

namespace edgejoule::driver {
class CoreWorkload::Reader : public PropertyReader {
 public:
  using PropertyReader::PropertyReader;
};

namespace {

const std::vector<std::pair<std::string_view, LengthLaw>> length_laws{{"constant", LengthLaw::constant},
                                                                      {"uniform", LengthLaw::uniform},
                                                                      {"zipfian", LengthLaw::zipfian},
                                                                      {"histogram", LengthLaw::histogram}};

const std::vector<std::pair<std::string_view, RequestDistribution>> request_distributions{
    {"uniform", RequestDistribution::uniform},         {"zipfian", RequestDistribution::zipfian},
    {"latest", RequestDistribution::latest},           {"hotspot", RequestDistribution::hotspot},
    {"exponential", RequestDistribution::exponential}, {"sequential", RequestDistribution::sequential}};

constexpr std::uint64_t field_bytes_max = 1U << 30U;

}  // namespace

void CoreWorkload::read_keys(Reader& reader, const Properties& properties) {
  if (!properties.has("recordcount")) throw UsageError("property recordcount is missing: expected -p recordcount=N");
  records = reader.number("recordcount", 0, 1);
  insert_start = reader.number("insertstart", 0);
  if (insert_start >= records) {
    refuse(properties, "insertstart", fmt::format("expected less than recordcount={}", records));
  }
  const auto rest = records - insert_start;
  insert_count = reader.number("insertcount", rest, 1, rest);
  hashed_keys = reader.choice<bool>("insertorder", "hashed", {{"hashed", true}, {"ordered", false}});
  zero_padding = reader.number("zeropadding", 1, 0, 1000);
  integer_keys = reader.choice<bool>("keytype", "text", {{"text", false}, {"integer", true}});
  seconds_max = reader.number("maxexecutiontime", 0, 0, 1'000'000'000);
  if (command == Command::load) {
    operations = insert_count;
    return;
  }
  operations = reader.number("operationcount", 0);
  if (operations == 0 && seconds_max == 0) {
    throw UsageError(
        "the run would never end: expected -p operationcount=N or -p maxexecutiontime=SECONDS greater than 0");
  }
}

void CoreWorkload::read_mix(Reader& reader) {
  proportions = {reader.proportion("readproportion", 0.95), reader.proportion("updateproportion", 0.05),
                 reader.proportion("insertproportion", 0), reader.proportion("scanproportion", 0),
                 reader.proportion("readmodifywriteproportion", 0)};
  if (std::accumulate(proportions.begin(), proportions.end(), 0.0) <= 0) {
    throw UsageError(
        "all proportions are 0: expected at least one of readproportion, updateproportion, insertproportion, "
        "scanproportion, readmodifywriteproportion above 0");
  }
}

// Keys that a run may add: twice the expected number, as YCSB reserves.
std::uint64_t CoreWorkload::reserved_keys() const {
  const auto inserts = share(Transaction::insert);
  constexpr double keys_max = 1e18;  // more keys than a run can add, and less than a count can hold
  return static_cast<std::uint64_t>(std::min(static_cast<double>(operations) * inserts * 2, keys_max));
}

void CoreWorkload::read_requests(Reader& reader, const Properties& properties) {
  requests.distribution = reader.choice<RequestDistribution>("requestdistribution", "uniform", request_distributions);
  requests.first = insert_start;
  requests.count = insert_count;
  requests.records = records;
  requests.reserved = reserved_keys();
  requests.theta = reader.real("zipfian.theta", zipfian_theta, 0, zipfian_theta_max);
  const bool of_records = reader.choice<bool>("zipfian.ranks", "ycsb", {{"ycsb", false}, {"records", true}});
  if (of_records && requests.distribution == RequestDistribution::zipfian)
    requests.distribution = RequestDistribution::zipfian_of_records;
  read_hotspot(reader, properties);
  const auto percentile = reader.real("exponential.percentile", 95, 1e-9, 100 - 1e-9);
  const auto fraction = reader.real("exponential.frac", 0.8571428571, 1e-9, 100);
  requests.mean_age = static_cast<double>(records) * fraction / -std::log(1 - percentile / 100);
}

void CoreWorkload::read_hotspot(Reader& reader, const Properties& properties) {
  const auto data = reader.real("hotspotdatafraction", 0.2, 0, 1);
  requests.hot_share = reader.real("hotspotopnfraction", 0.8, 0, 1);
  requests.hot = static_cast<std::uint64_t>(static_cast<double>(insert_count) * data);
  if (requests.distribution != RequestDistribution::hotspot) return;
  if (requests.hot == 0 && requests.hot_share > 0) {
    refuse(properties, "hotspotdatafraction",
           fmt::format("leaves no record in the hot set, to which hotspotopnfraction={} of the requests go",
                       requests.hot_share));
  }
  if (requests.hot == insert_count && requests.hot_share < 1) {
    refuse(properties, "hotspotdatafraction",
           fmt::format("leaves no record outside the hot set, to which hotspotopnfraction={} of the requests go",
                       requests.hot_share));
  }
}

void CoreWorkload::read_fields(Reader& reader) {
  const auto count = reader.number("fieldcount", 10, 1, 100'000);
  const auto prefix = reader.text("fieldnameprefix", "field");
  for (std::uint64_t i = 0; i < count; ++i) fields.push_back(fmt::format("{}{}", prefix, i));
  read_all_fields = reader.flag("readallfields", true);
  write_all_fields = reader.flag("writeallfields", false);
  update_replaces = reader.update_replaces(write_all_fields || count == 1);
  has_updates = command == Command::run && share(Transaction::update) + share(Transaction::read_modify_write) > 0;
}

void CoreWorkload::read_lengths(Reader& reader, const Properties& properties) {
  field_bytes.law = reader.choice<LengthLaw>("fieldlengthdistribution", "constant", length_laws);
  if (field_bytes.law == LengthLaw::histogram) {
    read_field_histogram(reader, properties);
  } else {
    field_bytes.most = reader.number("fieldlength", 100, 0, field_bytes_max);
    field_bytes.least = reader.number("minfieldlength", 1);
  }
  if (field_bytes.law == LengthLaw::constant) field_bytes.least = field_bytes.most;
  if (field_bytes.least > field_bytes.most) {
    refuse(properties, "minfieldlength", fmt::format("expected at most fieldlength={}", field_bytes.most));
  }
  scan_records.law = reader.choice<LengthLaw>("scanlengthdistribution", "uniform",
                                              {{"uniform", LengthLaw::uniform}, {"zipfian", LengthLaw::zipfian}});
  scan_records.most = reader.number("maxscanlength", 1000, 1);
  scan_records.least = reader.number("minscanlength", 1);
  if (scan_records.least > scan_records.most) {
    refuse(properties, "minscanlength", fmt::format("expected at most maxscanlength={}", scan_records.most));
  }
  verify = reader.flag("dataintegrity", false);
  if (verify && field_bytes.law != LengthLaw::constant) {
    refuse(properties, "dataintegrity", "needs fieldlengthdistribution=constant, so that values can be recomputed");
  }
}

void CoreWorkload::read_field_histogram(Reader& reader, const Properties& properties) {
  field_bytes.histogram = std::make_shared<LengthHistogram>(reader.text("fieldlengthhistogram", "hist.txt"));
  field_bytes.least = 0;
  field_bytes.most = field_bytes.histogram->longest();
  if (field_bytes.most > field_bytes_max) {
    refuse(properties, "fieldlengthhistogram", fmt::format("expected lengths of at most {} bytes", field_bytes_max));
  }
}

std::unique_ptr<Work> CoreWorkload::begin(std::uint64_t seed, unsigned threads, bool verified) const {
  return std::make_unique<CoreWork>(*this, seed, threads, verified);
}

CoreWorkload::CoreWorkload(const Properties& properties, Command the_command) : command(the_command) {
  Reader reader(properties, in_force);
  read_keys(reader, properties);
  read_mix(reader);
  read_requests(reader, properties);
  read_fields(reader);
  read_lengths(reader, properties);
  batch_records = reader.number("batchsize", 1, 1, 1'000'000);
  each_key_once = command == Command::load;
  insert_retries = reader.number("core_workload_insertion_retry_limit", 0);
  insert_retry_interval_s = reader.real("core_workload_insertion_retry_interval", 3, 0, 1e6);
}

}  // namespace edgejoule::driver
