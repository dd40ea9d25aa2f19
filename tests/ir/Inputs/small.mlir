// A whole model as it is imported, in one layer: what hostile.py spoils.
inf.model @small attributes {architecture = "a", vocabulary = 16 : i64, hidden = 32 : i64, max_context = 64 : i64, eos_tokens = array<i64: 3>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 8 : i64, element = "f32", block_tokens = 16 : i64}
  inf.weight @embed : !inf.weight<[16, 32]> from [#inf.part<tensor = "embed", stored = bf16, rows = 16>]
  inf.weight @norm1 : !inf.weight<[32]> from [#inf.part<tensor = "norm1", stored = f32, rows = 32>]
  inf.weight @wq : !inf.weight<[32, 32]> from [#inf.part<tensor = "q", stored = bf16, rows = 32>]
  inf.weight @wk : !inf.weight<[16, 32]> from [#inf.part<tensor = "k", stored = bf16, rows = 16>]
  inf.weight @wv : !inf.weight<[16, 32]> from [#inf.part<tensor = "v", stored = bf16, rows = 16>]
  inf.weight @sinks : !inf.weight<[2]> from [#inf.part<tensor = "sinks", stored = f32, rows = 2>]
  inf.weight @wo : !inf.weight<[32, 32]> from [#inf.part<tensor = "o", stored = bf16, rows = 32>]
  inf.weight @norm2 : !inf.weight<[32]> from [#inf.part<tensor = "norm2", stored = f32, rows = 32>]
  inf.weight @router : !inf.weight<[3, 32]> from [#inf.part<tensor = "router", stored = bf16, rows = 3>]
  inf.weight @up : !inf.weight<[3, 64, 32]> from [#inf.part<tensor = "up", scales = "up_scales", stored = mxfp4, rows = 64, interleaved = true>]
  inf.weight @up_bias : !inf.weight<[3, 64, 1]> from [#inf.part<tensor = "up_bias", stored = bf16, rows = 64>]
  inf.weight @down : !inf.weight<[3, 32, 32]> from [#inf.part<tensor = "down", scales = "down_scales", stored = mxfp4, rows = 32>]
  inf.weight @norm3 : !inf.weight<[32]> from [#inf.part<tensor = "norm3", stored = f32, rows = 32>]
  inf.weight @head : !inf.weight<[16, 32]> from [#inf.part<tensor = "head", stored = bf16, rows = 16>]
  inf.block @layer(%x: tensor<?x32xf32>, %norm1: !inf.weight<[32]> {inf.slot = "norm1"}, %wq: !inf.weight<[32, 32]> {inf.slot = "wq"}, %wk: !inf.weight<[16, 32]> {inf.slot = "wk"}, %wv: !inf.weight<[16, 32]> {inf.slot = "wv"}, %sinks: !inf.weight<[2]> {inf.slot = "sinks"}, %wo: !inf.weight<[32, 32]> {inf.slot = "wo"}, %norm2: !inf.weight<[32]> {inf.slot = "norm2"}, %router: !inf.weight<[3, 32]> {inf.slot = "router"}, %up: !inf.weight<[3, 64, 32]> {inf.slot = "up"}, %upb: !inf.weight<[3, 64, 1]> {inf.slot = "up_bias"}, %down: !inf.weight<[3, 32, 32]> {inf.slot = "down"}) -> tensor<?x32xf32> {
    %n = inf.rms_norm %x, %norm1 {eps = 1.0e-5 : f64} : (tensor<?x32xf32>, !inf.weight<[32]>) -> tensor<?x32xf32>
    %q = inf.linear %n, %wq : (tensor<?x32xf32>, !inf.weight<[32, 32]>) -> tensor<?x32xf32>
    %rq = inf.rope %q by @r {heads = 2 : i64, head_dim = 16 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %k = inf.linear %n, %wk : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    %rk = inf.rope %k by @r {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %v = inf.linear %n, %wv : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.kv_append %rk, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %rq sinks %sinks over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>, !inf.weight<[2]>) -> tensor<?x32xf32>
    %o = inf.linear %a, %wo : (tensor<?x32xf32>, !inf.weight<[32, 32]>) -> tensor<?x32xf32>
    %y = inf.add %x, %o : tensor<?x32xf32>
    %m = inf.rms_norm %y, %norm2 {eps = 1.0e-5 : f64} : (tensor<?x32xf32>, !inf.weight<[32]>) -> tensor<?x32xf32>
    %l = inf.linear %m, %router : (tensor<?x32xf32>, !inf.weight<[3, 32]>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %e = inf.moe %m, %i, %p gate_up %up bias %upb down %down {activation = #inf.activation<swiglu_clamped, limit = 7.0 : f64, alpha = 1.702 : f64>} : (tensor<?x32xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 64, 32]>, !inf.weight<[3, 64, 1]>, !inf.weight<[3, 32, 32]>) -> tensor<?x32xf32>
    %z = inf.add %y, %e : tensor<?x32xf32>
    inf.yield %z : tensor<?x32xf32>
  }
  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %w = inf.use @embed : <[16, 32]>
    %x0 = inf.embedding %t, %w : (tensor<?xi32>, !inf.weight<[16, 32]>) -> tensor<?x32xf32>
    %x1 = inf.layer 0 @layer(%x0) kv_slot 0 weights [@norm1, @wq, @wk, @wv, @sinks, @wo, @norm2, @router, @up, @up_bias, @down] : tensor<?x32xf32>
    %o = inf.output_rows %x1 : tensor<?x32xf32>
    %n = inf.use @norm3 : <[32]>
    %h = inf.rms_norm %o, %n {eps = 1.0e-5 : f64} : (tensor<?x32xf32>, !inf.weight<[32]>) -> tensor<?x32xf32>
    %u = inf.use @head : <[16, 32]>
    %l = inf.lm_head %h, %u : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.yield %h, %l : tensor<?x32xf32>, tensor<?x16xf32>
  }
}
