//===- InfOps.td - the ops: what a model is made of ----------------------------------------------===//
// Where an op may read or give !inf.q8 or bf16, the number it works on is the f32 that this stands
// for; both are called the rounded forms of a type.
// In order: the containers (model, weight, ...), ops of an imported model, and the fused forms that
// passes make of them. Shapes: r rows, h features of the residual stream, E experts, k experts per
// row. Constraints are numbered per op as (C1), (C2), ...; InfOpsVerify.cpp and
// tests/ir/verify-*.mlir use the same numbers.
#ifndef INF_OPS_TD
#define INF_OPS_TD

include "InfDialect.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Inf_Op<string mnemonic, list<Trait> traits = []> : Op<Inf_Dialect, mnemonic, traits>;

// Rows are many and unknown, all else is known and small enough that byte counts fit 64 bits.
def Inf_Activations : Type<CPred<"::inf::ir::isRowsOf<::mlir::Float32Type>($_self, 1)">,
                           "tensor<?xFxf32> with F in 1..2^31-1", "::mlir::RankedTensorType">;
def Inf_Pairs : Type<CPred<"::inf::ir::isRowsOf<::mlir::Float32Type>($_self, 2)">,
                     "tensor<?xkxFxf32> with kF in 1..2^31-1", "::mlir::RankedTensorType">;
def Inf_Q8Activations : Type<CPred<"::inf::ir::isQ8RowsOf($_self, 1)">,
                             "tensor<?xFx!inf.q8> with F a multiple of 32 below 2^31",
                             "::mlir::RankedTensorType">;
def Inf_Q8Pairs : Type<CPred<"::inf::ir::isQ8RowsOf($_self, 2)">,
                       "tensor<?xkxFx!inf.q8> with F a multiple of 32, kF below 2^31",
                       "::mlir::RankedTensorType">;
def Inf_Bf16Activations : Type<CPred<"::inf::ir::isBf16RowsOf($_self, 1)">,
                               "tensor<?xFxbf16> with F in 1..2^31-1", "::mlir::RankedTensorType">;
def Inf_Bf16Pairs : Type<CPred<"::inf::ir::isBf16RowsOf($_self, 2)">,
                         "tensor<?xkxFxbf16> with kF in 1..2^31-1", "::mlir::RankedTensorType">;
// What products read, and what may be stored rounded by the op that makes it.
def Inf_AnyActivations : AnyTypeOf<[Inf_Activations, Inf_Q8Activations, Inf_Bf16Activations], "",
                                   "::mlir::RankedTensorType">;
def Inf_AnyPairs : AnyTypeOf<[Inf_Pairs, Inf_Q8Pairs, Inf_Bf16Pairs], "",
                             "::mlir::RankedTensorType">;
def Inf_Tokens : Type<CPred<"::inf::ir::isRowsOf<::mlir::IntegerType>($_self, 0)">,
                      "tensor<?xi32>", "::mlir::RankedTensorType">;
def Inf_Indices : Type<CPred<"::inf::ir::isRowsOf<::mlir::IntegerType>($_self, 1)">,
                       "tensor<?xkxi32>", "::mlir::RankedTensorType">;

//===----------------------------------------------------------------------------------------------===//
// Containers
//===----------------------------------------------------------------------------------------------===//

def Inf_ModelOp : Inf_Op<"model", [Symbol, SymbolTable, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "one model: its weights, tables, kinds of layer, and the step";
  let description = [{
    (C1) exactly one inf.step; (C2) layers are numbered 0.. in order; (C3) vocabulary, hidden and
    max_context are in 1..2^31-1; (C4) max_rows and max_output_rows are in 1..65536, arena and
    scratch >= 0; (C5) activations, what products read that can, is f32, q8, mxint8 or bf16.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$architecture, I64Attr:$vocabulary,
                       I64Attr:$hidden, I64Attr:$max_context, DenseI64ArrayAttr:$eos_tokens,
                       DefaultValuedAttr<I64Attr, "-1">:$bos_token, OptionalAttr<StrAttr>:$stage,
                       OptionalAttr<StrAttr>:$target, OptionalAttr<StrAttr>:$activations,
                       OptionalAttr<StrAttr>:$weights_from,
                       OptionalAttr<StrAttr>:$tokenizer, OptionalAttr<StrAttr>:$chat_template,
                       OptionalAttr<I64Attr>:$max_rows, OptionalAttr<I64Attr>:$max_output_rows,
                       OptionalAttr<I64Attr>:$arena, OptionalAttr<I64Attr>:$scratch);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Inf_WeightOp : Inf_Op<"weight", [Symbol, HasParent<"ModelOp">]> {
  let summary = "declares a weight: shape, where the checkpoint has it, and how it is packed";
  let description = [{
    `format` is the format it is packed to (unset: the one it is stored in), `layout` the order of
    its bytes, `offset` and `bytes` its place in the payload.
    (C1) rows of the parts add up to the shape's rows; (C2) vectors are packed as f32 in a vector
    layout, matrices in another; (C3) block formats (mxfp4, int8, int4, int4a), stored or packed, need
    columns % 32 == 0, and mxfp4 can only be made from mxfp4;
    (C4) offset is a multiple of 64 in 0..2^56.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Inf_WeightType>:$type,
                       TypedArrayAttrBase<Inf_PartAttr, "parts">:$parts,
                       OptionalAttr<Inf_FormatAttr>:$format, OptionalAttr<Inf_LayoutAttr>:$layout,
                       OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$bytes);
  let assemblyFormat = "$sym_name `:` $type `from` $parts attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The one format all parts are stored in; std::nullopt when they differ.
    std::optional<::inf::ir::Format> storedFormat();
  }];
}

def Inf_RopeTableOp : Inf_Op<"rope_table", [Symbol, HasParent<"ModelOp">]> {
  let summary = "rotary frequencies: theta^(-2j/d), as they are or scaled";
  let description = [{
    default: as they are; linear: divided by `factor`; divided: frequency j divided by divisors[j]
    (longrope's chosen factors, a table from a file); llama3: kept, divided by `factor`, or blended
    by wavelength, between original_context / low_frequency_factor and / high_frequency_factor;
    yarn: blended over a ramp between the dimensions whose wavelengths are original_context / beta;
    see ropeFrequencies(). (C1) type known, head_dim even and positive; (C2) a type has the numbers
    it works with: linear factor; divided one positive divisor for each pair; llama3 factor,
    low_frequency_factor below high_frequency_factor and original_context; yarn factor, beta_fast,
    beta_slow and original_context.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$type, I64Attr:$head_dim, F64Attr:$theta,
                       OptionalAttr<F64Attr>:$factor, OptionalAttr<F64Attr>:$beta_fast,
                       OptionalAttr<F64Attr>:$beta_slow,
                       OptionalAttr<F64Attr>:$low_frequency_factor,
                       OptionalAttr<F64Attr>:$high_frequency_factor,
                       OptionalAttr<F64Attr>:$original_context,
                       OptionalAttr<DenseF64ArrayAttr>:$divisors,
                       DefaultValuedAttr<BoolAttr, "true">:$truncate,
                       OptionalAttr<F64Attr>:$attention_factor);
  let assemblyFormat = "$sym_name attr-dict";
  let hasVerifier = 1;
}

def Inf_KvGroupOp : Inf_Op<"kv_group", [Symbol, HasParent<"ModelOp">]> {
  let summary = "layers whose keys and values share blocks";
  let description = [{
    Layer layers[i] has slot i of a block. (C1) element f32 or bf16; (C2) block_tokens a multiple of
    16 in 16..4096; (C3) window in 0..2^31-1; (C4) head_dim a positive multiple of 8 and kv_heads
    positive, their product below 2^31; (C5) layers ascend from 0 or more.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$layers, I64Attr:$kv_heads,
                       I64Attr:$head_dim, I64Attr:$window, StrAttr:$element, I64Attr:$block_tokens);
  let assemblyFormat = "$sym_name attr-dict";
  let hasVerifier = 1;
}

def Inf_BlockOp : Inf_Op<"block", [FunctionOpInterface, IsolatedFromAbove, HasParent<"ModelOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "one kind of layer; compiled once, called by every layer of that kind";
  let description = [{
    The first argument and the result are the residual stream, the others weights; the argument
    attribute `inf.slot` names each. (C1) that signature; (C2) ends in inf.yield of the result type.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// The slot name of argument `index` ("attention.q.weight"), empty when it has none.
    ::llvm::StringRef slotName(unsigned index);
    ::inf::ir::YieldOp getYield();
  }];
}

def Inf_StepOp : Inf_Op<"step", [IsolatedFromAbove, HasParent<"ModelOp">, SingleBlock]> {
  let summary = "what one step computes: tokens [r] in, hidden and logits of the output rows out";
  let description = [{
    (C1) one argument tensor<?xi32>; (C2) yields hidden [?, h] and logits [?, v]; (C3) there are all
    rows and, behind inf.output_rows, the output rows: no op mixes them, lm_head and yield take
    output rows, and of the others only rms_norm, linear, slice, swiglu, quantize_activation and add
    may.
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword custom<IsolatedBody>($body)";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{ ::inf::ir::YieldOp getYield(); }];
}

def Inf_YieldOp : Inf_Op<"yield", [Terminator, Pure, ParentOneOf<["BlockOp", "StepOp"]>]> {
  let summary = "ends a block or the step";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def Inf_UseOp : Inf_Op<"use", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the weight of that name";
  let description = [{(C1) the symbol is an inf.weight of this type.}];
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs Inf_WeightType:$result);
  let assemblyFormat = "$weight attr-dict `:` type($result)";
}

def Inf_LayerOp : Inf_Op<"layer", [AllTypesMatch<["x", "result"]>, HasParent<"StepOp">,
                                   DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a block as layer `index` with these weights and this slot of its KV group";
  let description = [{
    (C1) block is an inf.block, weights are inf.weights of the types it expects; (C2) every group
    that the block names has layer `index` in its slot `kv_slot`.
  }];
  let arguments = (ins Inf_Activations:$x, FlatSymbolRefAttr:$block, I64Attr:$index,
                       I64Attr:$kv_slot, FlatSymbolRefArrayAttr:$weights);
  let results = (outs Inf_Activations:$result);
  let assemblyFormat = [{
    $index $block `(` $x `)` `kv_slot` $kv_slot `weights` $weights attr-dict `:` type($result)
  }];
}

//===----------------------------------------------------------------------------------------------===//
// Ops of an imported model
//===----------------------------------------------------------------------------------------------===//

def Inf_EmbeddingOp : Inf_Op<"embedding", [Pure]> {
  let summary = "rows of a table: result[i] = weight[tokens[i]]";
  let description = [{
    (C1) weight is a matrix and result has its columns; (C2) a row for each token of the vocabulary.
  }];
  let arguments = (ins Inf_Tokens:$tokens, Inf_WeightType:$weight);
  let results = (outs Inf_Activations:$result);
  let assemblyFormat = "$tokens `,` $weight attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Inf_RmsNormOp : Inf_Op<"rms_norm", [Pure]> {
  let summary = "weight * x * rsqrt(mean(x^2) + eps), in f32";
  let description = [{
    With `heads`, x is that many equal parts and each is normed by itself, by the same weight (the
    norm of q and k). (C1) weight is a vector of x's features, of a part where there are several;
    (C2) result type is x's, or, of one part, a rounded form; (C3) eps > 0; (C4) heads >= 1.
  }];
  let arguments = (ins Inf_Activations:$x, Inf_WeightType:$weight, F64Attr:$eps,
                       DefaultValuedAttr<I64Attr, "1">:$heads);
  let results = (outs Inf_AnyActivations:$result);
  let assemblyFormat = "$x `,` $weight attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Inf_LinearOp : Inf_Op<"linear", [Pure, AttrSizedOperandSegments]> {
  let summary = "matrix product with a prologue and an epilogue";
  let description = [{
    n = norm ? rms_norm(x, norm, eps) : x
    z = (n . weight^T) * scale + addend + bias;   result = activation(z) + residual
    `scale` (per output) and `addend` (per row and output) are where LoRA and DoRA act: before bias
    and activation. With an activation the weight's rows are gate rows, then up rows, and the
    result has half of them.
    (C1) weight is a matrix with x's features as columns; (C2) result features = rows, or rows / 2
    with an activation; (C3) bias and scale are vectors of rows, addend has rows features;
    (C4) residual has the result's type; (C5) norm is a vector of x's features, comes with eps, and x
    is f32.
  }];
  let arguments = (ins Inf_AnyActivations:$x, Inf_WeightType:$weight, Optional<Inf_WeightType>:$bias,
                       Optional<Inf_WeightType>:$scale, Optional<Inf_Activations>:$addend,
                       Optional<Inf_WeightType>:$norm, Optional<Inf_Activations>:$residual,
                       OptionalAttr<F64Attr>:$eps, OptionalAttr<Inf_ActivationAttr>:$activation);
  let results = (outs Inf_AnyActivations:$result);
  let assemblyFormat = [{
    $x `,` $weight (`bias` $bias^)? (`scale` $scale^)? (`addend` $addend^)? (`norm` $norm^)?
    (`residual` $residual^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Inf_SliceOp : Inf_Op<"slice", [Pure]> {
  let summary = "features [begin, begin + n) of x, n from the result type";
  let description = [{(C1) the range lies inside x's features.}];
  let arguments = (ins Inf_Activations:$x, I64Attr:$begin);
  let results = (outs Inf_Activations:$result);
  let assemblyFormat = "$x `from` $begin attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Inf_RopeOp : Inf_Op<"rope", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "rotates halves of each head: (a cos - b sin, b cos + a sin) at the row's position";
  let description = [{(C1) x has heads * head_dim features; (C2) the table is a rope_table of head_dim.}];
  let arguments = (ins Inf_Activations:$x, I64Attr:$heads, I64Attr:$head_dim, FlatSymbolRefAttr:$table);
  let results = (outs Inf_Activations:$result);
  let assemblyFormat = "$x `by` $table attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Inf_KvAppendOp : Inf_Op<"kv_append", [MemoryEffects<[MemWrite]>,
                                          DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "stores each row's key and value at its position of its sequence";
  let description = [{(C1) k and v have kv_heads * head_dim features of the group.}];
  let arguments = (ins Inf_Activations:$k, Inf_Activations:$v, FlatSymbolRefAttr:$group);
  let assemblyFormat = "$k `,` $v `into` $group attr-dict `:` type(operands)";
}

def Inf_AttentionOp : Inf_Op<"attention", [MemoryEffects<[MemRead]>,
                                           DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "softmax(scale q K^T [, sink]) V over the keys the row may see";
  let description = [{
    A row at position t sees stored keys j <= t of its sequence, and t - j < window when the group
    has one. Query head i uses kv head i / (heads / kv_heads). With sinks, head i's softmax
    denominator gains exp(sinks[i]) and no value is added.
    `dots` says in what q K^T and the sum over V are multiplied: f32, which is also what none says,
    or bf16. Then q is rounded to bf16, and so is exp(z - m) of each key, m being the highest of
    the row's scaled scores z in the key's chunk of 1024 positions, up to the end of its tile of 16
    (of 32, by a kernel that sums by groups);
    the denominator takes it rounded too.
    (C1) q has heads * head_dim features and so has the result; (C2) heads % kv_heads == 0;
    (C3) sinks is a vector of heads; (C4) kv_heads and head_dim are the group's; (C5) a q8 result has
    whole blocks of 32 in the heads that share a kv head; (C6) dots is f32 or bf16, bf16 only over a
    group of bf16.
  }];
  let arguments = (ins Inf_Activations:$q, Optional<Inf_WeightType>:$sinks, I64Attr:$heads,
                       I64Attr:$kv_heads, I64Attr:$head_dim, F64Attr:$scale, FlatSymbolRefAttr:$group,
                       OptionalAttr<StrAttr>:$dots);
  let extraClassDeclaration = [{
    bool roundsToBf16() { return getDots() == "bf16"; }
  }];
  let results = (outs Inf_AnyActivations:$result);
  let assemblyFormat = "$q (`sinks` $sinks^)? `over` $group attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Inf_RouterTopKOp : Inf_Op<"router_topk", [Pure]> {
  let summary = "the k highest logits of each row and the softmax over just those, or over all";
  let description = [{
    Experts come in descending order of logit; of equal logits the lower index wins. The weights are
    the softmax over the chosen, which add up to 1, or with `over_all` their share of the softmax
    over all experts.
    (C1) 1 <= k <= experts; (C2) experts: tensor<?xkxi32>, weights: tensor<?xkxf32>.
  }];
  let arguments = (ins Inf_Activations:$logits, I64Attr:$k, UnitAttr:$over_all);
  let results = (outs Inf_Indices:$experts, Inf_Activations:$weights);
  let assemblyFormat = "$logits `top` $k attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Inf_MoeOp : Inf_Op<"moe", [Pure, AttrSizedOperandSegments]> {
  let summary = "sum over the chosen experts of weight_e * (down_e . act(gate_up_e . x + b) + b')";
  let description = [{
    Summed in the order the router gives. (C1) gate_up is [E, 2i, h], down [E, h, i]; (C2) biases
    are [E, 2i, 1] and [E, h, 1]; (C3) result type is x's; (C4) experts come from a router over E,
    and weights has as many per row.
  }];
  let arguments = (ins Inf_Activations:$x, Inf_Indices:$experts, Inf_Activations:$weights,
                       Inf_WeightType:$gate_up, Optional<Inf_WeightType>:$gate_up_bias,
                       Inf_WeightType:$down, Optional<Inf_WeightType>:$down_bias,
                       Inf_ActivationAttr:$activation);
  let results = (outs Inf_Activations:$result);
  let assemblyFormat = [{
    $x `,` $experts `,` $weights `gate_up` $gate_up (`bias` $gate_up_bias^)? `down` $down
    (`bias` $down_bias^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Inf_SwigluOp : Inf_Op<"swiglu", [Pure]> {
  let summary = "gated activation: x is gate features, then up features";
  let description = [{(C1) x has twice the result's features.}];
  let arguments = (ins Inf_Activations:$x, Inf_ActivationAttr:$activation);
  let results = (outs Inf_Activations:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Inf_QuantizeActivationOp : Inf_Op<"quantize_activation", [Pure]> {
  let summary = "x in int8 or bf16: see !inf.q8";
  let description = [{(C1) the result has x's shape.}];
  let arguments = (ins AnyTypeOf<[Inf_Activations, Inf_Pairs], "", "::mlir::RankedTensorType">:$x);
  let results = (outs AnyTypeOf<[Inf_Q8Activations, Inf_Q8Pairs, Inf_Bf16Activations, Inf_Bf16Pairs],
                                "", "::mlir::RankedTensorType">:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Inf_AddOp : Inf_Op<"add", [Pure, SameOperandsAndResultType]> {
  let summary = "lhs + rhs";
  let arguments = (ins Inf_Activations:$lhs, Inf_Activations:$rhs);
  let results = (outs Inf_Activations:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def Inf_OutputRowsOp : Inf_Op<"output_rows", [Pure, SameOperandsAndResultType,
                                              HasParent<"StepOp">]> {
  let summary = "the rows that want an output, in order";
  let arguments = (ins Inf_Activations:$x);
  let results = (outs Inf_Activations:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}

def Inf_LmHeadOp : Inf_Op<"lm_head", [Pure]> {
  let summary = "logits of the output rows: x . weight^T";
  let description = [{(C1) weight is [v, h], x has h features, the result v.}];
  let arguments = (ins Inf_AnyActivations:$x, Inf_WeightType:$weight);
  let results = (outs Inf_Activations:$result);
  let assemblyFormat = "$x `,` $weight attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------------------------------===//
// Fused forms
//===----------------------------------------------------------------------------------------------===//

def Inf_QkvOp : Inf_Op<"qkv", [MemoryEffects<[MemWrite]>, AttrSizedOperandSegments,
                               DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "norm, one product for q, k and v, rope on q and k, and the KV append; returns q";
  let description = [{
    weight's rows are q (heads), k (kv_heads), v (kv_heads), head_dim each. With q_norm and k_norm
    each head of q and k is normed before rope.
    (C1) weight is [(heads + 2 kv_heads) * head_dim, features of x]; (C2) bias is a vector of its
    rows; (C3) norm is a vector of x's features, comes with eps, and x is f32; (C4) the result has
    heads * head_dim features; (C5) table and group have this head_dim, the group these kv_heads;
    (C6) q_norm and k_norm are vectors of head_dim and come together with head_eps > 0.
  }];
  let arguments = (ins Inf_AnyActivations:$x, Inf_WeightType:$weight, Optional<Inf_WeightType>:$bias,
                       Optional<Inf_WeightType>:$norm, Optional<Inf_WeightType>:$q_norm,
                       Optional<Inf_WeightType>:$k_norm, OptionalAttr<F64Attr>:$eps,
                       OptionalAttr<F64Attr>:$head_eps, I64Attr:$heads, I64Attr:$kv_heads,
                       I64Attr:$head_dim, FlatSymbolRefAttr:$table, FlatSymbolRefAttr:$group);
  let results = (outs Inf_Activations:$q);
  let assemblyFormat = [{
    $x `,` $weight (`bias` $bias^)? (`norm` $norm^)? (`q_norm` $q_norm^)? (`k_norm` $k_norm^)?
    `by` $table `into` $group attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Inf_RouterOp : Inf_Op<"router", [Pure]> {
  let summary = "norm, router logits and top k in one stage; also returns the normed rows";
  let description = [{
    (C1) weight is [E, features]; (C2) bias is a vector of E, norm one of features, with eps;
    (C3) result types as rms_norm and router_topk give them, normed perhaps rounded.
  }];
  let arguments = (ins Inf_Activations:$x, Inf_WeightType:$weight, Optional<Inf_WeightType>:$bias,
                       Inf_WeightType:$norm, F64Attr:$eps, I64Attr:$k, UnitAttr:$over_all);
  let results = (outs Inf_AnyActivations:$normed, Inf_Indices:$experts, Inf_Activations:$weights);
  let assemblyFormat = [{
    $x `,` $weight (`bias` $bias^)? `norm` $norm `top` $k attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Inf_ExpertUpOp : Inf_Op<"expert_up", [Pure]> {
  let summary = "act(gate_up_e . x + b) for each chosen expert: [r, k, i]";
  let description = [{
    (C1) as inf.moe's gate_up; (C2) the result is tensor<?xkxixf32> or a rounded form; (C3) experts come from a router
    over E.
  }];
  let arguments = (ins Inf_AnyActivations:$x, Inf_Indices:$experts, Inf_WeightType:$weight,
                       Optional<Inf_WeightType>:$bias, Inf_ActivationAttr:$activation);
  let results = (outs Inf_AnyPairs:$result);
  let assemblyFormat = [{
    $x `,` $experts `,` $weight (`bias` $bias^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Inf_ExpertDownOp : Inf_Op<"expert_down", [Pure, AttrSizedOperandSegments]> {
  let summary = "residual + sum over the chosen experts of weight_e * (down_e . x_e + b_e)";
  let description = [{
    The sum runs in the router's order, starting from the residual.
    (C1) weight is [E, h, i], x tensor<?xkxixf32> or a rounded form, partials tensor<?xkxhxf32>; (C2) bias [E, h, 1];
    (C3) residual has the result's type; (C4) experts come from a router over E, and weights has as
    many per row.
  }];
  let arguments = (ins Inf_AnyPairs:$x, Inf_Indices:$experts, Inf_Activations:$weights,
                       Inf_WeightType:$weight, Optional<Inf_WeightType>:$bias,
                       Optional<Inf_Activations>:$residual);
  let results = (outs Inf_Activations:$result, Inf_Pairs:$partials);
  let assemblyFormat = [{
    $x `,` $experts `,` $weights `,` $weight (`bias` $bias^)? (`residual` $residual^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // INF_OPS_TD
