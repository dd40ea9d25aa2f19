// RUN: inf-opt %s -inf-quantize | FileCheck %s
// RUN: inf-opt %s '-inf-quantize=policy=int8,half=int4,*perts=none' | FileCheck %s -check-prefix=INT8
// RUN: not inf-opt %s -inf-quantize=policy=int9 2>&1 | FileCheck %s -check-prefix=POLICY
// RUN: not inf-opt %s -inf-quantize=activations=int9 2>&1 | FileCheck %s -check-prefix=ROWS
// RUN: not inf-opt %s '-inf-quantize=policy=helf=int4' 2>&1 | FileCheck %s -check-prefix=NAME
// RUN: inf-opt %s '-inf-quantize=policy=none,*r*=int4,narrow=none' | FileCheck %s -check-prefix=STAR
// RUN: inf-opt %s '-inf-quantize=policy=matrix=int4' | FileCheck %s -check-prefix=EMBEDDING
// RUN: not inf-opt %s '-inf-quantize=policy=vector=int4' 2>&1 | FileCheck %s -check-prefix=VECTOR
// RUN: not inf-opt %s '-inf-quantize=policy=narrow=int4' 2>&1 | FileCheck %s -check-prefix=NARROW
// `none` keeps what the checkpoint holds; a policy names a format for the matrices that products
// stream, and rules those of weights by name.

// POLICY: error: --quant: found "int9" in "int9", expected one of none, bf16, int8, int4, int4a
// ROWS: error: expected activations f32, q8, mxint8 or bf16, found int9
// NAME: error: quantization rule helf names no matrix of this model
// EMBEDDING: @matrix {{.*}} {format = #inf.format<int4>
// A star passes over vectors, embeddings and routers.
// STAR-DAG: @vector {{.*}} {format = #inf.format<f32>
// STAR-DAG: @matrix {{.*}} {format = #inf.format<bf16>
// STAR-DAG: @router {{.*}} {format = #inf.format<bf16>
// STAR-DAG: @product {{.*}} {format = #inf.format<int4>
// VECTOR: error: quantization rule vector names no matrix of this model
// NARROW: error: weight narrow has 16 columns, expected a multiple of 32 for int4
inf.model @m attributes {architecture = "a", vocabulary = 4 : i64, hidden = 32 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  // INT8: @matrix {{.*}} {format = #inf.format<bf16>, inf.format_from = "embeddings and routers stay as stored unless named in full"}
  // CHECK: @matrix {{.*}} {format = #inf.format<bf16>
  inf.weight @matrix : !inf.weight<[4, 32]> from [#inf.part<tensor = "a", stored = bf16, rows = 4>]
  // INT8: @half {{.*}} {format = #inf.format<int4>, inf.format_from = "rule half=int4"}
  // CHECK: @half {{.*}} {format = #inf.format<f16>, inf.format_from = "base none"}
  inf.weight @half : !inf.weight<[4, 32]> from [#inf.part<tensor = "a", stored = f16, rows = 4>]
  // INT8: @experts {{.*}} {format = #inf.format<mxfp4>
  // CHECK: @experts {{.*}} {format = #inf.format<mxfp4>
  inf.weight @experts : !inf.weight<[2, 4, 32]> from [#inf.part<tensor = "a", scales = "s", stored = mxfp4, rows = 4>]
  // Vectors are f32: their kernels read nothing else.
  // INT8: @vector {{.*}} {format = #inf.format<f32>
  // CHECK: @vector {{.*}} {format = #inf.format<f32>
  inf.weight @vector : !inf.weight<[4]> from [#inf.part<tensor = "a", stored = bf16, rows = 4>]
  // CHECK: @expert_vector {{.*}} {format = #inf.format<f32>
  inf.weight @expert_vector : !inf.weight<[2, 4, 1]> from [#inf.part<tensor = "a", stored = f16, rows = 4>]
  // f16 and bf16 both lose in the other; f32 holds all of them exactly, mxfp4 too.
  // INT8: @mixed {{.*}} {format = #inf.format<f32>
  // CHECK: @mixed {{.*}} {format = #inf.format<f32>
  inf.weight @mixed : !inf.weight<[4, 32]> from [#inf.part<tensor = "a", stored = bf16, rows = 2>, #inf.part<tensor = "b", scales = "s", stored = mxfp4, rows = 2>]
  // INT8: @by_hand {{.*}} {format = #inf.format<f32>
  // CHECK: @by_hand {{.*}} {format = #inf.format<f32>
  inf.weight @by_hand : !inf.weight<[4, 32]> from [#inf.part<tensor = "a", stored = bf16, rows = 4>] {format = #inf.format<f32>}
  // INT8: @product {{.*}} {format = #inf.format<int8>
  // CHECK: @product {{.*}} {format = #inf.format<bf16>
  inf.weight @product : !inf.weight<[64, 32]> from [#inf.part<tensor = "a", stored = bf16, rows = 64>]
  // Blocks of 32 columns do not divide it.
  // INT8: @narrow {{.*}} {format = #inf.format<bf16>
  inf.weight @narrow : !inf.weight<[64, 16]> from [#inf.part<tensor = "a", stored = bf16, rows = 64>]
  // A router's choice turns on the smallest error.
  // INT8: @router {{.*}} {format = #inf.format<bf16>
  inf.weight @router : !inf.weight<[4, 32]> from [#inf.part<tensor = "a", stored = bf16, rows = 4>]
  inf.block @chooses(%x: tensor<?x32xf32>, %r: !inf.weight<[4, 32]> {inf.slot = "r"}) -> tensor<?x32xf32> {
    %l = inf.linear %x, %r : (tensor<?x32xf32>, !inf.weight<[4, 32]>) -> tensor<?x4xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x4xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    inf.yield %x : tensor<?x32xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @matrix : <[4, 32]>
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 32]>) -> tensor<?x32xf32>
    %y = inf.layer 0 @chooses(%x) kv_slot 0 weights [@router] : tensor<?x32xf32>
    %o = inf.output_rows %y : tensor<?x32xf32>
    %l = inf.lm_head %o, %e : (tensor<?x32xf32>, !inf.weight<[4, 32]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x32xf32>, tensor<?x4xf32>
  }
}
