// The parts of `infrun serve` that are not the API: flags, keys, logs, signals, descriptors.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/base/Error.h"
#include "runtime/tools/serve/DescriptorLimit.h"
#include "runtime/tools/serve/LogWriter.h"
#include "runtime/tools/serve/ServeLog.h"
#include "runtime/tools/serve/ServeOptions.h"
#include "runtime/tools/serve/ShutdownSignals.h"
#include "tests/runtime/server/HttpClient.h"
#include "tests/runtime/session/FakeModel.h"
#include "tests/runtime/tools/Process.h"

using namespace inf;
using namespace inf::test;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

ServeOptions parsed(Arguments arguments) {
  Output out;
  ServeOptions options;
  arguments.insert(arguments.begin(), "model.so");
  EXPECT_TRUE(parseServeOptions(std::move(arguments), out, options));
  return options;
}

std::string refused(const Arguments &arguments) {
  return refusal([&] { parsed(arguments); });
}

TEST(ServeFlags, ReachTheirOptions) {
  const ServeOptions options = parsed({"--host",
                                       "0.0.0.0",
                                       "--port",
                                       "9000",
                                       "--api-key",
                                       "a",
                                       "--api-key",
                                       "b",
                                       "--cors-origin",
                                       "*",
                                       "--max-body",
                                       "2",
                                       "--sequences",
                                       "3",
                                       "--queue",
                                       "5",
                                       "--context",
                                       "100",
                                       "--kv-memory",
                                       "64",
                                       "--model-name",
                                       "m",
                                       "--drain",
                                       "1.5",
                                       "--log-format",
                                       "json",
                                       "--request-timeout",
                                       "2.5",
                                       "--no-prefix-cache"});
  EXPECT_EQ(options.http.host, "0.0.0.0");
  EXPECT_EQ(options.http.port, 9000);
  EXPECT_THAT(options.api.keys, ElementsAre("a", "b"));
  EXPECT_THAT(options.api.corsOrigins, ElementsAre("*"));
  EXPECT_EQ(options.http.bodyBytes, 2'000'000u);
  EXPECT_GE(options.http.allBodiesBytes, 4 * options.http.bodyBytes);
  EXPECT_EQ(options.sequences, 3u);
  EXPECT_EQ(options.queue, 5u);
  EXPECT_EQ(options.context, 100u);
  EXPECT_EQ(options.kvMegabytes, 64u);
  EXPECT_EQ(options.name, "m");
  EXPECT_EQ(options.drainSeconds, 1.5);
  EXPECT_EQ(options.logFormat, "json");
  EXPECT_EQ(options.api.deadline, milliseconds(2'500));
  EXPECT_TRUE(options.noPrefixCache);
  EXPECT_GE(parsed({"--max-body", "1000"}).http.allBodiesBytes, 4'000'000'000u);
}

TEST(ServeFlags, WhatCantWorkIsRefusedByName) {
  EXPECT_THAT(refused({"--sequences", "0"}), HasSubstr("--sequences 0: expected 1 to 4096"));
  EXPECT_THAT(refused({"--request-timeout", "-1"}), HasSubstr("--request-timeout"));
  EXPECT_THAT(refused({"--drain", "nan"}), HasSubstr("--drain"));
  EXPECT_THAT(refused({"--log-format", "xml"}), HasSubstr("expected text or json"));
  EXPECT_THAT(refused({"--api-key", ""}), HasSubstr("--api-key"));
  EXPECT_THAT(refused({"--port", "70000"}), HasSubstr("--port"));
  EXPECT_THAT(refused({"--api-key-file", "/nowhere/keys"}), HasSubstr("/nowhere/keys"));
}

TEST(ServeFlags, PagesMayNotReachALoopbackWithoutKeysByOtherNames) {
  EXPECT_THAT(parsed({}).api.allowedHosts, ElementsAre("localhost"));
  EXPECT_THAT(parsed({"--host", "::1"}).api.allowedHosts, ElementsAre("localhost"));
  EXPECT_THAT(parsed({"--allowed-host", "a.example"}).api.allowedHosts, ElementsAre("a.example"));
  EXPECT_THAT(parsed({"--api-key", "k"}).api.allowedHosts, ElementsAre());
  EXPECT_THAT(parsed({"--host", "0.0.0.0"}).api.allowedHosts, ElementsAre());
}

TEST(ServeFlags, AKeyFileHasAKeyALine) {
  TempDirectory folder;
  std::ofstream(folder.file("keys")) << "# of the team\none\r\n\n  two words \n";
  EXPECT_THAT(parsed({"--api-key-file", folder.file("keys"), "--api-key", "three"}).api.keys,
              ElementsAre("three", "one", "  two words"));
  std::ofstream(folder.file("none")) << "# nothing\n\n";
  EXPECT_THAT(refused({"--api-key-file", folder.file("none")}), HasSubstr("has no key"));
}

RequestRecord record() {
  RequestRecord made;
  made.id = "0123456789abcdef";
  made.method = "POST";
  made.path = "/v1/completions";
  made.status = 200;
  made.seconds = 0.25;
  made.promptTokens = 12;
  made.cachedTokens = 8;
  made.generatedTokens = 40;
  return made;
}

TEST(ServeLog, ALineSaysWhatAndHowLong) {
  EXPECT_EQ(textLogLine(record()), "0123456789abcdef POST /v1/completions 200 0.250 s, prompt 12 "
                                   "(8 cached), generated 40");
  RequestRecord left = record();
  left.clientLeft = true;
  left.error = "no memory";
  EXPECT_THAT(textLogLine(left), HasSubstr(", client left: no memory"));
  const nlohmann::json line = nlohmann::json::parse(jsonLogLine(left, "2026-01-31T00:00:00Z"));
  EXPECT_EQ(line["time"], "2026-01-31T00:00:00Z");
  EXPECT_EQ(line["id"], "0123456789abcdef");
  EXPECT_EQ(line["status"], 200);
  EXPECT_EQ(line["cached_tokens"], 8);
  EXPECT_EQ(line["client_left"], true);
  EXPECT_EQ(line["error"], "no memory");
}

TEST(ServeLog, NoControlCharacterReachesTheTerminal) {
  RequestRecord hostile = record();
  hostile.method = "G\x1b[2J";
  hostile.path = "/\x9b"
                 "31m\u009b31m\u0080\u009f\u00a0é\x7f\r\n日本\xe6\x97";
  const std::string text = textLogLine(hostile);
  EXPECT_THAT(text, HasSubstr("G?[2J /\uFFFD31m?31m??\u00a0é???日本\uFFFD 200"));
  for (char c : jsonLogLine(hostile, "t"))
    EXPECT_TRUE(c >= 0x20 && c < 0x7f) << int(c);
  RequestRecord endless = record();
  endless.path = endless.error = endless.method = std::string(1 << 20, 'x');
  EXPECT_LT(textLogLine(endless).size(), 2000u);
  EXPECT_LT(jsonLogLine(endless, "t").size(), 2000u);
}

struct Pipe {
  Pipe() { EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() { closeReader(), close(ends[1]); }
  void closeReader() {
    if (ends[0] >= 0)
      close(std::exchange(ends[0], -1));
  }
  std::string readAll(size_t atLeast) {
    std::string all;
    char bytes[65536];
    pollfd ready = {ends[0], POLLIN, 0};
    while (all.size() < atLeast && poll(&ready, 1, 2'000) > 0) {
      const ssize_t got = read(ends[0], bytes, sizeof bytes);
      if (got <= 0)
        break;
      all.append(bytes, size_t(got));
    }
    return all;
  }
  int ends[2];
};

TEST(LogWriter, WritesLinesInOrder) {
  Pipe to;
  {
    LogWriter log(to.ends[1]);
    for (int i = 0; i < 100; ++i)
      log.add(std::to_string(i));
  }
  std::string expected;
  for (int i = 0; i < 100; ++i)
    expected += std::to_string(i) + "\n";
  EXPECT_EQ(to.readAll(expected.size()), expected);
}

TEST(LogWriter, AReaderThatStandsStillHoldsNobodyUpAndIsToldWhatItMissed) {
  Pipe to;
  const std::string line(1000, 'x');
  {
    LogWriter log(to.ends[1], 10);
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; ++i) // a pipe holds 64 of them
      log.add(line);
    EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds(500));
    EXPECT_GT(log.dropped(), 500u);
    std::string all = to.readAll(40'000); // the reader goes on
    for (int i = 0; i < 200; ++i) {
      log.add("after");
      std::this_thread::sleep_for(milliseconds(1));
    }
    all += to.readAll(100'000);
    EXPECT_NE(all.find("lines of the log were dropped"), std::string::npos);
    EXPECT_TRUE(all.ends_with("after\n"));
  }
}

TEST(LogWriter, EndsInTimeWhenNobodyReads) {
  Pipe to;
  const auto began = std::chrono::steady_clock::now();
  {
    LogWriter log(to.ends[1]);
    for (int i = 0; i < 200; ++i)
      log.add(std::string(1000, 'x'));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
}

TEST(LogWriter, AReaderThatLeftAndAFullDiskAreNoFailure) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe to;
  to.closeReader();
  LogWriter gone(to.ends[1]);
  gone.add("to nobody");
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  {
    LogWriter disk(full);
    disk.add("nowhere");
  }
  close(full);
}

TEST(ShutdownSignalsDeathTest, EndTheProgramWhileItLoads) {
  for (int signal : {SIGTERM, SIGINT})
    EXPECT_EXIT(
        {
          ShutdownSignals signals;
          kill(getpid(), signal);
          std::this_thread::sleep_for(std::chrono::seconds(10)); // loading
          _exit(0);
        },
        testing::KilledBySignal(signal), "");
}

TEST(ShutdownSignalsDeathTest, AreTakenOnceReadyAndTheSecondEndsIt) {
  EXPECT_EXIT(
      {
        ShutdownSignals signals;
        signals.ready();
        kill(getpid(), SIGTERM);
        signals.wait();
        signals.release();
        std::fputs("in order", stderr);
        kill(getpid(), SIGINT);
        std::this_thread::sleep_for(std::chrono::seconds(10));
        _exit(0);
      },
      testing::KilledBySignal(SIGINT), "in order");
}

TEST(ShutdownSignalsDeathTest, OneThatNeverCameLeavesNothingBehind) {
  EXPECT_EXIT(
      {
        { ShutdownSignals signals; }
        kill(getpid(), SIGTERM);
        std::this_thread::sleep_for(std::chrono::seconds(10));
      },
      testing::KilledBySignal(SIGTERM), "");
}

/// In a process of its own: the limit can't be raised again.
void expectFit(rlim_t soft, rlim_t hard, size_t wanted, size_t fit) {
  const rlimit limit = {soft, hard};
  const bool set = setrlimit(RLIMIT_NOFILE, &limit) == 0;
  const size_t got = connectionsThatFit(wanted);
  std::fprintf(stderr, "fit %zu", got);
  _exit(set && got == fit ? 0 : 1);
}

TEST(DescriptorLimitDeathTest, TheSoftLimitIsRaisedAndTheHardOneIsKept) {
  EXPECT_EXIT(expectFit(256, 2000, 1024, 1024), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(expectFit(256, 1024, 1024, 896), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(expectFit(100, 100, 1024, 50), testing::ExitedWithCode(0), "");
}

/// A port that was free a moment ago.
uint16_t freePort() {
  class Nobody : public HttpHandler {
    void handle(HttpRequest, std::shared_ptr<HttpExchange>) override {}
    std::optional<HttpResponse> refuse(const HttpRequest &) override { return std::nullopt; }
    HttpResponse unreadable(unsigned, const std::string &, const HttpRequest &) override {
      return {};
    }
  } nobody;
  HttpServerOptions options;
  options.port = 0;
  return HttpServer(options, nobody).port();
}

class Serve : public testing::Test {
protected:
  Serve() { writeFakeModel(folder.file("fake.so")); }
  std::vector<std::string> command(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"serve", folder.file("fake.so"), "--port", std::to_string(port)});
    return more;
  }
  bool waitUntilReady() {
    for (int i = 0; i < 2'000; ++i) {
      try {
        if (ask(port, "GET", "/health/ready").status == 200)
          return true;
      } catch (const Error &) { // not yet
      }
      std::this_thread::sleep_for(milliseconds(5));
    }
    return false;
  }
  const uint16_t port = freePort();
  TempDirectory folder;
};

TEST_F(Serve, AnswersThenEndsInOrderWhenToldTo) {
  Process process(command({"--log-format", "json", "--model-name", "fake"}));
  ASSERT_TRUE(waitUntilReady());
  const ClientResponse answer =
      ask(port, "POST", "/v1/completions",
          R"({"model": "fake", "prompt": "abc", "max_tokens": 4, "ignore_eos": true})");
  EXPECT_EQ(answer.status, 200u) << answer.body;
  process.signal(SIGTERM);
  const Finished finished = process.finish();
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("answers at http://127.0.0.1:"));
  EXPECT_THAT(finished.err, HasSubstr("\"path\":\"/v1/completions\",\"status\":200"));
  EXPECT_THAT(finished.err, HasSubstr("stopping"));
}

TEST_F(Serve, EndsAtOnceWhenToldSoTwice) {
  Process process(command({"--model-name", "fake", "--context", "4000"}));
  ASSERT_TRUE(waitUntilReady());
  process.signal(SIGINT);
  process.signal(SIGINT);
  const int code = process.finish().code;
  EXPECT_TRUE(code == 0 || code == 128 + SIGINT) << code; // there was nothing to wait for
}

} // namespace
