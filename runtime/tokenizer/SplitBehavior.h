// What becomes of the matches and gaps that a split finds: the behaviours of tokenizer.json.
#pragma once

#include <cstddef>
#include <cstdint>

namespace inf {

enum class SplitBehavior : uint8_t {
  Removed,            ///< matches are dropped
  Isolated,           ///< each match and each gap is a piece
  MergedWithPrevious, ///< a match ends the gap before it
  MergedWithNext,     ///< a match begins the gap after it
  Contiguous,         ///< neighbouring matches are one piece
};

/// Takes matches and gaps in order and calls `emit(begin, end)` for each piece, none of them empty.
template <typename Emit> class PieceJoiner {
public:
  PieceJoiner(SplitBehavior splitBehavior, Emit &emitPiece)
      : behavior(splitBehavior), emit(emitPiece) {}

  void add(size_t itemBegin, size_t itemEnd, bool isMatch) {
    if (any && joins(isMatch)) {
      end = itemEnd;
    } else {
      flush();
      begin = itemBegin;
      end = itemEnd;
      any = true;
    }
    lastIsMatch = isMatch;
  }

  void flush() {
    if (any && end > begin && !(behavior == SplitBehavior::Removed && lastIsMatch))
      emit(begin, end);
    any = false;
  }

private:
  bool joins(bool isMatch) const {
    switch (behavior) {
    case SplitBehavior::Removed:
    case SplitBehavior::Isolated:
      return false;
    case SplitBehavior::MergedWithPrevious:
      return isMatch && !lastIsMatch;
    case SplitBehavior::MergedWithNext:
      return !isMatch && lastIsMatch;
    case SplitBehavior::Contiguous:
      return isMatch == lastIsMatch;
    }
    return false;
  }

  SplitBehavior behavior;
  Emit &emit;
  size_t begin = 0, end = 0;
  bool any = false, lastIsMatch = false;
};

} // namespace inf
