// ecoctl's output for an ecod's answers.
#include "show.h"

#include <gtest/gtest.h>

namespace {

namespace proto = eco::proto;

class Show : public testing::Test {
 protected:
  void SetUp() override {
    view.set_server("e1"), view.set_master("e2"), view.mutable_policy()->set_name("eco");
    for (const char* name : {"e1", "e2", "e3"}) {
      auto& line = *view.add_servers();
      line.mutable_state()->set_name(name), line.set_alive(true), line.set_takes_jobs(true);
    }
  }
  [[nodiscard]] testing::AssertionResult shows(const std::string& text) const {
    const std::string shown = eco::show(view);
    if (shown.find(text) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << text << " is not in\n" << shown;
  }

  proto::FederationView view;
};

TEST_F(Show, a_server_that_said_goodbye_has_left_and_is_not_waited_for) {
  auto& e3 = *view.mutable_servers(2);
  e3.set_alive(false), e3.set_why_not("left 7 s ago"), e3.mutable_state()->set_left_s(7);
  EXPECT_TRUE(shows("left 7 s ago"));
  for (auto& line : *view.mutable_servers()) line.mutable_state()->set_local_only(true);
  const auto result = eco::confirmation(view, true);
  EXPECT_TRUE(result.complete());
  EXPECT_NE(result.table.find("e3      left 7 s ago: its applications compact for themselves"), std::string::npos)
      << result.table;
}

TEST_F(Show, a_kill_switch_of_one_server_alone_names_where_it_ends) {
  view.set_local_only_here(true);
  EXPECT_TRUE(shows("THE KILL SWITCH IS ON at e1 alone (`ecoctl resume` at e1 ends it)\n"));
  view.clear_master();
  EXPECT_TRUE(shows("ends it): the other servers are unreachable, no known master\n"));
  auto& e3 = *view.mutable_servers(2)->mutable_state();
  e3.set_local_only(true), e3.set_local_only_here(true);
  EXPECT_TRUE(shows("takes jobs; ITS OWN KILL SWITCH IS ON"));
  const auto result = eco::confirmation(view, false);
  EXPECT_FALSE(result.complete());
  EXPECT_EQ(result.own_switches, "e3");
  EXPECT_NE(result.table.find("NOT CONFIRMED: its own kill switch is on"), std::string::npos) << result.table;
}

TEST_F(Show, a_policy_that_names_no_server_says_so) {
  view.mutable_policy()->set_name("static:nobody");
  EXPECT_TRUE(shows("policy static:nobody (NO SERVER HAS THIS NAME); "));
  view.mutable_policy()->set_name("static:e3");
  EXPECT_TRUE(shows("policy static:e3; "));
}

}  // namespace
