#include "config.h"

#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace {

using eco::ConfigError, eco::parse_config;

std::string refusal(const std::string& toml) {
  try {
    (void)parse_config(toml, "ecod.toml");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Config, an_empty_file_gives_the_defaults) {
  const auto config = parse_config("", "ecod.toml");
  EXPECT_EQ(config.federation.mode, "none");
  EXPECT_EQ(config.policy.name, "eco-plus");
  EXPECT_FALSE(config.name.empty());
}

TEST(Config, an_unknown_key_is_refused_with_file_line_and_key) {
  const auto text = refusal("name = \"a\"\n\n[telemetry]\nnetwork_interfase = \"eth0\"\n");
  EXPECT_TRUE(
      text.starts_with("ecod.toml:4: telemetry.network_interfase: unknown key; [telemetry] knows network_interface"))
      << text;
  EXPECT_TRUE(refusal("nmae = \"a\"").starts_with("ecod.toml:1: nmae: unknown key")) << refusal("nmae = \"a\"");
  EXPECT_TRUE(refusal("[federration]").starts_with("ecod.toml:1: federration: unknown key"));
}

TEST(Config, a_value_of_another_type_is_refused) {
  EXPECT_EQ(refusal("[policy]\nshadow = 1\n"), "ecod.toml:2: policy.shadow: expected true or false");
  EXPECT_EQ(refusal("[worker]\nslots = \"two\"\n"), "ecod.toml:2: worker.slots: expected a whole number, 0 or more");
  EXPECT_EQ(refusal("[power]\nidle_w = -1\n"), "ecod.toml:2: power.idle_w: expected a number, 0 or more");
  EXPECT_EQ(refusal("[power]\nidle_w = nan\n"), "ecod.toml:2: power.idle_w: expected a number, 0 or more");
  EXPECT_EQ(refusal("worker = 3\n"), "ecod.toml:1: worker: expected a table, [worker]");
}

TEST(Config, what_is_no_toml_is_refused_with_its_line) {
  EXPECT_TRUE(refusal("name = \"a\"\nlisten = \n").starts_with("ecod.toml:2: "));
}

TEST(Config, nothing_listens_beyond_loopback_without_certificates) {
  EXPECT_EQ(
      refusal("[worker]\nlisten = \"0.0.0.0:7420\"\n"),
      "ecod.toml:2: worker.listen: 0.0.0.0:7420 is reachable from other machines and requires certificates, [tls]");
  EXPECT_NE(refusal("[federation]\nmode = \"master\"\nlisten = \"10.0.0.1:7421\"\n"), "");
  EXPECT_NE(refusal("[metrics]\nlisten = \"0.0.0.0:9464\"\n"), "");
  const std::string tls = "[tls]\nca = \"a\"\ncertificate = \"b\"\nkey = \"c\"\n";
  EXPECT_EQ(refusal(tls + "[worker]\nlisten = \"0.0.0.0:7420\"\n"), "");
}

TEST(Config, a_host_that_only_looks_like_loopback_is_none) {
  EXPECT_NE(refusal("[worker]\nlisten = \"127.0.0.1.example.org:7420\"\n"), "");
  EXPECT_EQ(refusal("[worker]\nlisten = \"127.0.0.2:7420\"\n"), "");
}

TEST(Config, nats_and_masters_beyond_loopback_take_certificates) {
  EXPECT_NE(refusal("[federation]\nmode = \"nats\"\nurls = [\"nats://10.0.0.1:4222\"]\n"), "");
  EXPECT_NE(refusal("[federation]\nmode = \"nats\"\nurls = [\"tls://10.0.0.1:4222\"]\n"), "");
  EXPECT_NE(refusal("[federation]\nmode = \"member\"\nmaster = \"10.0.0.1:7421\"\n"), "");
  EXPECT_EQ(refusal("[federation]\nmode = \"nats\"\nurls = [\"nats://127.0.0.1:4222\"]\n"), "");
}

std::string refusal_of_file(const std::filesystem::path& file) {
  try {
    (void)eco::read_config(file);
  } catch (const eco::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Config, what_could_not_work_is_refused_before_ecod_starts) {
  EXPECT_EQ(refusal("node_socket = \"\"\n"), "ecod.toml:1: node_socket: expected a path");
  EXPECT_EQ(refusal("[federation]\nmode = \"nats\"\nurls = [\"nats://127.0.0.1:99999\"]\n"),
            "ecod.toml:3: federation.urls: \"127.0.0.1:99999\"; expected host:port");
  const eco::test::TemporaryFolder folder;
  EXPECT_EQ(refusal_of_file(folder.path()), folder.path().string() + ": is a folder");
  folder.write("ecod.toml", "[tls]\nca = \"/no/ca.pem\"\ncertificate = \"/no/b.pem\"\nkey = \"/no/b.key\"\n");
  EXPECT_EQ(refusal_of_file(folder / "ecod.toml"),
            (folder / "ecod.toml") + ":2: tls.ca: /no/ca.pem: there is no such file");
}

TEST(Config, half_of_the_certificates_is_refused) {
  EXPECT_EQ(refusal("[tls]\nca = \"a\"\n"), "ecod.toml:2: tls.ca: ca, certificate and key go together");
}

TEST(Config, names_that_do_not_fit_a_subject_are_refused) {
  EXPECT_NE(refusal("name = \"a.b\"\n"), "");
  EXPECT_NE(refusal("name = \"a *\"\n"), "");
}

TEST(Config, an_unknown_policy_is_refused_with_those_that_exist) {
  const auto text = refusal("[policy]\nname = \"ecco\"\n");
  EXPECT_TRUE(text.starts_with("ecod.toml:2: policy.name: no policy is named \"ecco\"; expected local, edgepilot"))
      << text;
}

TEST(Config, hedge_of_earlier_versions_warns_and_is_not_printed) {
  const auto config = parse_config("[policy]\nhedge = 1.5\n", "ecod.toml");
  EXPECT_EQ(config.warnings, std::vector<std::string>{"ecod.toml:2: policy.hedge: has no effect, second attempts at "
                                                      "late jobs were removed; remove the line"});
  EXPECT_EQ(print_config(config).find("hedge"), std::string::npos);
  EXPECT_TRUE(eco::read_config(ECO_EXAMPLE_CONFIG).warnings.empty());
  EXPECT_EQ(refusal("hedge = 1.5\n").find("ecod.toml:1: hedge: unknown key"), 0U) << "it was a key of [policy]";
  EXPECT_EQ(refusal("[policy]\nhegde = 1.5\n").find(", hedge"), std::string::npos) << "it is not suggested";
}

TEST(Config, a_shared_directory_is_a_table_of_absolute_paths) {
  const auto config = parse_config("[worker.shared_directory]\n\"/data\" = \"/mnt/a \\\"b\\\"\"\n", "x");
  EXPECT_EQ(config.worker.shared_directory.at("/data"), "/mnt/a \"b\"");
  EXPECT_EQ(parse_config(print_config(config), "printed").worker.shared_directory, config.worker.shared_directory);
  EXPECT_EQ(refusal("[worker]\nshared_directory = { data = \"/mnt\" }\n"),
            "ecod.toml:2: worker.shared_directory: \"data\" = \"/mnt\"; expected absolute paths");
  EXPECT_NE(refusal("[worker]\nshared_directory = { \"/data\" = 3 }\n"), "");
  EXPECT_NE(refusal("[worker]\nshared_directory = \"/data\"\n"), "");
}

TEST(Config, what_is_printed_reads_as_the_same) {
  auto config = parse_config(
      "name = \"a\"\nnode_socket = \"/tmp/a \\\"b\\\".sock\"\n[federation]\nurls = [\"nats://localhost:1\", "
      "\"nats://localhost:2\"]\n[power]\nbusy_core_w = 3.25\n[policy]\nshadow = true\n",
      "x");
  const auto text = print_config(config);
  const auto again = parse_config(text, "printed");
  EXPECT_EQ(print_config(again), text);
  EXPECT_EQ(again.node_socket, "/tmp/a \"b\".sock");
  EXPECT_EQ(again.federation.urls.size(), 2U);
  EXPECT_EQ(again.power.busy_core_w, 3.25);
  EXPECT_TRUE(again.policy.shadow);
}

TEST(Config, the_annotated_example_is_what_the_defaults_print) {
  auto config = eco::read_config(ECO_EXAMPLE_CONFIG);
  EXPECT_EQ(config.name, parse_config("", "").name);
  config.name.clear();  // drops the example's name
  std::ifstream in(ECO_EXAMPLE_CONFIG);
  const std::string example{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(example.ends_with(print_config(config))) << "ecod --print-config, with name = \"\", writes it";
}

TEST(Config, a_file_that_is_not_there_is_named) {
  const eco::test::TemporaryFolder folder;
  EXPECT_THROW((void)eco::read_config(folder / "none.toml"), ConfigError);
}

}  // namespace
