#include "runtime/engine/Mailbox.h"

#include <utility>

namespace inf {

uint64_t Mailbox::submit(CompletionRequest request, std::shared_ptr<CompletionSink> sink,
                         double now) {
  std::lock_guard lock(mutex);
  if (closed)
    throw Refusal(RefusalReason::Closing, "the service is closing and takes no more requests.");
  if (aliveCount >= mostAlive) {
    ++refused;
    throw Refusal(
        RefusalReason::Busy,
        fmt::format("{} requests run or wait, which is the most. Try again later.", aliveCount));
  }
  ++aliveCount;
  mail.submissions.push_back({++lastId, std::move(request), std::move(sink), now});
  arrived.notify_one();
  return lastId;
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
  return emptied.wait_for(lock, grace, [&] { return aliveCount == 0; });
}

void Mailbox::waitUntilEmpty() {
  std::unique_lock lock(mutex);
  emptied.wait(lock, [&] { return aliveCount == 0; });
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
  if (--aliveCount == 0)
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
