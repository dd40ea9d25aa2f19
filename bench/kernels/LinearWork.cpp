#include <algorithm>
#include <vector>

#include "bench/kernels/Work.h"
#include "codegen/KernelArgs.h"
#include "runtime/abi/ActivationRows.h"
#include "tests/codegen/ExecutableKernel.h"

namespace inf::bench {
namespace {

constexpr uint64_t columns = 2880;
// Panels in a call: what a thread of two has of a matrix with 2880 outputs.
constexpr uint64_t memoryPanels = 90;
// From cache: 256 outputs of a thread, 0.4 MB in MXFP4.
constexpr uint64_t cachePanels = 16;

struct alignas(64) Line {
  uint8_t bytes[64];
};

/// [rows] of what a kernel reads: floats or bf16 of 0.5, or codes of 1 with a scale of 0.5.
class InputRows {
public:
  InputRows(InputFormat format, unsigned rows)
      : rowBytes(bytesOf(format)), lines(rows * ((rowBytes + 63) / 64)) {
    for (unsigned r = 0; r < rows; ++r) {
      auto *row = reinterpret_cast<uint8_t *>(lines.data() + r * ((rowBytes + 63) / 64));
      if (format == InputFormat::Q8)
        fillQ8(row);
      else if (format == InputFormat::BF16)
        std::fill_n(reinterpret_cast<uint16_t *>(row), columns, uint16_t{0x3F00});
      else
        std::fill_n(reinterpret_cast<float *>(row), columns, 0.5f);
      pointers.push_back(row);
    }
  }

  const void *const *data() const { return pointers.data(); }

private:
  static uint64_t bytesOf(InputFormat format) {
    switch (format) {
    case InputFormat::Q8:
      return q8RowBytes(columns);
    case InputFormat::BF16:
      return bf16RowBytes(columns);
    case InputFormat::F32:
      break;
    }
    return columns * sizeof(float);
  }

  static void fillQ8(uint8_t *row) {
    std::fill_n(row, columns, uint8_t{1});
    const Q8Block block = {0.5f, -16 * static_cast<int32_t>(blockColumns)};
    std::fill_n(reinterpret_cast<Q8Block *>(row + q8BlocksOffset(columns)), columns / blockColumns,
                block);
  }

  uint64_t rowBytes;
  std::vector<Line> lines;
  std::vector<const void *> pointers;
};

class LinearWork : public Work {
public:
  LinearWork(const KernelSpec &kernelSpec, unsigned rowCount, Source from, const Machine &machine)
      : spec(kernelSpec), kernel(kernelSpec), rows(rowCount), inputs(kernelSpec.inputs, rowCount),
        panelBytes(weightBytes(kernelSpec.weights, panelRows * columns)),
        callPanels(from == Source::Memory ? memoryPanels : cachePanels),
        threads(machine.pool.size()) {
    const uint64_t room = machine.memory.share(0).size() / panelBytes;
    passPanels = from == Source::Memory ? room : std::min(room, cachePanels);
    for (unsigned t = 0; t < threads; ++t)
      parts.emplace_back(machine.memory.share(t).data(), rows, callPanels * panelRows,
                         linearScratchBytes(spec, rows, columns));
  }

  void run(unsigned thread) override {
    Part &part = parts[thread];
    LinearArgs args = {};
    args.x = inputs.data();
    args.y = part.outputs.data();
    args.rows = rows;
    args.columns = columns;
    args.scratch = part.scratch.empty() ? nullptr : part.scratch.front().bytes;
    for (uint64_t done = 0; done < passPanels; done += callPanels) {
      args.weights = part.weights + done * panelBytes;
      args.panels = static_cast<int64_t>(std::min(callPanels, passPanels - done));
      kernel(args);
    }
  }

  uint64_t bytes() const override { return threads * passPanels * panelBytes; }
  uint64_t operations() const override {
    return 2 * threads * passPanels * panelRows * columns * rows;
  }
  DotKind products() const override {
    if (spec.inputs == InputFormat::Q8)
      return DotKind::Int8;
    const bool bf16 = spec.inputs == InputFormat::BF16 &&
                      (spec.isa == KernelIsa::Avx512Bf16 || spec.isa == KernelIsa::Amx);
    return bf16 ? DotKind::Bf16 : DotKind::F32;
  }

private:
  struct Part {
    Part(const uint8_t *from, unsigned rowCount, uint64_t stride, uint64_t scratchBytes)
        : weights(from), y(rowCount * stride), scratch((scratchBytes + 63) / 64) {
      for (unsigned r = 0; r < rowCount; ++r)
        outputs.push_back(y.data() + r * stride);
    }
    const uint8_t *weights;
    std::vector<float> y; ///< [rows][outputs of a call]
    std::vector<float *> outputs;
    std::vector<Line> scratch;
  };

  const KernelSpec spec;
  const test::ExecutableKernel kernel;
  const unsigned rows;
  const InputRows inputs;
  const uint64_t panelBytes, callPanels;
  const uint64_t threads;
  uint64_t passPanels = 0; ///< of a thread
  std::vector<Part> parts; ///< [threads]
};

} // namespace

std::unique_ptr<Work> makeLinearWork(const KernelSpec &spec, unsigned rows, Source source,
                                     const Machine &machine) {
  return std::make_unique<LinearWork>(spec, rows, source, machine);
}

} // namespace inf::bench
