//===- InfDialect.td - the dialect, its types and attributes ------------------------------------===//
#ifndef INF_DIALECT_TD
#define INF_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Inf_Dialect : Dialect {
  let name = "inf";
  let cppNamespace = "::inf::ir";
  let summary = "Language models on CPUs: what each op means, and every decision made about it";
  let description = [{
    Activations are tensors [rows, features] of f32, or of !inf.q8 or bf16 where kernels read them so; a
    row is one token of one sequence in a step, and its position and sequence are implicit. Weights are names, never bytes: `inf.weight`
    declares one, ops take `!inf.weight` values that stand for it.

    Decisions are attributes, so that they can be printed, tested and overridden by hand:

    | attribute | on | set by |
    |---|---|---|
    | `format`, `layout`, `offset`, `bytes` | `inf.weight` | quantize, select-kernels, plan-memory |
    | `activations` | the model | quantize |
    | `dots` | attention | quantize-activations |
    | `inf.kernel` | ops with a generated kernel | select-kernels |
    | `inf.partition` | every op that becomes a stage | partition |
    | `inf.offsets` | ops with buffer results | plan-memory |
    | `inf.partials` | attention that may be split | plan-memory |
    | `inf.scratch` | the model, bytes per thread | plan-memory |
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

class Inf_Type<string name, string typeMnemonic> : TypeDef<Inf_Dialect, name> {
  let mnemonic = typeMnemonic;
}
class Inf_Attr<string name, string attrMnemonic> : AttrDef<Inf_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Inf_WeightType : Inf_Type<"Weight", "weight"> {
  let summary = "a weight by shape: [rows], [rows, columns] or [experts, rows, columns]";
  let description = [{
    `columns` is the reduction axis. Vectors (norms, biases, sinks) have one axis; an expert's
    vector has columns == 1. How a weight is stored and packed is a decision on its `inf.weight`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape);
  let assemblyFormat = "`<` `[` $shape `]` `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getExperts() const { return getShape().size() == 3 ? getShape()[0] : 1; }
    int64_t getRows() const { return getShape().size() == 3 ? getShape()[1] : getShape()[0]; }
    int64_t getColumns() const { return getShape().size() == 1 ? 1 : getShape().back(); }
    bool isVector() const { return getColumns() == 1; }
  }];
}

def Inf_Q8Type : Inf_Type<"Q8", "q8"> {
  let summary = "element of int8 activations: tensor<?xFx!inf.q8>";
  let description = [{
    Every 32 features share an f32 scale s = max|x| / 127; a feature is round(x / s) * s, rounded to
    nearest even, steps in -127..127; 0 stays 0. runtime/abi/ActivationRows.h has the bytes. In
    meaning a q8 value is the f32 value after that rounding: ops read it as such. The same holds for
    elements of bf16, rounded to nearest even.
  }];
}

def Inf_Mxint8Type : Inf_Type<"Mxint8", "mxint8"> {
  let summary = "element of int8 activations whose scales are powers of two";
  let description = [{
    As `!inf.q8`, the scale being the next power of two from max|x| / 127 upwards. Its bytes are
    q8's, and what holds for q8 holds for it. (MXINT8 of the OCP microscaling formats has such
    numbers; how their scales are chosen is ours.)
  }];
}

// Values equal those of runtime/abi/WeightFormats.h; passes check that at compile time.
def Inf_Format : I32EnumAttr<"Format", "element format of a weight", [
    I32EnumAttrCase<"F32", 0, "f32">, I32EnumAttrCase<"F16", 1, "f16">,
    I32EnumAttrCase<"BF16", 2, "bf16">, I32EnumAttrCase<"MXFP4", 3, "mxfp4">,
    I32EnumAttrCase<"INT8", 4, "int8">, I32EnumAttrCase<"INT4", 5, "int4">,
    I32EnumAttrCase<"INT4A", 6, "int4a">]> {
  let cppNamespace = "::inf::ir";
  let genSpecializedAttr = 0;
}
def Inf_FormatAttr : EnumAttr<Inf_Dialect, Inf_Format, "format"> {
  let assemblyFormat = "`<` $value `>`";
}

def Inf_Layout : I32EnumAttr<"Layout", "packed layout of a weight", [
    I32EnumAttrCase<"Vector", 0, "vector">, I32EnumAttrCase<"VectorPairs", 1, "vector_pairs">,
    I32EnumAttrCase<"Rows", 2, "rows">, I32EnumAttrCase<"Panel16", 3, "panel16">,
    I32EnumAttrCase<"Panel16Pairs", 4, "panel16_pairs">,
    I32EnumAttrCase<"Panel16By2", 5, "panel16_by2">,
    I32EnumAttrCase<"Panel16PairsBy2", 6, "panel16_pairs_by2">]> {
  let cppNamespace = "::inf::ir";
  let genSpecializedAttr = 0;
}
def Inf_LayoutAttr : EnumAttr<Inf_Dialect, Inf_Layout, "layout"> {
  let assemblyFormat = "`<` $value `>`";
}

def Inf_ActivationKind : I32EnumAttr<"ActivationKind", "gated activation", [
    I32EnumAttrCase<"Swiglu", 0, "swiglu">,
    I32EnumAttrCase<"SwigluClamped", 1, "swiglu_clamped">]> {
  let cppNamespace = "::inf::ir";
  let genSpecializedAttr = 0;
}

def Inf_ActivationAttr : Inf_Attr<"Activation", "activation"> {
  let summary = "gated activation over (gate, up)";
  let description = [{
    swiglu:         silu(gate) * up
    swiglu_clamped: g = min(gate, limit), u = clamp(up, -limit, limit);
                    (u + 1) * g * sigmoid(alpha * g)     (gpt-oss)
  }];
  let parameters = (ins EnumParameter<Inf_ActivationKind>:$kind,
                        OptionalParameter<"::mlir::FloatAttr">:$limit,
                        OptionalParameter<"::mlir::FloatAttr">:$alpha);
  let assemblyFormat = "`<` $kind (`,` `limit` `=` $limit^ `,` `alpha` `=` $alpha)? `>`";
  let genVerifyDecl = 1;
}

def Inf_PartAttr : Inf_Attr<"Part", "part"> {
  let summary = "one run of output rows of a weight, read from one checkpoint tensor";
  let parameters = (ins "::mlir::StringAttr":$tensor, OptionalParameter<"::mlir::StringAttr">:$scales,
                        EnumParameter<Inf_Format>:$stored, "int64_t":$rows,
                        DefaultValuedParameter<"bool", "false">:$transposed,
                        DefaultValuedParameter<"bool", "false">:$interleaved);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Inf_Axis : I32EnumAttr<"Axis", "what the threads share out among themselves", [
    I32EnumAttrCase<"Rows", 0, "rows">, I32EnumAttrCase<"Outputs", 1, "outputs">,
    I32EnumAttrCase<"RowHeads", 2, "row_heads">]> {
  let cppNamespace = "::inf::ir";
  let genSpecializedAttr = 0;
}

def Inf_PartitionAttr : Inf_Attr<"Partition", "partition"> {
  let summary = "how a stage is cut over threads";
  let description = [{
    Thread t of n takes units [count * t / n, count * (t + 1) / n) of `axis`, in `grain`s:
    rows; outputs (grain is a number of output features); row_heads (kv head, row) pairs.
    `row_tile` rows are worked on between two passes over a thread's weights.
    Attention only, both or neither: where a step of at most `split_rows` rows has too few units for
    its threads, keys too are shared out, in chunks of `chunk_keys` positions from 0 on.
  }];
  let parameters = (ins EnumParameter<Inf_Axis>:$axis, "int64_t":$grain, "int64_t":$row_tile,
                        DefaultValuedParameter<"int64_t", "0">:$chunk_keys,
                        DefaultValuedParameter<"int64_t", "0">:$split_rows);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // INF_DIALECT_TD
