#include "codegen/RegisterPool.h"

#include <algorithm>
#include <utility>

#include "runtime/base/Error.h"

namespace inf {

static std::string_view fileName(RegisterFile file) {
  switch (file) {
  case RegisterFile::General:
    return "general";
  case RegisterFile::Vector:
    return "vector";
  case RegisterFile::Mask:
    return "mask";
  }
  return "unknown";
}

RegisterPool::Lease::Lease(Lease &&other) noexcept
    : pool(std::exchange(other.pool, nullptr)), file(other.file), number(other.number) {}

RegisterPool::Lease &RegisterPool::Lease::operator=(Lease &&other) noexcept {
  if (this != &other) {
    release();
    pool = std::exchange(other.pool, nullptr);
    file = other.file;
    number = other.number;
  }
  return *this;
}

RegisterPool::Lease::~Lease() { release(); }

void RegisterPool::Lease::release() noexcept {
  if (pool)
    pool->giveBack(file, number);
  pool = nullptr;
}

RegisterPool::RegisterPool(const std::vector<int> &general, const std::vector<int> &vectors,
                           const std::vector<int> &masks) {
  const std::array<const std::vector<int> *, 3> numbers = {&general, &vectors, &masks};
  for (unsigned file = 0; file < files.size(); ++file)
    for (int number : *numbers[file])
      files[file].push_back({number, false, {}});
}

RegisterPool::Lease RegisterPool::take(RegisterFile file, std::string_view role) {
  for (Slot &slot : slotsOf(file))
    if (!slot.inUse)
      return hold(file, slot, role);
  fail(ErrorCode::Internal,
       "no {} register left for '{}': all {} are in use ({}); use a smaller tile or end a scope "
       "earlier",
       fileName(file), role, slotsOf(file).size(), rolesInUse(file));
}

RegisterPool::Lease RegisterPool::takeExactly(RegisterFile file, int number,
                                              std::string_view role) {
  for (Slot &slot : slotsOf(file)) {
    if (slot.number != number)
      continue;
    if (!slot.inUse)
      return hold(file, slot, role);
    fail(ErrorCode::Internal, "{} register {} is wanted for '{}' but holds '{}': take it earlier",
         fileName(file), number, role, slot.role);
  }
  fail(ErrorCode::Internal, "{} register {} is wanted for '{}' but is not in the pool",
       fileName(file), number, role);
}

unsigned RegisterPool::available(RegisterFile file) const {
  const Slots &slots = slotsOf(file);
  return static_cast<unsigned>(
      std::count_if(slots.begin(), slots.end(), [](const Slot &slot) { return !slot.inUse; }));
}

RegisterPool::Lease RegisterPool::hold(RegisterFile file, Slot &slot, std::string_view role) {
  slot.inUse = true;
  slot.role = role;
  return Lease(this, file, slot.number);
}

void RegisterPool::giveBack(RegisterFile file, int number) noexcept {
  for (Slot &slot : slotsOf(file))
    if (slot.number == number)
      slot.inUse = false;
}

std::string RegisterPool::rolesInUse(RegisterFile file) const {
  std::string roles;
  for (const Slot &slot : slotsOf(file)) {
    if (!slot.inUse)
      continue;
    if (!roles.empty())
      roles += ", ";
    roles += slot.role;
  }
  return roles;
}

} // namespace inf
