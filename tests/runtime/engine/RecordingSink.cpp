#include "tests/runtime/engine/RecordingSink.h"

#include <chrono>
#include <stdexcept>

#include <gtest/gtest.h>

namespace inf::test {
namespace {

constexpr std::chrono::minutes patience{1};

RecordingSink::Event copyOf(const TokenEvent &event) {
  return {event.id, event.forced, event.stop, event.logprob, {event.top.begin(), event.top.end()}};
}

} // namespace

void RecordingSink::promptToken(const TokenEvent &event) {
  std::lock_guard lock(mutex);
  prompt.push_back(copyOf(event));
}

TokenVerdict RecordingSink::token(const TokenEvent &event) {
  size_t index;
  {
    std::lock_guard lock(mutex);
    index = all.size();
    all.push_back(copyOf(event));
    changed.notify_all();
  }
  return onToken ? onToken(index) : TokenVerdict{};
}

void RecordingSink::finished(const CompletionResult &result) {
  std::lock_guard lock(mutex);
  last = result;
  ++ends;
  changed.notify_all();
  if (throwAtEnd)
    throw std::runtime_error("finished() was told to throw");
}

CompletionResult RecordingSink::wait() {
  std::unique_lock lock(mutex);
  if (!changed.wait_for(lock, patience, [&] { return ends != 0; }))
    ADD_FAILURE() << "the request never ended";
  return last;
}

void RecordingSink::waitForTokens(size_t count) {
  std::unique_lock lock(mutex);
  if (!changed.wait_for(lock, patience, [&] { return all.size() >= count || ends != 0; }))
    ADD_FAILURE() << "no " << count << " tokens came";
}

std::vector<int32_t> RecordingSink::tokens() const {
  std::lock_guard lock(mutex);
  std::vector<int32_t> ids;
  for (const Event &event : all)
    ids.push_back(event.id);
  return ids;
}

std::vector<RecordingSink::Event> RecordingSink::events() const {
  std::lock_guard lock(mutex);
  return all;
}

std::vector<RecordingSink::Event> RecordingSink::promptEvents() const {
  std::lock_guard lock(mutex);
  return prompt;
}

unsigned RecordingSink::timesFinished() const {
  std::lock_guard lock(mutex);
  return ends;
}

} // namespace inf::test
