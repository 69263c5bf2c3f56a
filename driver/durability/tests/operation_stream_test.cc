#include "durability/operation_stream.h"

#include <gtest/gtest.h>

#include <map>

#include "test_seed.h"

namespace edgejoule::driver {
namespace {

using Kind = WriteOperation::Kind;

Row row_of(Fields fields) { return {"", {fields.begin(), fields.end()}}; }

TEST(OperationStream, updates_and_removes_only_rows_that_are_there_and_inserts_only_those_that_are_not) {
  std::map<std::uint32_t, bool> there;
  std::map<std::uint32_t, std::uint32_t> versions;
  for (const auto& operation : operation_stream(5000, 3, test_seed())) {
    EXPECT_EQ(there[operation.key], operation.kind != Kind::insert);
    EXPECT_EQ(operation.version, ++versions[operation.key]);
    there[operation.key] = operation.kind != Kind::remove;
  }
}

TEST(OperationStream, gives_no_key_to_two_threads) {
  constexpr unsigned threads = 4;
  std::map<std::uint32_t, std::size_t> owner;
  const auto stream = operation_stream(5000, threads, test_seed());
  for (std::size_t number = 0; number < stream.size(); ++number) {
    const auto [known, first] = owner.emplace(stream[number].key, number % threads);
    EXPECT_EQ(known->second, number % threads);
  }
}

TEST(OperationStream, holds_all_kinds_of_writes_and_inserts_of_removed_keys) {
  std::map<Kind, int> kinds;
  int again = 0;
  for (const auto& operation : operation_stream(5000, 1, test_seed())) {
    ++kinds[operation.kind];
    if (operation.kind == Kind::insert && operation.version > 1) ++again;
  }
  EXPECT_GT(kinds[Kind::insert], 2000);
  EXPECT_GT(kinds[Kind::update], 1000);
  EXPECT_GT(kinds[Kind::remove], 400);
  EXPECT_GT(again, 100);
}

TEST(RowContent, reports_the_version_of_a_row) {
  RowContent content({"field0", "field1"}, 100, 7);
  EXPECT_EQ(content.version_of(3, row_of(RowContent({"field0", "field1"}, 100, 7).row(3, 12))), 12);
}

TEST(RowContent, takes_fields_in_any_order) {
  RowContent writer({"field0", "field1"}, 100, 7);
  auto row = row_of(writer.row(3, 12));
  std::swap(row.fields[0], row.fields[1]);
  EXPECT_EQ(RowContent({"field0", "field1"}, 100, 7).version_of(3, row), 12);
}

TEST(RowContent, refuses_a_row_of_another_key_a_mixture_and_a_changed_byte) {
  RowContent reader({"field0", "field1"}, 100, 7);
  RowContent writer({"field0", "field1"}, 100, 7);
  RowContent later({"field0", "field1"}, 100, 7);
  EXPECT_EQ(reader.version_of(4, row_of(writer.row(3, 12))), std::nullopt);
  auto mixture = row_of(writer.row(3, 12));
  mixture.fields[1] = later.row(3, 13)[1];
  EXPECT_EQ(reader.version_of(3, mixture), std::nullopt);
  std::string changed(mixture.fields[0].value);
  changed.back() = changed.back() == 'x' ? 'y' : 'x';
  auto damaged = row_of(writer.row(3, 12));
  damaged.fields[0].value = changed;
  EXPECT_EQ(reader.version_of(3, damaged), std::nullopt);
  EXPECT_EQ(reader.version_of(3, Row{}), std::nullopt);
}

}  // namespace
}  // namespace edgejoule::driver
