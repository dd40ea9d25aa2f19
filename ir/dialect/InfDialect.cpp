// Registration, custom assembly and small accessors of the dialect; verifiers are in
// InfOpsVerify.cpp.
#include "ir/dialect/InfDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

namespace inf::ir {

/// MLIR 19's parser frees values that another region still reads when a file is broken; with names
/// of its own a region can't read another's.
static mlir::ParseResult parseIsolatedBody(mlir::OpAsmParser &parser, mlir::Region &body) {
  return parser.parseRegion(body, {}, /*enableNameShadowing=*/true);
}
static void printIsolatedBody(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::Region &body) {
  printer.printRegion(body);
}

} // namespace inf::ir

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

bool hasRowsShape(RankedTensorType tensor, int64_t known) {
  if (tensor.getEncoding() || tensor.getRank() != 1 + known || !tensor.isDynamicDim(0))
    return false;
  int64_t size = 1;
  for (int64_t dim : tensor.getShape().drop_front()) {
    if (dim < 1 || dim > largestSize / size) // dynamic is negative
      return false;
    size *= dim;
  }
  return true;
}

bool isQ8RowsOf(Type type, int64_t known) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<Q8Type, Mxint8Type>(tensor.getElementType()) &&
         hasRowsShape(tensor, known) && tensor.getShape().back() % q8Block == 0;
}

bool isBf16RowsOf(Type type, int64_t known) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isBF16() && hasRowsShape(tensor, known);
}

static RankedTensorType withElement(Type type, Type element) {
  return RankedTensorType::get(cast<RankedTensorType>(type).getShape(), element);
}

RankedTensorType q8Type(Type type) { return withElement(type, Q8Type::get(type.getContext())); }
RankedTensorType mxint8Type(Type type) {
  return withElement(type, Mxint8Type::get(type.getContext()));
}
RankedTensorType bf16Type(Type type) {
  return withElement(type, BFloat16Type::get(type.getContext()));
}

bool isQ8(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && isa<Q8Type, Mxint8Type>(tensor.getElementType());
}

bool isBf16(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && tensor.getElementType().isBF16();
}

bool isMxint8(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && isa<Mxint8Type>(tensor.getElementType());
}

RankedTensorType typeInFormOf(Type type, Value value) {
  return withElement(type, cast<RankedTensorType>(value.getType()).getElementType());
}

bool isRounded(Value value) { return isQ8(value) || isBf16(value); }

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

/// The same as parseFunctionOp, but for the body: names of one block are not those of another.
ParseResult BlockOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> inputs, results;
  SmallVector<DictionaryAttr> resultAttrs;
  bool isVariadic = false;
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(), result.attributes) ||
      function_interface_impl::parseFunctionSignature(parser, /*allowVariadic=*/false, arguments,
                                                      isVariadic, results, resultAttrs) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  for (const OpAsmParser::Argument &argument : arguments)
    inputs.push_back(argument.type);
  Builder &builder = parser.getBuilder();
  result.addAttribute(getFunctionTypeAttrName(result.name),
                      TypeAttr::get(builder.getFunctionType(inputs, results)));
  function_interface_impl::addArgAndResultAttrs(builder, result, arguments, resultAttrs,
                                                getArgAttrsAttrName(result.name),
                                                getResAttrsAttrName(result.name));
  return parser.parseRegion(*result.addRegion(), arguments, /*enableNameShadowing=*/true);
}

void BlockOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false,
                                           getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

/// Arguments print as what they are: %x, %attention.q.weight.
void BlockOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument,
            argument.getArgNumber() == 0 ? StringRef("x") : slotName(argument.getArgNumber()));
}

StringRef BlockOp::slotName(unsigned index) {
  auto name = getArgAttrOfType<StringAttr>(index, slotAttrName);
  return name ? name.getValue() : StringRef();
}

YieldOp BlockOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }
YieldOp StepOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

} // namespace inf::ir
