// The checksum of noop depends on every byte of a text and on every boundary between texts.
#include "adapters/noop/fold.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace edgejoule::driver {
namespace {

constexpr std::size_t longest = 130;

std::uint64_t folded(std::initializer_list<std::string_view> texts) {
  Fold fold;
  for (const auto text : texts) fold.add(text);
  return fold.value();
}

std::string text_of(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>('A' + i % 23);
  return text;
}

TEST(Fold, every_byte_of_a_text_of_any_length_counts) {
  for (std::size_t bytes = 1; bytes <= longest; ++bytes) {
    const auto text = text_of(bytes);
    std::set<std::uint64_t> values{folded({text})};
    for (std::size_t i = 0; i < bytes; ++i) {
      auto other = text;
      other[i] = 'z';
      EXPECT_TRUE(values.insert(folded({other})).second) << "byte " << i << " of " << bytes;
    }
  }
}

TEST(Fold, the_length_counts) {
  std::set<std::uint64_t> values;
  for (std::size_t bytes = 0; bytes <= longest; ++bytes) {
    EXPECT_TRUE(values.insert(folded({std::string(bytes, '\0')})).second) << bytes;
  }
}

TEST(Fold, where_one_text_ends_and_the_next_begins_counts) {
  const auto text = text_of(longest);
  const std::string_view all = text;
  std::set<std::uint64_t> values;
  for (std::size_t border = 0; border <= longest; ++border) {
    EXPECT_TRUE(values.insert(folded({all.substr(0, border), all.substr(border)})).second) << border;
  }
}

TEST(Fold, the_order_of_texts_counts) { EXPECT_NE(folded({"field0", "field1"}), folded({"field1", "field0"})); }

}  // namespace
}  // namespace edgejoule::driver
