#include "workload/known_properties.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "adapters/registry.h"
#include "workload/workload_kinds.h"

namespace edgejoule::driver {
namespace {

const AdapterInfo adapter{"sqlite", "", {{"sqlite.path", "", ""}, {"sqlite.journal_mode", "", "WAL"}}, {}};

std::string refusal(const std::string& key, const std::string& origin) {
  Properties properties;
  properties.set(key, "x", origin);
  try {
    static_cast<void>(check_names(properties, adapter));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> notes(const std::string& key, const std::string& origin) {
  Properties properties;
  properties.set(key, "x", origin);
  return check_names(properties, adapter);
}

TEST(KnownProperties, a_slip_is_refused_with_the_nearest_name) {
  EXPECT_EQ(refusal("recordcuont", "-p"), "-p: unknown property recordcuont; did you mean recordcount?");
  EXPECT_EQ(refusal("sqlite.jornal_mode", "a.properties:3"),
            "a.properties:3: unknown property sqlite.jornal_mode; did you mean sqlite.journal_mode?");
  EXPECT_EQ(refusal("measurment.interval", "a.properties:3"),
            "a.properties:3: unknown property measurment.interval; did you mean measurement.interval?");
}

TEST(KnownProperties, an_unknown_option_of_the_database_is_refused_with_its_own_options_only) {
  EXPECT_EQ(refusal("sqlite.cache", "-p"), "-p: unknown property sqlite.cache; did you mean sqlite.path?");
  EXPECT_EQ(refusal("sqlite.xyzzy_xyzzy_xyzzy_xyzzy", "-p"),
            "-p: unknown property sqlite.xyzzy_xyzzy_xyzzy_xyzzy; sqlite has: sqlite.path, sqlite.journal_mode");
}

TEST(KnownProperties, an_option_of_another_database_is_refused_with_that_database) {
  EXPECT_EQ(refusal("noop.speed", "-p"),
            "-p: unknown property noop.speed: an option of noop, but the database is sqlite");
}

TEST(KnownProperties, options_of_other_databases_are_noted_in_files_and_refused_on_the_command_line) {
  EXPECT_EQ(notes("mongodb.url", "a.properties:3"),
            std::vector<std::string>{"of other databases, ignored: mongodb.url"});
  EXPECT_NE(refusal("mongodb.url", "-p"), "");
}

TEST(KnownProperties, a_prefix_that_misses_a_database_by_one_letter_is_refused_in_a_file) {
  EXPECT_EQ(refusal("mongodbb.url", "a.properties:3"),
            "a.properties:3: unknown property mongodbb.url; did you mean mongodb.url?");
  EXPECT_EQ(notes("db.url", "a.properties:3"), std::vector<std::string>{"of other databases, ignored: db.url"});
  EXPECT_EQ(notes("jdbc.batchupdateapi", "a.properties:3"),
            std::vector<std::string>{"of other databases, ignored: jdbc.batchupdateapi"});
}

std::vector<std::string> notes_of_value(const std::string& key, const std::string& value, const AdapterInfo& of) {
  Properties properties;
  properties.set(key, value);
  return check_names(properties, of);
}

TEST(KnownProperties, ycsb_properties_without_effect_are_noted_with_the_reason) {
  EXPECT_EQ(notes("spin.sleep", "-p"),
            std::vector<std::string>{"without effect here: spin.sleep (waiting threads sleep)"});
  EXPECT_EQ(notes("htrace.sampler.classes", "a.properties:3"),
            std::vector<std::string>{"without effect here: htrace.sampler.classes (the driver does not trace)"});
  EXPECT_TRUE(notes("recordcount", "-p").empty());
  EXPECT_TRUE(notes("sqlite.path", "-p").empty());
}

TEST(KnownProperties, a_measurement_type_of_ycsb_that_is_not_imitated_is_noted_and_no_other_accepted) {
  EXPECT_TRUE(notes_of_value("measurementtype", "hdrhistogram", adapter).empty());
  for (const auto* type : {"histogram", "timeseries", "raw", "hdrhistogram+raw", "hdrhistogram+histogram"}) {
    EXPECT_EQ(notes_of_value("measurementtype", type, adapter).size(), 1U) << type;
  }
  EXPECT_EQ(refusal("measurementtype", "-p").substr(0, 42), "-p: measurementtype=x: expected one of: hd");
}

TEST(KnownProperties, a_table_is_noted_where_the_database_keeps_one) {
  EXPECT_TRUE(notes_of_value("table", "cars", adapter).empty());
  EXPECT_EQ(notes_of_value("table", "cars", *find_adapter("noop")),
            std::vector<std::string>{"without effect here: table (noop keeps one table)"});
}

// Every property that Java YCSB 0.17.0's client, core workload and measurements read.
TEST(KnownProperties, no_property_of_ycsb_s_core_is_unknown) {
  const std::map<std::string, std::string> values{{"core_workload_insertion_retry_interval", "3"},
                                                  {"core_workload_insertion_retry_limit", "0"},
                                                  {"dataintegrity", "false"},
                                                  {"db", "sqlite"},
                                                  {"dotransactions", "true"},
                                                  {"exponential.frac", "0.8"},
                                                  {"exponential.percentile", "95"},
                                                  {"exporter", "x"},
                                                  {"exportfile", "x"},
                                                  {"fieldcount", "10"},
                                                  {"fieldlength", "100"},
                                                  {"fieldlengthdistribution", "constant"},
                                                  {"fieldlengthhistogram", "hist.txt"},
                                                  {"fieldnameprefix", "field"},
                                                  {"hdrhistogram.fileoutput", "false"},
                                                  {"hdrhistogram.output.path", "x"},
                                                  {"hdrhistogram.percentiles", "95"},
                                                  {"histogram.buckets", "1000"},
                                                  {"hotspotdatafraction", "0.2"},
                                                  {"hotspotopnfraction", "0.8"},
                                                  {"htrace.span.receiver.classes", "x"},
                                                  {"insertcount", "1"},
                                                  {"insertorder", "hashed"},
                                                  {"insertproportion", "0"},
                                                  {"insertstart", "0"},
                                                  {"label", "x"},
                                                  {"latencytrackederrors", "x"},
                                                  {"maxexecutiontime", "0"},
                                                  {"maxscanlength", "1000"},
                                                  {"measurement.histogram.verbose", "false"},
                                                  {"measurement.interval", "op"},
                                                  {"measurement.raw.no_summary", "false"},
                                                  {"measurement.raw.output_file", "x"},
                                                  {"measurement.trackjvm", "false"},
                                                  {"measurementtype", "raw"},
                                                  {"minfieldlength", "1"},
                                                  {"minscanlength", "1"},
                                                  {"operationcount", "1"},
                                                  {"readallfields", "true"},
                                                  {"readmodifywriteproportion", "0"},
                                                  {"readproportion", "1"},
                                                  {"recordcount", "1"},
                                                  {"reportlatencyforeacherror", "false"},
                                                  {"requestdistribution", "uniform"},
                                                  {"scanlengthdistribution", "uniform"},
                                                  {"scanproportion", "0"},
                                                  {"spin.sleep", "false"},
                                                  {"status", "false"},
                                                  {"status.interval", "10"},
                                                  {"table", "usertable"},
                                                  {"target", "0"},
                                                  {"threadcount", "1"},
                                                  {"timeseries.granularity", "1000"},
                                                  {"updateproportion", "0"},
                                                  {"workload", "site.ycsb.workloads.CoreWorkload"},
                                                  {"writeallfields", "false"},
                                                  {"zeropadding", "1"}};
  for (const auto& [name, value] : values) {
    EXPECT_NO_THROW(static_cast<void>(notes_of_value(name, value, adapter))) << name;
  }
}

// A kind, with the properties that it requires.
class KindOfWorkload {
 public:
  explicit KindOfWorkload(const WorkloadKind& kind) : kind_(kind) {
    if (!kind.ycsb_properties.empty()) needed_ = {{"recordcount", "10"}, {"operationcount", "10"}};
    if (kind.name == "replay") needed_ = {{"trace", trace_}};
    std::ofstream(trace_) << "time_s,op,key,size\n0,read,a,\n";
  }
  ~KindOfWorkload() { std::filesystem::remove(trace_); }
  KindOfWorkload(const KindOfWorkload&) = delete;
  KindOfWorkload& operator=(const KindOfWorkload&) = delete;

  [[nodiscard]] std::map<std::string, std::string> in_force() const { return made({})->in_force; }

  // The error message for the value, empty if it is accepted.
  [[nodiscard]] std::string refusal(const std::string& name, const std::string& value) const {
    try {
      static_cast<void>(made({{name, value}}));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

 private:
  [[nodiscard]] std::unique_ptr<const Workload> made(const std::map<std::string, std::string>& given) const {
    Properties properties;
    for (const auto& [name, value] : needed_) properties.set(name, value);
    for (const auto& [name, value] : given) properties.set(name, value);
    return kind_.make(properties, Command::run);
  }

  const WorkloadKind& kind_;
  const std::string trace_ = fmt::format("{}known_properties_test.{}.csv", testing::TempDir(), getpid());
  std::map<std::string, std::string> needed_;
};

bool follows_from_others(const PropertyHelp& property) {  // "num", "recordcount - insertstart"
  const bool is_number = property.type != PropertyType::text && property.type != PropertyType::flag;
  return is_number && property.default_value.find_first_not_of("0123456789.") != std::string::npos;
}

// The name under which the value is recorded: "keys; also set by recordcount" is recorded under YCSB's name.
std::string name_in_force(const PropertyHelp& property) {
  constexpr std::string_view also_set_by = "also set by ";
  const auto at = property.meaning.find(also_set_by);
  return at == std::string::npos ? property.name : property.meaning.substr(at + also_set_by.size());
}

class ListOfProperties : public testing::TestWithParam<WorkloadKind> {};

TEST_P(ListOfProperties, has_the_names_and_defaults_that_the_workload_reads) {
  auto read = KindOfWorkload(GetParam()).in_force();
  for (const auto& property : properties_of(GetParam())) {
    if (property.name == "fieldlengthhistogram") continue;  // read only with fieldlengthdistribution=histogram
    const auto name = name_in_force(property);
    ASSERT_TRUE(read.contains(name)) << name;
    if (property.name != "trace" && !follows_from_others(property)) {
      EXPECT_EQ(read[name], property.default_value) << name;
    }
    read.erase(name);
  }
  for (const auto& name : names_of(properties_of_every_run())) read.erase(name);
  EXPECT_TRUE(read.empty()) << read.begin()->first << " is read and not listed";
}

TEST_P(ListOfProperties, has_the_types_that_the_workload_takes) {
  const KindOfWorkload kind(GetParam());
  constexpr std::string_view out_of_range = "expected a number from";
  for (const auto& [name, type, meaning, default_value, choices] : properties_of(GetParam())) {
    if (type == PropertyType::text) continue;
    EXPECT_NE(kind.refusal(name, "x"), "") << name;
    if (type == PropertyType::flag) {
      EXPECT_EQ(kind.refusal(name, default_value == "true" ? "false" : "true"), "") << name;
    } else if (type == PropertyType::real) {
      EXPECT_EQ(kind.refusal(name, "-1").find(out_of_range), std::string::npos) << name;
    } else {
      EXPECT_NE(kind.refusal(name, "-1"), "") << name;
    }
    if (type == PropertyType::real) continue;  // not every combination of reals is a law
    const bool takes_halves = type == PropertyType::number || type == PropertyType::share;
    EXPECT_EQ(kind.refusal(name, "0.5").empty(), takes_halves) << name;
  }
}

TEST_P(ListOfProperties, has_the_choices_that_the_workload_takes) {
  const KindOfWorkload kind(GetParam());
  for (const auto& property : properties_of(GetParam())) {
    if (property.type != PropertyType::text) continue;
    if (GetParam().name == "replay" && property.name == "keytype") continue;  // the adapter checks it
    const auto refusal = kind.refusal(property.name, "no_such_choice");
    const auto choices = fmt::format("expected one of: {}", fmt::join(property.choices, ", "));
    EXPECT_EQ(refusal.ends_with(choices), !property.choices.empty()) << property.name << ": " << refusal;
  }
}

std::string name_of_kind(const testing::TestParamInfo<WorkloadKind>& tested) {
  auto name = tested.param.name.substr(tested.param.name.rfind('.') + 1);
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Kinds, ListOfProperties, testing::ValuesIn(workload_kinds()), name_of_kind);

}  // namespace
}  // namespace edgejoule::driver
