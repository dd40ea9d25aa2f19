// RUN: inf-opt %s > %t.1 && inf-opt %t.1 > %t.2 && diff %t.1 %t.2
// RUN: inf-opt %s -mlir-print-op-generic | inf-opt | diff %t.1 -
// RUN: FileCheck %s < %t.1
// Every op with every optional part prints, parses and prints the same, in both syntaxes; the CHECK
// lines hold that nothing is dropped on the first way in.

// CHECK: inf.model @all attributes {architecture = "a", arena = 64 : i64, bos_token = 1 : i64, {{.*}}max_rows = 16 : i64{{.*}}weights_from = "dir"
inf.model @all attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64: 2, 3>, bos_token = 1 : i64, stage = "import", target = "avx2", weights_from = "dir", tokenizer = "t.json", chat_template = "c.jinja", max_rows = 16 : i64, max_output_rows = 8 : i64, arena = 64 : i64, scratch = 0 : i64} {
  // CHECK: inf.rope_table @plain
  inf.rope_table @plain {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  // CHECK: inf.rope_table @yarn {attention_factor = 1.200000e+00 : f64, beta_fast = 3.200000e+01 : f64, {{.*}}truncate = false
  inf.rope_table @yarn {type = "yarn", head_dim = 16 : i64, theta = 1.5e5 : f64, factor = 32.0 : f64, beta_fast = 32.0 : f64, beta_slow = 1.0 : f64, original_context = 4096.0 : f64, truncate = false, attention_factor = 1.2 : f64}
  // CHECK: inf.rope_table @llama3 {factor = 8.000000e+00 : f64, {{.*}}high_frequency_factor = 4.000000e+00 : f64, low_frequency_factor = 1.000000e+00 : f64
  inf.rope_table @llama3 {type = "llama3", head_dim = 16 : i64, theta = 5.0e5 : f64, factor = 8.0 : f64, low_frequency_factor = 1.0 : f64, high_frequency_factor = 4.0 : f64, original_context = 8192.0 : f64}
  // CHECK: inf.rope_table @divided {divisors = array<f64: 1.000000e+00, 2.500000e+00>
  inf.rope_table @divided {type = "divided", head_dim = 4 : i64, theta = 1.0e4 : f64, divisors = array<f64: 1.0, 2.5>}
  // CHECK: inf.kv_group @g {block_tokens = 16 : i64, element = "bf16", head_dim = 16 : i64, kv_heads = 1 : i64, layers = array<i64: 0>, window = 8 : i64}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 8 : i64, element = "bf16", block_tokens = 16 : i64}
  // CHECK: inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = bf16, rows = 4>] {bytes = 256 : i64, format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 64 : i64}
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = bf16, rows = 4>] {format = #inf.format<f32>, layout = #inf.layout<rows>, offset = 64 : i64, bytes = 256 : i64}
  // CHECK: inf.weight @experts : !inf.weight<[3, 16, 32]> from [#inf.part<tensor = "b", scales = "s", stored = mxfp4, rows = 8, interleaved = true>, #inf.part<tensor = "c", stored = f16, rows = 8, transposed = true>]
  inf.weight @experts : !inf.weight<[3, 16, 32]> from [#inf.part<tensor = "b", scales = "s", stored = mxfp4, rows = 8, interleaved = true>, #inf.part<tensor = "c", stored = f16, rows = 8, transposed = true>]
  inf.weight @v : !inf.weight<[16]> from [#inf.part<tensor = "v", stored = f32, rows = 16>] {layout = #inf.layout<vector>}

  inf.weight @half : !inf.weight<[8]> from [#inf.part<tensor = "half", stored = f32, rows = 8>]

  // CHECK: inf.block @layer(%[[X:.*]]: tensor<?x16xf32>, %[[V:.*]]: !inf.weight<[16]> {inf.slot = "v"}, %{{.*}}: !inf.weight<[8]> {inf.slot = "half"}) -> tensor<?x16xf32>
  inf.block @layer(%x: tensor<?x16xf32>, %v: !inf.weight<[16]> {inf.slot = "v"}, %half: !inf.weight<[8]> {inf.slot = "half"}) -> tensor<?x16xf32> {
    // CHECK: inf.rms_norm %[[X]], %[[V]] {eps = 1.000000e-05 : f64}
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    // CHECK: inf.rms_norm %[[X]], %{{.*}} {eps = 1.000000e-05 : f64, heads = 2 : i64}
    %h = inf.rms_norm %x, %half {eps = 1.0e-5 : f64, heads = 2 : i64} : (tensor<?x16xf32>, !inf.weight<[8]>) -> tensor<?x16xf32>
    inf.yield %n : tensor<?x16xf32>
  }

  // One block for each of the others: nothing calls it.
  inf.block @ops(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}, %b: !inf.weight<[16]> {inf.slot = "b"}, %s: !inf.weight<[1]> {inf.slot = "s"}, %u: !inf.weight<[3, 16, 16]> {inf.slot = "u"}, %ub: !inf.weight<[3, 16, 1]> {inf.slot = "ub"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}, %db: !inf.weight<[3, 16, 1]> {inf.slot = "db"}) -> tensor<?x16xf32> {
    // CHECK: inf.linear %{{.*}}, %{{.*}} bias %{{.*}} scale %{{.*}} addend %{{.*}} norm %{{.*}} residual %{{.*}} {eps = 1.000000e-05 : f64, inf.kernel = "k", inf.offsets = array<i64: 64>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>}
    %y = inf.linear %x, %w bias %b scale %b addend %x norm %b residual %x {eps = 1.0e-5 : f64, inf.kernel = "k", inf.offsets = array<i64: 64>, inf.partition = #inf.partition<axis = outputs, grain = 16, row_tile = 8>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>, !inf.weight<[16]>, !inf.weight<[16]>, tensor<?x16xf32>, !inf.weight<[16]>, tensor<?x16xf32>) -> tensor<?x16xf32>
    // CHECK: inf.linear %{{[^ ]*}}, %{{[^ ]*}} {activation = #inf.activation<swiglu>} :
    %z = inf.linear %x, %w {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x8xf32>
    // CHECK: inf.slice %{{.*}} from 3
    %l = inf.slice %x from 3 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    // CHECK: inf.rope %{{.*}} by @yarn
    %r = inf.rope %x by @yarn {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    // CHECK: inf.kv_append %{{.*}}, %{{.*}} into @g
    inf.kv_append %r, %x into @g : tensor<?x16xf32>, tensor<?x16xf32>
    // CHECK: inf.attention %{{.*}} sinks %{{.*}} over @g
    %a = inf.attention %r sinks %s over @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x16xf32>, !inf.weight<[1]>) -> tensor<?x16xf32>
    // CHECK: inf.router_topk %{{.*}} top 2
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    // CHECK: inf.router_topk %{{.*}} top 2 {over_all}
    %i2, %p2 = inf.router_topk %l top 2 {over_all} : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    // CHECK: inf.moe %{{.*}} gate_up %{{.*}} bias %{{.*}} down %{{.*}} bias %{{.*}} {activation = #inf.activation<swiglu_clamped, limit = 7.000000e+00 : f64, alpha = 1.702000e+00 : f64>}
    %m = inf.moe %x, %i, %p gate_up %u bias %ub down %d bias %db {activation = #inf.activation<swiglu_clamped, limit = 7.0 : f64, alpha = 1.702 : f64>} : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 16]>, !inf.weight<[3, 16, 1]>, !inf.weight<[3, 16, 8]>, !inf.weight<[3, 16, 1]>) -> tensor<?x16xf32>
    // CHECK: inf.swiglu
    %g = inf.swiglu %x {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>) -> tensor<?x8xf32>
    // CHECK: inf.add
    %sum = inf.add %x, %m : tensor<?x16xf32>
    inf.yield %sum : tensor<?x16xf32>
  }

  // What can be read and made in int8.
  inf.block @q8(%x: tensor<?x16xf32>, %w: !inf.weight<[32, 16]> {inf.slot = "w"}, %n: !inf.weight<[32]> {inf.slot = "n"}, %v: !inf.weight<[16, 32]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    // CHECK: inf.linear %{{.*}} : (tensor<?x16xf32>, !inf.weight<[32, 16]>) -> tensor<?x32xf32>
    %y = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[32, 16]>) -> tensor<?x32xf32>
    // CHECK: inf.rms_norm %{{.*}} -> tensor<?x32x!inf.q8>
    %r = inf.rms_norm %y, %n {eps = 1.0e-5 : f64} : (tensor<?x32xf32>, !inf.weight<[32]>) -> tensor<?x32x!inf.q8>
    // CHECK: inf.quantize_activation %{{.*}} : (tensor<?x32xf32>) -> tensor<?x32x!inf.q8>
    %q = inf.quantize_activation %y : (tensor<?x32xf32>) -> tensor<?x32x!inf.q8>
    // CHECK: inf.linear %{{.*}} : (tensor<?x32x!inf.q8>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    %z = inf.linear %q, %v : (tensor<?x32x!inf.q8>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }

  // And in bf16, of any number of features.
  inf.block @bf16(%x: tensor<?x16xf32>, %w: !inf.weight<[33, 16]> {inf.slot = "w"}, %n: !inf.weight<[33]> {inf.slot = "n"}, %v: !inf.weight<[16, 33]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[33, 16]>) -> tensor<?x33xf32>
    // CHECK: inf.rms_norm %{{.*}} -> tensor<?x33xbf16>
    %r = inf.rms_norm %y, %n {eps = 1.0e-5 : f64} : (tensor<?x33xf32>, !inf.weight<[33]>) -> tensor<?x33xbf16>
    // CHECK: inf.quantize_activation %{{.*}} : (tensor<?x33xf32>) -> tensor<?x33xbf16>
    %q = inf.quantize_activation %y : (tensor<?x33xf32>) -> tensor<?x33xbf16>
    // CHECK: inf.linear %{{.*}} : (tensor<?x33xbf16>, !inf.weight<[16, 33]>) -> tensor<?x16xf32>
    %z = inf.linear %q, %v : (tensor<?x33xbf16>, !inf.weight<[16, 33]>) -> tensor<?x16xf32>
    inf.yield %z : tensor<?x16xf32>
  }

  inf.block @fused(%x: tensor<?x16xf32>, %w: !inf.weight<[48, 16]> {inf.slot = "w"}, %b: !inf.weight<[48]> {inf.slot = "b"}, %n: !inf.weight<[16]> {inf.slot = "n"}, %e: !inf.weight<[3, 16]> {inf.slot = "e"}, %eb: !inf.weight<[3]> {inf.slot = "eb"}, %u: !inf.weight<[3, 16, 16]> {inf.slot = "u"}, %ub: !inf.weight<[3, 16, 1]> {inf.slot = "ub"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}, %db: !inf.weight<[3, 16, 1]> {inf.slot = "db"}) -> tensor<?x16xf32> {
    // CHECK: inf.qkv %{{.*}} bias %{{.*}} norm %{{.*}} by @plain into @g {eps = 1.000000e-05 : f64
    %q = inf.qkv %x, %w bias %b norm %n by @plain into @g {eps = 1.0e-5 : f64, heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>, !inf.weight<[48, 16]>, !inf.weight<[48]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    // CHECK: inf.qkv %{{.*}} norm %{{.*}} q_norm %{{.*}} k_norm %{{.*}} by @plain into @g {eps = 1.000000e-05 : f64, head_dim = 16 : i64, head_eps = 1.000000e-05 : f64
    %q2 = inf.qkv %x, %w norm %n q_norm %n k_norm %n by @plain into @g {eps = 1.0e-5 : f64, head_eps = 1.0e-5 : f64, heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>, !inf.weight<[48, 16]>, !inf.weight<[16]>, !inf.weight<[16]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    // CHECK: inf.router %{{.*}} bias %{{.*}} norm %{{.*}} top 2
    %normed, %i, %p = inf.router %x, %e bias %eb norm %n top 2 {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[3, 16]>, !inf.weight<[3]>, !inf.weight<[16]>) -> (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>)
    // CHECK: inf.expert_up %{{.*}} bias %{{.*}} {activation = #inf.activation<swiglu>}
    %up = inf.expert_up %normed, %i, %u bias %ub {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, !inf.weight<[3, 16, 16]>, !inf.weight<[3, 16, 1]>) -> tensor<?x2x8xf32>
    // CHECK: inf.expert_down %{{.*}} bias %{{.*}} residual %{{.*}} {inf.offsets = array<i64: 0, 64>}
    %y, %partials = inf.expert_down %up, %i, %p, %d bias %db residual %x {inf.offsets = array<i64: 0, 64>} : (tensor<?x2x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 8]>, !inf.weight<[3, 16, 1]>, tensor<?x16xf32>) -> (tensor<?x16xf32>, tensor<?x2x16xf32>)
    inf.yield %y : tensor<?x16xf32>
  }

  // CHECK: inf.step {
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    // CHECK: inf.use @e : <[4, 16]>
    %e = inf.use @e : <[4, 16]>
    // CHECK: inf.embedding
    %x0 = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    // CHECK: inf.layer 0 @layer(%{{.*}}) kv_slot 0 weights [@v, @half]
    %x1 = inf.layer 0 @layer(%x0) kv_slot 0 weights [@v, @half] : tensor<?x16xf32>
    // CHECK: inf.output_rows
    %o = inf.output_rows %x1 : tensor<?x16xf32>
    // CHECK: inf.lm_head
    %l = inf.lm_head %o, %e : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    // CHECK: inf.yield %{{.*}}, %{{.*}}
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}
