#include "compaction_model.h"

namespace eco {
namespace {

// Scales the terms of a typical compaction to order 1.
constexpr double bytes_unit = 64.0 * (1 << 20), entries_unit = 64.0 * (1 << 10);

}  // namespace

LinearModel::Terms CompactionModel::terms_of(const Job& job) const {
  const double entries = terms_ == Terms::bytes_and_entries ? static_cast<double>(job.input_entries) / entries_unit : 0;
  return {1, static_cast<double>(job.input_bytes) / bytes_unit, entries};
}

const CompactionModel::Models* CompactionModel::models_for(const std::string& codec) const {
  if (const auto found = by_codec_.find(codec); found != by_codec_.end()) return &found->second;
  const Models* best = nullptr;
  for (const auto& [name, models] : by_codec_)
    if (best == nullptr || models.compute.observations() > best->compute.observations()) best = &models;
  return best;
}

void CompactionModel::learn(const Job& job, const Cost& cost) {
  auto& models = by_codec_[job.codec];
  models.compute.learn(terms_of(job), cost.compute_s);
  models.energy.learn(terms_of(job), cost.energy_j);
}

Prediction CompactionModel::predict(const Job& job) const {
  const Models* models = models_for(job.codec);
  if (models == nullptr) return {};
  return {models->compute.predict(terms_of(job)), models->energy.predict(terms_of(job)),
          models->compute.observations()};
}

std::map<std::string, CompactionModel::State> CompactionModel::state() const {
  std::map<std::string, State> out;
  for (const auto& [codec, models] : by_codec_) out[codec] = {models.compute.state(), models.energy.state()};
  return out;
}

void CompactionModel::set_state(const std::map<std::string, State>& state) {
  by_codec_.clear();
  for (const auto& [codec, models] : state)
    by_codec_.emplace(codec, Models{LinearModel(models.compute), LinearModel(models.energy)});
}

}  // namespace eco
