//===- Passes.td - the table of contents: what happens to a model, in order ----------------------===//
// One pass, one file, one flag, one test, the same name. Pipeline.cpp holds the order as a list.
#ifndef INF_PASSES_TD
#define INF_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandMoe : Pass<"inf-expand-moe", "::inf::ir::ModelOp"> {
  let summary = "a mixture of experts becomes its two stages, expert_up and expert_down (always runs)";
}

def Quantize : Pass<"inf-quantize", "::inf::ir::ModelOp"> {
  let summary = "decides the format each weight is packed to (always runs)";
  let description = [{
    The policy (passes/QuantPolicy.h) names a format for matrices that are stored in floats and that
    products stream, and rules for weights by name. Embeddings and routers keep theirs; vectors are
    f32; `none` keeps what the checkpoint holds, and parts of differing formats meet in f32.
    The model's `activations` says what products are to read.
    What is already on a weight or on the model, set by hand, stays.
  }];
  let options = [Option<"policy", "policy", "std::string", "\"none\"",
                        "none, bf16, int8, int4, int4a, and PATTERN=FORMAT, separated by commas">,
                 Option<"activations", "activations", "std::string", "\"f32\"",
                        "what products read that can: f32, q8, mxint8 or bf16">];
}

def SpecializeBlocks : Pass<"inf-specialize-blocks", "::inf::ir::ModelOp"> {
  let summary = "layers whose weights differ in format get a block of their own (always runs)";
}

def QuantizeActivations : Pass<"inf-quantize-activations", "::inf::ir::ModelOp"> {
  let summary = "products read rounded rows: int8 for weights in blocks, bf16 for bf16 (always runs)";
  let description = [{
    before: y = linear x, w                     with w in mxfp4, int8, int4 or int4a
    after:  q = quantize_activation x;  y = linear q, w
    With `activations` bf16 also, with w in bf16 and q in bf16. All such readers of x share one q.
    Attention over keys in bf16 gets `dots` bf16, unless it says already what it has.
    A model whose `activations` are f32 is left as it is.
  }];
}

def FuseQkv : Pass<"inf-fuse-qkv", "::inf::ir::ModelOp"> {
  let summary = "the q, k and v products of one input become one product of a longer weight";
  let description = [{
    before: q = linear x, wq;  k = linear x, wk;  v = linear x, wv
    after:  t = linear x, wqkv;  q, k, v = slices of t
    The new weight's parts are those of q, k and v; every layer of the kind gets one.
  }];
}

def FuseNorm : Pass<"inf-fuse-norm", "::inf::ir::ModelOp"> {
  let summary = "a norm whose only reader is a product becomes that product's prologue";
}

def FuseEpilogue : Pass<"inf-fuse-epilogue", "::inf::ir::ModelOp"> {
  let summary = "residual additions and gated activations move into the end of the product before";
  let description = [{
    before: y = linear ...;  z = add x, y             after: z = linear ... residual x
    before: y = linear ...;  z = swiglu y             after: z = linear ... {activation}
    Experts (inf.expert_down) take the residual in the same way.
  }];
}

def FuseRopeAppend : Pass<"inf-fuse-rope-append", "::inf::ir::ModelOp"> {
  let summary = "the qkv product rotates its q and k and stores its k and v itself";
  let description = [{
    before: t = linear ...; rope (slice t), rope (slice t), kv_append k, (slice t)
    after:  q = inf.qkv ...
  }];
}

def FuseRouter : Pass<"inf-fuse-router", "::inf::ir::ModelOp"> {
  let summary = "norm, router product and top k become one stage that also gives the normed rows";
}

def FuseQuantize : Pass<"inf-fuse-quantize", "::inf::ir::ModelOp"> {
  let summary = "what makes rows that are only read in int8 or bf16 stores them so";
  let description = [{
    before: n = rms_norm x -> f32;  q = quantize_activation n     after: q = rms_norm x -> q8
    The same for attention, routers, expert_up and products without a residual.
  }];
}

def SelectKernels : Pass<"inf-select-kernels", "::inf::ir::ModelOp"> {
  let summary = "gives every product and attention its kernel, by the kernel table (always runs)";
  let description = [{
    Also decides each weight's packed layout, which the kernel that streams it prescribes. A kernel
    already on an op stays if its weights fit; an op no kernel can serve is an error naming it.
  }];
  let options = [Option<"target", "target", "std::string", "\"avx2\"", "target name">];
}

def VerifyKernels : Pass<"inf-verify-kernels", "::inf::ir::ModelOp"> {
  let summary = "every kernel exists, fits its op and the target, and its weights' format and layout";
  let description = [{
    What select-kernels wrote passes; this is for what a hand changed after it.
  }];
}

def Partition : Pass<"inf-partition", "::inf::ir::ModelOp"> {
  let summary = "fixes axis and grain on which the threads share out each stage (always runs)";
  let description = [{
    Where full attention of few rows has fewer pairs of row and kv head than threads, its stage may
    also be cut by chunks of keys: chunk_keys long, for steps of up to split_rows rows.
  }];
}

def PlanMemory : Pass<"inf-plan-memory", "::inf::ir::ModelOp"> {
  let summary = "gives every buffer its offset in the arena and every weight its place (always runs)";
  let description = [{
    Buffers live from the op that writes them to the last that reads them; those that never live at
    the same time may share bytes. A residual is updated in place.
  }];
  let options = [Option<"maxRows", "max-rows", "int64_t", "::inf::defaultMaxRows", "rows one step may have">,
                 Option<"maxOutputRows", "max-output-rows", "int64_t", "::inf::defaultMaxOutputRows",
                        "rows of one step that may want an output">];
}

def VerifyPlan : Pass<"inf-verify-plan", "::inf::ir::ModelOp"> {
  let summary = "checks the memory plan from scratch: bounds, alignment, no two live buffers overlap";
  let description = [{
    Also that the residual stream is where every block looks for it, and that each stage is cut in a
    way its code can follow. What the passes wrote passes; this is for what a hand changed after them.
  }];
}

def LowerToLLVM : Pass<"inf-lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "the planned model becomes the step function in the LLVM dialect (always runs)";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect",
                           "::mlir::math::MathDialect", "::mlir::cf::ControlFlowDialect"];
}

#endif // INF_PASSES_TD
