#include "power_cut.h"

#include <algorithm>
#include <istream>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "stamp.h"

namespace bdtest {
namespace {

constexpr std::uint32_t requests_most = 24, sectors_most = 16;

std::string number(std::uint64_t n) { return std::to_string(n); }

bool write_request(const lunar_config& device, const Cut& cut, const Request& request) {
  std::vector<std::uint8_t> data(std::size_t{request.count} * cut.sector_bytes);
  for (std::uint32_t i = 0; i < request.count; ++i)
    write_stamp({cut.seed, request.sector + i, request.version}, data.data() + std::size_t{i} * cut.sector_bytes,
                cut.sector_bytes);
  return device.write(&device, request.sector, data.data(), request.count) == 0;
}

bool write_round(const lunar_config& device, const Cut& cut, std::uint64_t round) {
  for (const auto& request : requests_of_round(cut, round)) {
    if (!write_request(device, cut, request)) return false;
  }
  return device.sync(&device) == 0;
}

// Which version each sector must have at least, and the later ones that were perhaps under way.
struct Expected {
  std::map<std::uint32_t, std::uint64_t> flushed;
  std::map<std::uint32_t, std::set<std::uint64_t>> under_way;
};

Expected expected_of(const Cut& cut, std::uint64_t flushed) {
  Expected expected;
  for (std::uint64_t round = 1; round <= flushed + 1; ++round) {
    for (const auto& request : requests_of_round(cut, round)) {
      for (std::uint32_t i = 0; i < request.count; ++i) {
        if (round <= flushed)
          expected.flushed[request.sector + i] = request.version;
        else
          expected.under_way[request.sector + i].insert(request.version);
      }
    }
  }
  return expected;
}

struct Tally {
  std::uint64_t sectors = 0, lost = 0, damaged = 0, foreign = 0, torn = 0, unreadable = 0;
  std::uint64_t newest = 0;
  std::set<std::uint64_t> arrived;  // versions of the round under way that are there
  std::string first_bad;

  void bad(std::uint64_t& count, const std::string& text) {
    if (count++ == 0 && first_bad.empty()) first_bad = text;
  }
};

void judge(const std::uint8_t* data, std::uint32_t sector, const Cut& cut, const Expected& expected, Tally& tally) {
  const auto flushed = expected.flushed.find(sector);
  const auto under_way = expected.under_way.find(sector);
  if (flushed == expected.flushed.end() && under_way == expected.under_way.end()) return;
  tally.sectors++;
  const auto seen = read_stamp(data, cut.sector_bytes);
  const bool ours = seen && seen->stamp.run == cut.seed, perhaps_written = under_way != expected.under_way.end();
  const std::string where = "sector " + number(sector);
  if (ours && seen->whole && seen->stamp.sector != sector)
    return tally.bad(tally.foreign, where + " has what was written to sector " + number(seen->stamp.sector));
  if (ours && seen->whole && perhaps_written && under_way->second.contains(seen->stamp.version)) {
    tally.arrived.insert(seen->stamp.version);
    return;
  }
  if (flushed == expected.flushed.end()) {  // never flushed: what was there before is as good
    tally.torn += ours && !seen->whole;
    return;
  }
  if (ours && seen->whole && seen->stamp.version == flushed->second) return;
  if ((!ours || !seen->whole) && perhaps_written) {
    tally.torn++;
    return;
  }
  if (!ours || !seen->whole) return tally.bad(tally.damaged, where + " is damaged, though nothing was written to it");
  tally.bad(tally.lost, where + " has version " + number(seen->stamp.version) + ", version " + number(flushed->second) +
                            " was flushed");
}

// Of the writes of the round under way that are there, whether one came before another that is not. A write whose
// sectors were all written again later in the round leaves no trace.
bool reordered(const Cut& cut, std::uint64_t round, const std::set<std::uint64_t>& arrived) {
  std::map<std::uint32_t, std::uint64_t> last;
  for (const auto& request : requests_of_round(cut, round)) {
    for (std::uint32_t i = 0; i < request.count; ++i) last[request.sector + i] = request.version;
  }
  std::set<std::uint64_t> visible;
  for (const auto& [sector, version] : last) visible.insert(version);
  bool missing = false;
  for (const auto version : visible) {
    if (!arrived.contains(version))
      missing = true;
    else if (missing)
      return true;
  }
  return false;
}

}  // namespace

std::vector<Request> requests_of_round(const Cut& cut, std::uint64_t round) {
  std::mt19937_64 random(cut.seed * std::uint64_t{0x9e3779b97f4a7c15} + round);
  std::vector<Request> requests(1 + random() % requests_most);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto count = static_cast<std::uint32_t>(1 + random() % std::min(sectors_most, cut.area_sectors));
    const auto sector = static_cast<std::uint32_t>(random() % (cut.area_sectors - count + 1));
    requests[i] = {sector, count, round * requests_most + i};
  }
  return requests;
}

std::uint64_t write_rounds(const lunar_config& device, const Cut& cut, const std::function<bool()>& go_on,
                           const std::function<void(std::uint64_t)>& flushed) {
  std::uint64_t round = 0;
  while (go_on() && write_round(device, cut, round + 1)) flushed(++round);
  if (round == 0) throw std::runtime_error("the device failed before the first flush");
  return round;
}

Findings verify_rounds(const lunar_config& device, const Cut& cut, std::uint64_t flushed) {
  const auto expected = expected_of(cut, flushed);
  Tally tally;
  std::vector<std::uint8_t> data(cut.sector_bytes);
  for (std::uint32_t sector = 0; sector < cut.area_sectors; ++sector) {
    if (!expected.flushed.contains(sector) && !expected.under_way.contains(sector)) continue;
    if (device.read(&device, sector, data.data(), 1) == 0)
      judge(data.data(), sector, cut, expected, tally);
    else
      tally.bad(tally.unreadable, "sector " + number(sector) + " cannot be read");
  }
  Findings findings;
  const std::string of = " of " + number(tally.sectors) + " sectors";
  const auto bad = [&](std::uint64_t count, const std::string& what) {
    if (count != 0) findings.push_back({Verdict::bad, number(count) + of + what + " (" + tally.first_bad + ")"});
  };
  bad(tally.lost, " lost what had been flushed: the device confirms flushes that it has not done");
  bad(tally.damaged, " are damaged that nobody was writing to");
  bad(tally.foreign, " have another sector's content");
  bad(tally.unreadable, " cannot be read");
  if (findings.empty())
    findings.push_back({Verdict::good, "all " + number(tally.sectors) + " sectors have what was flushed, up to round " +
                                           number(flushed)});
  if (tally.torn != 0)
    findings.push_back(
        {Verdict::note, number(tally.torn) + " sectors are torn that were being written: no atomic_write_bytes"});
  if (reordered(cut, flushed + 1, tally.arrived))
    findings.push_back({Verdict::note, "writes between two flushes are reordered"});
  return findings;
}

void write_note_head(std::ostream& note, const Cut& cut) {
  note << "lunar-bdtest 1 seed " << cut.seed << " sector_bytes " << cut.sector_bytes << " area_sectors "
       << cut.area_sectors << std::endl;
}

Note read_note(std::istream& stream) {
  std::string line, program, seed, sector_bytes, area;
  int version = 0;
  Note note{};
  std::getline(stream, line);
  std::istringstream head(line);
  head >> program >> version >> seed >> note.cut.seed >> sector_bytes >> note.cut.sector_bytes >> area >>
      note.cut.area_sectors;
  const bool sized = (note.cut.sector_bytes == 512 || note.cut.sector_bytes == 4096) && note.cut.area_sectors > 0;
  if (!head || program != "lunar-bdtest" || version != 1 || !sized)
    throw std::runtime_error("line 1: expected a note of lunar bdtest write, found: " + line);
  for (std::uint64_t number_of_line = 2; std::getline(stream, line); ++number_of_line) {
    std::istringstream fields(line);
    std::uint64_t round = 0;
    if (stream.eof()) break;  // no line's end: the note was cut off here
    if (!(fields >> round) || round != note.flushed + 1)
      throw std::runtime_error("line " + std::to_string(number_of_line) + ": expected round " +
                               std::to_string(note.flushed + 1) + ", found: " + line);
    note.flushed = round;
  }
  if (note.flushed == 0) throw std::runtime_error("no flush was noted: nothing can be verified");
  return note;
}

}  // namespace bdtest
