#include "core_kind.h"

#include "core_workload.h"
#include "workload/property_reader.h"

namespace edgejoule::driver {
namespace {

using enum PropertyType;

std::vector<PropertyHelp> own_properties() {
  return {
      {"batchsize", count, "load: records in a batch", "1"},
      {"keytype", text, "text, or integer: the plain number of the record", "text", {"text", "integer"}},
      update_property(),
      {"zipfian.ranks",
       text,
       "ycsb: 10^10 ranks hashed onto the records; records: one rank for each record",
       "ycsb",
       {"ycsb", "records"}},
      {"zipfian.theta", number, "skew of zipfian requests", "0.99"},
  };
}

// Spelled as in YCSB 0.17.0.
std::vector<PropertyHelp> ycsb_properties() {
  return {
      {"core_workload_insertion_retry_interval", number, "load: mean seconds between retries of a failed insert", "3"},
      {"core_workload_insertion_retry_limit", count, "load: retries of a failed insert", "0"},
      {"dataintegrity", flag, "derive values from key and field, and check every row that is read", "false"},
      {"exponential.frac", number,
       "exponential requests: share of the records that receives exponential.percentile of the requests",
       "0.8571428571"},
      {"exponential.percentile", number,
       "exponential requests: per cent of the requests that go to exponential.frac of the records", "95"},
      {"fieldcount", count, "fields of a record", "10"},
      {"fieldlength", count, "bytes of a field; the maximum if lengths vary", "100"},
      {"fieldlengthdistribution",
       text,
       "distribution of the bytes of a field",
       "constant",
       {"constant", "uniform", "zipfian", "histogram"}},
      {"fieldlengthhistogram", text, "file with the histogram (fieldlengthdistribution=histogram)", "hist.txt"},
      {"fieldnameprefix", text, "prefix of the field names; a number follows", "field"},
      {"hotspotdatafraction", share, "hotspot requests: share of the records that are hot", "0.2"},
      {"hotspotopnfraction", share, "hotspot requests: share of the requests that go to hot records", "0.8"},
      {"insertcount", count, "records that a load inserts", "recordcount - insertstart"},
      {"insertorder",
       text,
       "hashed: keys from hashed record numbers; ordered: from the numbers themselves",
       "hashed",
       {"hashed", "ordered"}},
      {"insertproportion", share, "share of inserts among the operations", "0"},
      {"insertstart", count, "number of the first record", "0"},
      {"maxscanlength", count, "maximum number of records in a scan", "1000"},
      {"minfieldlength", count, "minimum bytes of a field if lengths vary", "1"},
      {"minscanlength", count, "minimum number of records in a scan", "1"},
      {"readallfields", flag, "true: a read returns all fields; false: one random field", "true"},
      {"readmodifywriteproportion", share, "share of read-modify-writes among the operations", "0"},
      {"readproportion", share, "share of reads among the operations", "0.95"},
      {"requestdistribution",
       text,
       "distribution of the requests over the records",
       "uniform",
       {"uniform", "zipfian", "latest", "hotspot", "exponential", "sequential"}},
      {"scanlengthdistribution",
       text,
       "distribution of the number of records in a scan",
       "uniform",
       {"uniform", "zipfian"}},
      {"scanproportion", share, "share of scans among the operations", "0"},
      {"updateproportion", share, "share of updates among the operations", "0.05"},
      {"writeallfields", flag, "true: an update writes all fields; false: one random field", "false"},
      {"zeropadding", count, "minimum digits of the number in a key, padded with zeros", "1"},
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
