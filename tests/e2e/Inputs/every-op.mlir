// A model written by hand so that every op of the import level is compiled and run: every stored
// format, sizes that fill no panel (vocabulary 100, intermediate 40, 3 experts), scale and addend of
// a product, attention with and without sinks and window.
module {
  inf.model @every_op attributes {architecture = "handwritten", bos_token = -1 : i64, eos_tokens = array<i64: 0>, hidden = 48 : i64, max_context = 64 : i64, vocabulary = 100 : i64} {
    inf.rope_table @rope {head_dim = 16 : i64, theta = 1.0e4 : f64, truncate = true, type = "default"}
    inf.kv_group @kv.full {block_tokens = 16 : i64, element = "f32", head_dim = 16 : i64, kv_heads = 2 : i64, layers = array<i64: 0, 2>, window = 0 : i64}
    inf.kv_group @kv.window4 {block_tokens = 32 : i64, element = "f32", head_dim = 16 : i64, kv_heads = 2 : i64, layers = array<i64: 1>, window = 4 : i64}
    inf.weight @embedding : !inf.weight<[100, 48]> from [#inf.part<tensor = "embedding", stored = f16, rows = 100>]
    inf.weight @layers.0.norm : !inf.weight<[48]> from [#inf.part<tensor = "layers.0.norm", stored = f32, rows = 48>]
    inf.weight @layers.0.q : !inf.weight<[64, 48]> from [#inf.part<tensor = "layers.0.q", stored = bf16, rows = 64>]
    inf.weight @layers.0.k : !inf.weight<[32, 48]> from [#inf.part<tensor = "layers.0.k", stored = f16, rows = 32>]
    inf.weight @layers.0.v : !inf.weight<[32, 48]> from [#inf.part<tensor = "layers.0.v", stored = f32, rows = 32>]
    inf.weight @layers.0.v_bias : !inf.weight<[32]> from [#inf.part<tensor = "layers.0.v_bias", stored = bf16, rows = 32>]
    inf.weight @layers.0.o : !inf.weight<[48, 64]> from [#inf.part<tensor = "layers.0.o", stored = f16, rows = 48>]
    inf.weight @layers.0.o_scale : !inf.weight<[48]> from [#inf.part<tensor = "layers.0.o_scale", stored = f32, rows = 48>]
    inf.weight @layers.0.o_bias : !inf.weight<[48]> from [#inf.part<tensor = "layers.0.o_bias", stored = f16, rows = 48>]
    inf.weight @layers.0.a : !inf.weight<[48, 48]> from [#inf.part<tensor = "layers.0.a", stored = f32, rows = 48>]
    inf.weight @layers.0.mlp_norm : !inf.weight<[48]> from [#inf.part<tensor = "layers.0.mlp_norm", stored = bf16, rows = 48>]
    inf.weight @layers.0.gate_up : !inf.weight<[80, 48]> from [#inf.part<tensor = "layers.0.gate_up", stored = bf16, rows = 80>]
    inf.weight @layers.0.down : !inf.weight<[48, 40]> from [#inf.part<tensor = "layers.0.down", stored = f32, rows = 48>]
    inf.weight @layers.1.norm : !inf.weight<[48]> from [#inf.part<tensor = "layers.1.norm", stored = f32, rows = 48>]
    inf.weight @layers.1.q : !inf.weight<[64, 48]> from [#inf.part<tensor = "layers.1.q", stored = bf16, rows = 64>]
    inf.weight @layers.1.k : !inf.weight<[32, 48]> from [#inf.part<tensor = "layers.1.k", stored = f16, rows = 32>]
    inf.weight @layers.1.v : !inf.weight<[32, 48]> from [#inf.part<tensor = "layers.1.v", stored = f32, rows = 32>]
    inf.weight @layers.1.v_bias : !inf.weight<[32]> from [#inf.part<tensor = "layers.1.v_bias", stored = bf16, rows = 32>]
    inf.weight @layers.1.o : !inf.weight<[48, 64]> from [#inf.part<tensor = "layers.1.o", stored = f16, rows = 48>]
    inf.weight @layers.1.o_scale : !inf.weight<[48]> from [#inf.part<tensor = "layers.1.o_scale", stored = f32, rows = 48>]
    inf.weight @layers.1.o_bias : !inf.weight<[48]> from [#inf.part<tensor = "layers.1.o_bias", stored = f16, rows = 48>]
    inf.weight @layers.1.a : !inf.weight<[48, 48]> from [#inf.part<tensor = "layers.1.a", stored = f32, rows = 48>]
    inf.weight @layers.1.sinks : !inf.weight<[4]> from [#inf.part<tensor = "layers.1.sinks", stored = f32, rows = 4>]
    inf.weight @layers.1.moe_norm : !inf.weight<[48]> from [#inf.part<tensor = "layers.1.moe_norm", stored = f32, rows = 48>]
    inf.weight @layers.1.router : !inf.weight<[3, 48]> from [#inf.part<tensor = "layers.1.router", stored = f32, rows = 3>]
    inf.weight @layers.1.expert_up : !inf.weight<[3, 128, 48]> from [#inf.part<tensor = "layers.1.expert_up", stored = bf16, rows = 128>]
    inf.weight @layers.1.expert_up_bias : !inf.weight<[3, 128, 1]> from [#inf.part<tensor = "layers.1.expert_up_bias", stored = f32, rows = 128>]
    inf.weight @layers.1.expert_down : !inf.weight<[3, 48, 64]> from [#inf.part<tensor = "layers.1.expert_down", scales = "layers.1.expert_down.scales", stored = mxfp4, rows = 48>]
    inf.weight @layers.2.norm : !inf.weight<[48]> from [#inf.part<tensor = "layers.2.norm", stored = f32, rows = 48>]
    inf.weight @layers.2.q : !inf.weight<[64, 48]> from [#inf.part<tensor = "layers.2.q", stored = bf16, rows = 64>]
    inf.weight @layers.2.k : !inf.weight<[32, 48]> from [#inf.part<tensor = "layers.2.k", stored = f16, rows = 32>]
    inf.weight @layers.2.v : !inf.weight<[32, 48]> from [#inf.part<tensor = "layers.2.v", stored = f32, rows = 32>]
    inf.weight @layers.2.v_bias : !inf.weight<[32]> from [#inf.part<tensor = "layers.2.v_bias", stored = bf16, rows = 32>]
    inf.weight @layers.2.o : !inf.weight<[48, 64]> from [#inf.part<tensor = "layers.2.o", stored = f16, rows = 48>]
    inf.weight @layers.2.o_scale : !inf.weight<[48]> from [#inf.part<tensor = "layers.2.o_scale", stored = f32, rows = 48>]
    inf.weight @layers.2.o_bias : !inf.weight<[48]> from [#inf.part<tensor = "layers.2.o_bias", stored = f16, rows = 48>]
    inf.weight @layers.2.a : !inf.weight<[48, 48]> from [#inf.part<tensor = "layers.2.a", stored = f32, rows = 48>]
    inf.weight @layers.2.mlp_norm : !inf.weight<[48]> from [#inf.part<tensor = "layers.2.mlp_norm", stored = bf16, rows = 48>]
    inf.weight @layers.2.gate_up : !inf.weight<[80, 48]> from [#inf.part<tensor = "layers.2.gate_up", stored = bf16, rows = 80>]
    inf.weight @layers.2.down : !inf.weight<[48, 40]> from [#inf.part<tensor = "layers.2.down", stored = f32, rows = 48>]
    inf.weight @final_norm : !inf.weight<[48]> from [#inf.part<tensor = "final_norm", stored = f32, rows = 48>]
    inf.weight @lm_head : !inf.weight<[100, 48]> from [#inf.part<tensor = "lm_head", stored = f32, rows = 100>]
    inf.block @dense(%x: tensor<?x48xf32>, %norm: !inf.weight<[48]> {inf.slot = "norm"}, %q: !inf.weight<[64, 48]> {inf.slot = "q"}, %k: !inf.weight<[32, 48]> {inf.slot = "k"}, %v: !inf.weight<[32, 48]> {inf.slot = "v"}, %v_bias: !inf.weight<[32]> {inf.slot = "v_bias"}, %o: !inf.weight<[48, 64]> {inf.slot = "o"}, %o_scale: !inf.weight<[48]> {inf.slot = "o_scale"}, %o_bias: !inf.weight<[48]> {inf.slot = "o_bias"}, %a: !inf.weight<[48, 48]> {inf.slot = "a"}, %mlp_norm: !inf.weight<[48]> {inf.slot = "mlp_norm"}, %gate_up: !inf.weight<[80, 48]> {inf.slot = "gate_up"}, %down: !inf.weight<[48, 40]> {inf.slot = "down"}) -> tensor<?x48xf32> {
      %n = inf.rms_norm %x, %norm {eps = 1.0e-5 : f64} : (tensor<?x48xf32>, !inf.weight<[48]>) -> tensor<?x48xf32>
      %q0 = inf.linear %n, %q : (tensor<?x48xf32>, !inf.weight<[64, 48]>) -> tensor<?x64xf32>
      %k0 = inf.linear %n, %k : (tensor<?x48xf32>, !inf.weight<[32, 48]>) -> tensor<?x32xf32>
      %v0 = inf.linear %n, %v bias %v_bias : (tensor<?x48xf32>, !inf.weight<[32, 48]>, !inf.weight<[32]>) -> tensor<?x32xf32>
      %q1 = inf.rope %q0 by @rope {head_dim = 16 : i64, heads = 4 : i64} : (tensor<?x64xf32>) -> tensor<?x64xf32>
      %k1 = inf.rope %k0 by @rope {head_dim = 16 : i64, heads = 2 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
      inf.kv_append %k1, %v0 into @kv.full : tensor<?x32xf32>, tensor<?x32xf32>
      %at = inf.attention %q1 over @kv.full {head_dim = 16 : i64, heads = 4 : i64, kv_heads = 2 : i64, scale = 0.25 : f64} : (tensor<?x64xf32>) -> tensor<?x64xf32>
      // The addend is another product of the same rows, as an adapter's would be.
      %add = inf.linear %n, %a : (tensor<?x48xf32>, !inf.weight<[48, 48]>) -> tensor<?x48xf32>
      %o1 = inf.linear %at, %o bias %o_bias scale %o_scale addend %add residual %x : (tensor<?x64xf32>, !inf.weight<[48, 64]>, !inf.weight<[48]>, !inf.weight<[48]>, tensor<?x48xf32>, tensor<?x48xf32>) -> tensor<?x48xf32>
      %m = inf.rms_norm %o1, %mlp_norm {eps = 1.0e-5 : f64} : (tensor<?x48xf32>, !inf.weight<[48]>) -> tensor<?x48xf32>
      %gu = inf.linear %m, %gate_up : (tensor<?x48xf32>, !inf.weight<[80, 48]>) -> tensor<?x80xf32>
      %act = inf.swiglu %gu {activation = #inf.activation<swiglu>} : (tensor<?x80xf32>) -> tensor<?x40xf32>
      %d = inf.linear %act, %down : (tensor<?x40xf32>, !inf.weight<[48, 40]>) -> tensor<?x48xf32>
      %y = inf.add %d, %o1 : tensor<?x48xf32>
      inf.yield %y : tensor<?x48xf32>
    }
    inf.block @moe(%x: tensor<?x48xf32>, %norm: !inf.weight<[48]> {inf.slot = "norm"}, %q: !inf.weight<[64, 48]> {inf.slot = "q"}, %k: !inf.weight<[32, 48]> {inf.slot = "k"}, %v: !inf.weight<[32, 48]> {inf.slot = "v"}, %v_bias: !inf.weight<[32]> {inf.slot = "v_bias"}, %o: !inf.weight<[48, 64]> {inf.slot = "o"}, %o_scale: !inf.weight<[48]> {inf.slot = "o_scale"}, %o_bias: !inf.weight<[48]> {inf.slot = "o_bias"}, %a: !inf.weight<[48, 48]> {inf.slot = "a"}, %sinks: !inf.weight<[4]> {inf.slot = "sinks"}, %moe_norm: !inf.weight<[48]> {inf.slot = "moe_norm"}, %router: !inf.weight<[3, 48]> {inf.slot = "router"}, %expert_up: !inf.weight<[3, 128, 48]> {inf.slot = "expert_up"}, %expert_up_bias: !inf.weight<[3, 128, 1]> {inf.slot = "expert_up_bias"}, %expert_down: !inf.weight<[3, 48, 64]> {inf.slot = "expert_down"}) -> tensor<?x48xf32> {
      %n = inf.rms_norm %x, %norm {eps = 1.0e-5 : f64} : (tensor<?x48xf32>, !inf.weight<[48]>) -> tensor<?x48xf32>
      %q0 = inf.linear %n, %q : (tensor<?x48xf32>, !inf.weight<[64, 48]>) -> tensor<?x64xf32>
      %k0 = inf.linear %n, %k : (tensor<?x48xf32>, !inf.weight<[32, 48]>) -> tensor<?x32xf32>
      %v0 = inf.linear %n, %v bias %v_bias : (tensor<?x48xf32>, !inf.weight<[32, 48]>, !inf.weight<[32]>) -> tensor<?x32xf32>
      %q1 = inf.rope %q0 by @rope {head_dim = 16 : i64, heads = 4 : i64} : (tensor<?x64xf32>) -> tensor<?x64xf32>
      %k1 = inf.rope %k0 by @rope {head_dim = 16 : i64, heads = 2 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
      inf.kv_append %k1, %v0 into @kv.window4 : tensor<?x32xf32>, tensor<?x32xf32>
      %at = inf.attention %q1 sinks %sinks over @kv.window4 {head_dim = 16 : i64, heads = 4 : i64, kv_heads = 2 : i64, scale = 0.25 : f64} : (tensor<?x64xf32>, !inf.weight<[4]>) -> tensor<?x64xf32>
      // The addend is another product of the same rows, as an adapter's would be.
      %add = inf.linear %n, %a : (tensor<?x48xf32>, !inf.weight<[48, 48]>) -> tensor<?x48xf32>
      %o1 = inf.linear %at, %o bias %o_bias scale %o_scale addend %add residual %x : (tensor<?x64xf32>, !inf.weight<[48, 64]>, !inf.weight<[48]>, !inf.weight<[48]>, tensor<?x48xf32>, tensor<?x48xf32>) -> tensor<?x48xf32>
      %m = inf.rms_norm %o1, %moe_norm {eps = 1.0e-5 : f64} : (tensor<?x48xf32>, !inf.weight<[48]>) -> tensor<?x48xf32>
      %l = inf.linear %m, %router : (tensor<?x48xf32>, !inf.weight<[3, 48]>) -> tensor<?x3xf32>
      %e, %s = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
      %d = inf.moe %m, %e, %s gate_up %expert_up bias %expert_up_bias down %expert_down {activation = #inf.activation<swiglu_clamped, limit = 7.0 : f64, alpha = 1.702 : f64>} : (tensor<?x48xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 128, 48]>, !inf.weight<[3, 128, 1]>, !inf.weight<[3, 48, 64]>) -> tensor<?x48xf32>
      %y = inf.add %o1, %d : tensor<?x48xf32>
      inf.yield %y : tensor<?x48xf32>
    }
    inf.step {
    ^bb0(%tokens: tensor<?xi32>):
      %we = inf.use @embedding : <[100, 48]>
      %x0 = inf.embedding %tokens, %we : (tensor<?xi32>, !inf.weight<[100, 48]>) -> tensor<?x48xf32>
      %x1 = inf.layer 0 @dense(%x0) kv_slot 0 weights [@layers.0.norm, @layers.0.q, @layers.0.k, @layers.0.v, @layers.0.v_bias, @layers.0.o, @layers.0.o_scale, @layers.0.o_bias, @layers.0.a, @layers.0.mlp_norm, @layers.0.gate_up, @layers.0.down] : tensor<?x48xf32>
      %x2 = inf.layer 1 @moe(%x1) kv_slot 0 weights [@layers.1.norm, @layers.1.q, @layers.1.k, @layers.1.v, @layers.1.v_bias, @layers.1.o, @layers.1.o_scale, @layers.1.o_bias, @layers.1.a, @layers.1.sinks, @layers.1.moe_norm, @layers.1.router, @layers.1.expert_up, @layers.1.expert_up_bias, @layers.1.expert_down] : tensor<?x48xf32>
      %x3 = inf.layer 2 @dense(%x2) kv_slot 1 weights [@layers.2.norm, @layers.2.q, @layers.2.k, @layers.2.v, @layers.2.v_bias, @layers.2.o, @layers.2.o_scale, @layers.2.o_bias, @layers.2.a, @layers.2.mlp_norm, @layers.2.gate_up, @layers.2.down] : tensor<?x48xf32>
      %r = inf.output_rows %x3 : tensor<?x48xf32>
      %wn = inf.use @final_norm : <[48]>
      %h = inf.rms_norm %r, %wn {eps = 1.0e-5 : f64} : (tensor<?x48xf32>, !inf.weight<[48]>) -> tensor<?x48xf32>
      %wl = inf.use @lm_head : <[100, 48]>
      %logits = inf.lm_head %h, %wl : (tensor<?x48xf32>, !inf.weight<[100, 48]>) -> tensor<?x100xf32>
      inf.yield %h, %logits : tensor<?x48xf32>, tensor<?x100xf32>
    }
  }
}
