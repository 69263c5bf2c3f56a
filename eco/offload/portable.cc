#include "portable.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "check.h"
#include "job_options.h"
#include "portability.h"
#include "subcompaction.h"

namespace eco {
namespace {

const std::string& option(const rocksdb_text::Fields& options, const char* name) {
  const auto found = options.find(name);
  if (found == options.end()) throw NotOffloadable{fmt::format("RocksDB does not report {}", name)};
  return found->second;
}

// Returns the options that the job's column family was opened with. Throws NotOffloadable if the application did not
// list the family.
const rocksdb::ColumnFamilyOptions& opened_with(const Settings& settings, const std::string& family,
                                                const Begun& begun) {
  if (family == rocksdb::kDefaultColumnFamilyName) return *begun.default_options;
  const auto named = std::ranges::find(settings.column_families, family, &rocksdb::ColumnFamilyDescriptor::name);
  if (named == settings.column_families.end()) throw NotOffloadable{"column family " + family + " is not offloaded"};
  return named->options;
}

}  // namespace

double number_option(const rocksdb_text::Fields& options, const char* name) {
  return rocksdb_text::number<double>(option(options, name)).value_or(0);
}

PortableJob portable_job(const Settings& settings, TextForm form, const std::string& database, const std::string& text,
                         const Begun& begun) {
  ECO_CHECK(begun.files && begun.default_options && begun.db != nullptr);
  std::string why;
  auto input = read_input(form, text, why);
  if (!input) throw NotOffloadable{"its input: " + why};
  auto options = options_of_job(*input, *begun.files, database, why);
  if (!options) throw NotOffloadable{why};
  PortableJob job{.opened = &opened_with(settings, input->column_family, begun)};
  if (std::string elsewhere = tables_elsewhere(job.opened->cf_paths, database); !elsewhere.empty())
    throw NotOffloadable{std::move(elsewhere)};
  why = why_local({*job.opened, begun.default_options->comparator}, *options, settings.same_code, job.objects);
  if (!why.empty()) throw NotOffloadable{why};
  input->db_options = std::move(options->db), input->cf_options = std::move(options->family);
  job.features = part_of(begun.features, *input, *begun.db, *job.opened->comparator);
  job.input = *std::move(input);
  return job;
}

}  // namespace eco
