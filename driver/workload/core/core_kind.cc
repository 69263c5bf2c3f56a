#include "core_kind.h"

#include "core_workload.h"

namespace edgejoule::driver {
namespace {

using enum PropertyType;

std::vector<PropertyHelp> own_properties() {
  return {
      {"batchsize", count, "load: records in a batch", "1"},
      {"keytype", text, "text, or integer: the record's number as it is", "text", {"text", "integer"}},
      {"zipfian.ranks",
       text,
       "ycsb: 10^10 ranks hashed onto the records; records: each record has one",
       "ycsb",
       {"ycsb", "records"}},
      {"zipfian.theta", number, "skew of zipfian requests", "0.99"},
  };
}

// Spelled as in YCSB 0.17.0.
std::vector<PropertyHelp> ycsb_properties() {
  return {
      {"core_workload_insertion_retry_interval", number, "load: seconds between the tries of an insert, on average",
       "3"},
      {"core_workload_insertion_retry_limit", count, "load: further tries of an insert that failed", "0"},
      {"dataintegrity", flag, "values follow from key and field, and rows that are read are checked", "false"},
      {"exponential.frac", number, "exponential requests: share of the records that get exponential.percentile",
       "0.8571428571"},
      {"exponential.percentile", number, "exponential requests: per cent that go to the share exponential.frac", "95"},
      {"fieldcount", count, "fields of a record", "10"},
      {"fieldlength", count, "bytes of a field; the most where lengths vary", "100"},
      {"fieldlengthdistribution",
       text,
       "distribution of the bytes of a field",
       "constant",
       {"constant", "uniform", "zipfian", "histogram"}},
      {"fieldlengthhistogram", text, "fieldlengthdistribution=histogram: the file with the histogram", "hist.txt"},
      {"fieldnameprefix", text, "names of the fields: this and a number", "field"},
      {"hotspotdatafraction", share, "hotspot requests: share of the records that are hot", "0.2"},
      {"hotspotopnfraction", share, "hotspot requests: share of the requests that go to hot records", "0.8"},
      {"insertcount", count, "records that a load inserts", "recordcount - insertstart"},
      {"insertorder", text, "keys hashed, or ordered by number", "hashed", {"hashed", "ordered"}},
      {"insertproportion", share, "inserts among the operations", "0"},
      {"insertstart", count, "number of the first record", "0"},
      {"maxscanlength", count, "most records of a scan", "1000"},
      {"minfieldlength", count, "fewest bytes of a field where lengths vary", "1"},
      {"minscanlength", count, "fewest records of a scan", "1"},
      {"readallfields", flag, "a read asks for all fields, else for one that is drawn", "true"},
      {"readmodifywriteproportion", share, "read-modify-writes among the operations", "0"},
      {"readproportion", share, "reads among the operations", "0.95"},
      {"requestdistribution",
       text,
       "distribution of the requests over the records",
       "uniform",
       {"uniform", "zipfian", "latest", "hotspot", "exponential", "sequential"}},
      {"scanlengthdistribution", text, "distribution of the records of a scan", "uniform", {"uniform", "zipfian"}},
      {"scanproportion", share, "scans among the operations", "0"},
      {"updateproportion", share, "updates among the operations", "0.05"},
      {"writeallfields", flag, "an update writes all fields, else one that is drawn", "false"},
      {"zeropadding", count, "digits of the number in a key, filled up with zeros", "1"},
  };
}

}  // namespace

WorkloadKind core() {
  return {
      "site.ycsb.workloads.CoreWorkload",
      "YCSB's core workload, with YCSB's property names (the default)",
      own_properties(),
      {},
      [](const Properties& properties, Command command) { return std::make_unique<CoreWorkload>(properties, command); },
      ycsb_properties()};
}

}  // namespace edgejoule::driver
