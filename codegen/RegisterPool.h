// Registers by role. A generator takes a register under the name of what it will hold and gets it
// back to the pool when the handle's scope ends; nothing is ever spilled behind its back. Running
// out fails and lists the roles in use, so the register budget in a kernel's comment can be checked
// against what it really holds.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace inf {

enum class RegisterFile : unsigned { General = 0, Vector = 1, Mask = 2 };

class RegisterPool {
public:
  /// One register held; given back by the destructor. Must not outlive its pool.
  class Lease {
  public:
    Lease() = default;
    Lease(Lease &&other) noexcept;
    Lease &operator=(Lease &&other) noexcept;
    Lease(const Lease &) = delete;
    Lease &operator=(const Lease &) = delete;
    ~Lease();

    /// The hardware's number of the register. Only valid for a register that is held.
    int index() const { return number; }

  private:
    friend class RegisterPool;
    Lease(RegisterPool *from, RegisterFile registerFile, int registerNumber)
        : pool(from), file(registerFile), number(registerNumber) {}
    void release() noexcept;

    RegisterPool *pool = nullptr;
    RegisterFile file = RegisterFile::General;
    int number = -1;
  };

  /// Numbers of each file, handed out in the order given (a register given back is preferred
  /// again).
  RegisterPool(const std::vector<int> &general, const std::vector<int> &vectors,
               const std::vector<int> &masks);
  RegisterPool(const RegisterPool &) = delete;
  RegisterPool &operator=(const RegisterPool &) = delete;

  /// The first free register. Fails with Internal, naming the roles in use, when there is none.
  Lease take(RegisterFile file, std::string_view role);
  /// One given register, say the one an argument arrives in. Fails when it is in use or unknown.
  Lease takeExactly(RegisterFile file, int number, std::string_view role);
  /// Registers nobody holds.
  unsigned available(RegisterFile file) const;

private:
  struct Slot {
    int number;
    bool inUse = false;
    std::string role;
  };
  using Slots = std::vector<Slot>;

  Lease hold(RegisterFile file, Slot &slot, std::string_view role);
  void giveBack(RegisterFile file, int number) noexcept;
  std::string rolesInUse(RegisterFile file) const;
  Slots &slotsOf(RegisterFile file) { return files[static_cast<unsigned>(file)]; }
  const Slots &slotsOf(RegisterFile file) const { return files[static_cast<unsigned>(file)]; }

  std::array<Slots, 3> files;
};

} // namespace inf
