// Registration, custom assembly and small accessors of the dialect; verifiers are in
// InfOpsVerify.cpp.
#include "ir/dialect/InfDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "InfDialect.cpp.inc"
#include "InfEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "InfAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "InfTypes.cpp.inc"
#define GET_OP_CLASSES
#include "InfOps.cpp.inc"

using namespace mlir;

namespace inf::ir {

void InfDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "InfAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "InfTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "InfOps.cpp.inc"
      >();
}

int64_t featuresOf(Value activations) {
  return cast<RankedTensorType>(activations.getType()).getShape().back();
}

RankedTensorType activationType(MLIRContext *context, int64_t features) {
  return RankedTensorType::get({ShapedType::kDynamic, features}, Float32Type::get(context));
}

std::optional<Format> WeightOp::storedFormat() {
  std::optional<Format> format;
  for (PartAttr part : getParts().getAsRange<PartAttr>()) {
    if (format && *format != part.getStored())
      return std::nullopt;
    format = part.getStored();
  }
  return format;
}

ParseResult BlockOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> arguments, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(arguments, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void BlockOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false,
                                           getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

/// Arguments print as what they are: %x, %attention.q.weight.
void BlockOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, argument.getArgNumber() == 0 ? StringRef("x")
                                                   : slotName(argument.getArgNumber()));
}

StringRef BlockOp::slotName(unsigned index) {
  auto name = getArgAttrOfType<StringAttr>(index, slotAttrName);
  return name ? name.getValue() : StringRef();
}

YieldOp BlockOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }
YieldOp StepOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

} // namespace inf::ir
