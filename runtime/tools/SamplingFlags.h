// The flags of sampling: from the command line to SamplingOptions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sampler/SamplingOptions.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "runtime/tools/Arguments.h"

namespace inf {

/// What --help-sampling prints.
extern const std::string_view samplingHelp;

struct SamplingFlags {
  SamplingOptions options;
  std::vector<std::string> biases;                  ///< "ID=BIAS"
  std::optional<std::vector<std::string>> breakers; ///< nullopt: line ends, and : " *
};

void addSamplingFlags(CLI::App &app, SamplingFlags &flags);

/// What needs no model: parses the biases into the options and validates all. Fails with Usage.
void checkSamplingFlags(SamplingFlags &flags);

/// The options, DRY's breakers looked up: every token whose text contains one of them. `tokenizer`
/// may be null; then fails with Usage for breakers that were asked for.
SamplingOptions samplingOptions(const SamplingFlags &flags, const Tokenizer *tokenizer);

} // namespace inf
