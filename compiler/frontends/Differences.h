// What a model's description and the tensors of a file don't agree on, collected for one message.
#pragma once

#include <set>
#include <string>

namespace inf {

class Differences {
public:
  void missingTensor(const std::string &name) { missing.insert(name); }
  void extraTensor(const std::string &name) { extra.insert(name); }
  void mismatchedTensor(const std::string &name, const std::string &expected,
                        const std::string &found);

  /// Fails with BadInput when there are any: counts and the first names of each kind. `what` is
  /// what does not fit ("the checkpoint").
  void refuse(const std::string &what) const;

private:
  std::set<std::string> missing, extra, mismatched;
};

} // namespace inf
