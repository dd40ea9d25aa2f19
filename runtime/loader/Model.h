// A compiled model in this process: checked, its code loaded, its weights in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/abi/inf_abi.h"
#include "runtime/format/Payload.h"
#include "runtime/loader/CheckMachine.h"
#include "runtime/loader/CodeLibrary.h"
#include "runtime/loader/LoadChoice.h"
#include "runtime/loader/NodePlacement.h"
#include "runtime/loader/WeightMemory.h"
#include "runtime/tokenizer/Tokenizer.h"

namespace inf {

struct LoadOptions {
  std::optional<MachineFacts> machine; ///< stands in for this machine (tests)
  std::optional<LoadMode> mode;        ///< nullopt: by chooseLoad's rule
  bool runsForLong = false;            ///< for that rule
  std::optional<uint64_t> filesystem;  ///< stands in for the type of the file's (tests)
  unsigned threads = 1;                ///< that copy weights
  /// Where the threads of the steps run: copied weights lie on the node of those that read them.
  /// Empty: threads are not bound, or no placement is wanted. [threads of the steps]
  std::vector<CopyCpu> cpus;
  CopyProgress progress;
};

/// Where the time of a load went, in seconds.
struct LoadTimes {
  double verify = 0;    ///< reading and checking all but the weights, code against payload
  double tokenizer = 0; ///< reading it
  double map = 0;       ///< dlopen, and the weights: mapped, or read where they are copied
};

/// A model that was compiled in this process.
struct MemoryModel {
  std::string name; ///< for messages
  PayloadInfo payload;
  std::shared_ptr<const inf_model> code;
  WeightMemory weights;
};

/// Immutable after load and safe to share between threads and sessions.
class Model {
public:
  /// In this order: everything that can be checked by reading (ELF, payload, manifest, checksums,
  /// weights present, tokenizer), the CPU's features, then dlopen, then code against payload, then
  /// the weights are mapped or copied. A model.so is code: dlopen runs it, so load only what you
  /// trust. Fails with Io (can't be read), BadInput (broken, without weights, tokenizer beyond the
  /// vocabulary, code and payload of two compilations) or Machine (features or memory lacking).
  static std::shared_ptr<const Model> load(const std::string &path,
                                           const LoadOptions &options = {});

  /// The machine has been checked. Fails with BadInput as load() does, for a tokenizer beyond the
  /// vocabulary or code that breaks the contract.
  static std::shared_ptr<const Model> fromMemory(MemoryModel model);

  const std::string &path() const { return modelPath; }
  const inf_model &code() const { return *table; }
  const Manifest &manifest() const { return payload.manifest; }
  const std::string &chatTemplate() const { return payload.chatTemplate; }
  std::span<const uint8_t> weights() const { return weightMemory.bytes(); }
  /// How the weights came into memory, and why so.
  const LoadChoice &loadChoice() const { return choice; }
  /// Of a model from memory: its map is 0.
  const LoadTimes &loadTimes() const { return times; }
  /// No runs when nothing was placed.
  const NodePlacement &nodePlacement() const { return placement; }
  /// Null when the model was compiled without a tokenizer: only token ids can be given to it.
  const Tokenizer *tokenizer() const { return textTokenizer ? &*textTokenizer : nullptr; }
  /// Fails with Usage, saying to give ids, when there is no tokenizer.
  const Tokenizer &requireTokenizer() const;

private:
  Model(const std::string &path, PayloadInfo info, std::optional<Tokenizer> tokenizer,
        const LoadOptions &options);
  Model(MemoryModel model, std::optional<Tokenizer> tokenizer);

  std::string modelPath;
  PayloadInfo payload;
  std::optional<Tokenizer> textTokenizer;
  std::shared_ptr<const inf_model> table; ///< owns what holds the code
  LoadChoice choice;
  NodePlacement placement;
  WeightMemory weightMemory;
  LoadTimes times;
};

} // namespace inf
