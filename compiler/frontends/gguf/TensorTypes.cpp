#include "compiler/frontends/gguf/TensorTypes.h"

namespace inf {
namespace {

constexpr GgufTensorType types[] = {
    {0, "F32", 1, 4, WeightFormat::F32},
    {1, "F16", 1, 2, WeightFormat::F16},
    {2, "Q4_0", 32, 18, WeightFormat::INT4},
    {3, "Q4_1", 32, 20, WeightFormat::INT4A},
    {8, "Q8_0", 32, 34, WeightFormat::INT8},
    {12, "Q4_K", 256, 144, {}},
    {13, "Q5_K", 256, 176, {}},
    {14, "Q6_K", 256, 210, {}},
    {30, "BF16", 1, 2, WeightFormat::BF16},
    {39, "MXFP4", 32, 17, WeightFormat::MXFP4},
    // Known by name only, for messages.
    {6, "Q5_0", 0, 0, {}},
    {7, "Q5_1", 0, 0, {}},
    {9, "Q8_1", 0, 0, {}},
    {10, "Q2_K", 0, 0, {}},
    {11, "Q3_K", 0, 0, {}},
    {15, "Q8_K", 0, 0, {}},
    {16, "IQ2_XXS", 0, 0, {}},
    {17, "IQ2_XS", 0, 0, {}},
    {18, "IQ3_XXS", 0, 0, {}},
    {19, "IQ1_S", 0, 0, {}},
    {20, "IQ4_NL", 0, 0, {}},
    {21, "IQ3_S", 0, 0, {}},
    {22, "IQ2_S", 0, 0, {}},
    {23, "IQ4_XS", 0, 0, {}},
    {24, "I8", 0, 0, {}},
    {25, "I16", 0, 0, {}},
    {26, "I32", 0, 0, {}},
    {27, "I64", 0, 0, {}},
    {28, "F64", 0, 0, {}},
    {29, "IQ1_M", 0, 0, {}},
    {34, "TQ1_0", 0, 0, {}},
    {35, "TQ2_0", 0, 0, {}},
    {40, "NVFP4", 0, 0, {}},
};

} // namespace

const GgufTensorType *findTensorType(uint32_t number) {
  for (const GgufTensorType &type : types)
    if (type.number == number)
      return &type;
  return nullptr;
}

std::string readTensorTypes() {
  std::string names;
  for (const GgufTensorType &type : types)
    if (type.isRead())
      names.append(names.empty() ? "" : ", ").append(type.name);
  return names;
}

} // namespace inf
