#include "runtime/engine/Mailbox.h"

#include <utility>

namespace inf {

std::vector<uint64_t> Mailbox::submit(std::vector<CompletionJob> jobs, double now) {
  if (jobs.size() > mostAlive)
    throw Refusal(RefusalReason::Invalid,
                  fmt::format("{} requests were given at once, expected at most {}, which is how "
                              "many can run and wait.",
                              jobs.size(), mostAlive));
  std::lock_guard lock(mutex);
  if (closed)
    throw Refusal(RefusalReason::Closing, "the service is closing and takes no more requests.");
  if (jobs.size() > mostAlive - aliveCount) {
    refused += jobs.size();
    throw Refusal(RefusalReason::Busy,
                  fmt::format("{} requests run or wait, {} more are too many: {} can. Try again "
                              "later.",
                              aliveCount, jobs.size(), mostAlive));
  }
  std::vector<uint64_t> numbers;
  numbers.reserve(jobs.size()); // nothing below may fail halfway
  mail.submissions.reserve(mail.submissions.size() + jobs.size());
  for (CompletionJob &job : jobs) {
    mail.submissions.push_back({++lastId, std::move(job.request), std::move(job.sink), now});
    numbers.push_back(lastId);
  }
  aliveCount += static_cast<uint32_t>(jobs.size());
  sinks += jobs.size();
  arrived.notify_one();
  return numbers;
}

void Mailbox::cancel(uint64_t id) {
  std::lock_guard lock(mutex);
  if (aliveCount == 0)
    return;
  mail.cancelled.push_back(id);
  arrived.notify_one();
}

void Mailbox::close() {
  std::lock_guard lock(mutex);
  closed = true;
}

void Mailbox::cancelAll() {
  std::lock_guard lock(mutex);
  mail.cancelAll = true;
  arrived.notify_one();
}

void Mailbox::stop() {
  std::lock_guard lock(mutex);
  closed = true;
  mail.cancelAll = mail.stop = true;
  arrived.notify_one();
}

bool Mailbox::waitUntilEmpty(std::chrono::milliseconds grace) {
  std::unique_lock lock(mutex);
  return emptied.wait_for(lock, grace, [&] { return sinks == 0; });
}

void Mailbox::waitUntilEmpty() {
  std::unique_lock lock(mutex);
  emptied.wait(lock, [&] { return sinks == 0; });
}

Mail Mailbox::take(bool idle) {
  std::unique_lock lock(mutex);
  if (idle)
    arrived.wait(lock, [&] {
      return !mail.submissions.empty() || !mail.cancelled.empty() || mail.cancelAll || mail.stop;
    });
  return std::exchange(mail, {});
}

void Mailbox::ended() {
  std::lock_guard lock(mutex);
  --aliveCount;
}

void Mailbox::sinkGone() {
  std::lock_guard lock(mutex);
  if (--sinks == 0)
    emptied.notify_all();
}

uint32_t Mailbox::alive() const {
  std::lock_guard lock(mutex);
  return aliveCount;
}

uint64_t Mailbox::refusedFull() const {
  std::lock_guard lock(mutex);
  return refused;
}

} // namespace inf
