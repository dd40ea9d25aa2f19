// RUN: inf-opt %s -inf-fuse-rope-append | FileCheck %s
// The qkv product norms and rotates the heads of its q and k and stores its k and v itself.

// CHECK: inf.model @m
inf.model @m attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.rope_table @r2 {type = "default", head_dim = 16 : i64, theta = 5.0e5 : f64}
  inf.rope_table @r8 {type = "default", head_dim = 8 : i64, theta = 1.0e4 : f64}

  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.kv_group @g2 {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 4 : i64, element = "f32", block_tokens = 16 : i64}

  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]

  // CHECK: inf.block @fuses(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NEXT: %[[Q:.*]] = inf.qkv %[[X]], %{{[^ ]*}} bias %{{[^ ]*}} norm %{{[^ ]*}} by @r into @g {eps = 1.000000e-05 : f64, head_dim = 16 : i64, heads = 2 : i64, kv_heads = 1 : i64}
  // CHECK-NEXT: inf.attention %[[Q]] over @g
  // CHECK-NEXT: inf.linear
  // CHECK-NEXT: inf.yield
  inf.block @fuses(%x: tensor<?x16xf32>, %w: !inf.weight<[64, 16]> {inf.slot = "w"}, %b: !inf.weight<[64]> {inf.slot = "b"}, %v: !inf.weight<[16]> {inf.slot = "v"}, %o: !inf.weight<[16, 32]> {inf.slot = "o"}) -> tensor<?x16xf32> {
    %t = inf.linear %x, %w bias %b norm %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[64, 16]>, !inf.weight<[64]>, !inf.weight<[16]>) -> tensor<?x64xf32>
    %q = inf.slice %t from 0 : (tensor<?x64xf32>) -> tensor<?x32xf32>
    %k = inf.slice %t from 32 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %vv = inf.slice %t from 48 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %rq = inf.rope %q by @r {heads = 2 : i64, head_dim = 16 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %rk = inf.rope %k by @r {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.kv_append %rk, %vv into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %rq over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %y = inf.linear %a, %o : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // Norms of heads come along.
  // CHECK: inf.block @with_head_norms(%[[X:.*]]: tensor<?x16xf32>, %[[W:.*]]: !inf.weight<[64, 16]> {inf.slot = "w"}, %[[QN:.*]]: !inf.weight<[16]> {inf.slot = "qn"}, %[[KN:.*]]: !inf.weight<[16]> {inf.slot = "kn"}
  // CHECK-NEXT: %[[Q:.*]] = inf.qkv %[[X]], %[[W]] q_norm %[[QN]] k_norm %[[KN]] by @r into @g {head_dim = 16 : i64, head_eps = 1.000000e-05 : f64, heads = 2 : i64, kv_heads = 1 : i64}
  // CHECK-NEXT: inf.attention %[[Q]] over @g
  inf.block @with_head_norms(%x: tensor<?x16xf32>, %w: !inf.weight<[64, 16]> {inf.slot = "w"}, %qn: !inf.weight<[16]> {inf.slot = "qn"}, %kn: !inf.weight<[16]> {inf.slot = "kn"}, %o: !inf.weight<[16, 32]> {inf.slot = "o"}) -> tensor<?x16xf32> {
    %t = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[64, 16]>) -> tensor<?x64xf32>
    %q = inf.slice %t from 0 : (tensor<?x64xf32>) -> tensor<?x32xf32>
    %k = inf.slice %t from 32 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %v = inf.slice %t from 48 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %nq = inf.rms_norm %q, %qn {eps = 1.0e-5 : f64, heads = 2 : i64} : (tensor<?x32xf32>, !inf.weight<[16]>) -> tensor<?x32xf32>
    %nk = inf.rms_norm %k, %kn {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %rq = inf.rope %nq by @r {heads = 2 : i64, head_dim = 16 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %rk = inf.rope %nk by @r {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.kv_append %rk, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %rq over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %y = inf.linear %a, %o : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // The fused op norms heads, not all of q at once; nor q alone.
  // CHECK: inf.block @other_norms(
  // CHECK-NOT: inf.qkv
  // CHECK: inf.attention
  // CHECK: inf.block @q_normed_alone(
  // CHECK-NOT: inf.qkv
  // CHECK: inf.attention
  inf.block @other_norms(%x: tensor<?x16xf32>, %w: !inf.weight<[64, 16]> {inf.slot = "w"}, %qn: !inf.weight<[32]> {inf.slot = "qn"}, %kn: !inf.weight<[16]> {inf.slot = "kn"}, %o: !inf.weight<[16, 32]> {inf.slot = "o"}) -> tensor<?x16xf32> {
    %t = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[64, 16]>) -> tensor<?x64xf32>
    %q = inf.slice %t from 0 : (tensor<?x64xf32>) -> tensor<?x32xf32>
    %k = inf.slice %t from 32 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %v = inf.slice %t from 48 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %nq = inf.rms_norm %q, %qn {eps = 1.0e-5 : f64} : (tensor<?x32xf32>, !inf.weight<[32]>) -> tensor<?x32xf32>
    %nk = inf.rms_norm %k, %kn {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %rq = inf.rope %nq by @r {heads = 2 : i64, head_dim = 16 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %rk = inf.rope %nk by @r {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.kv_append %rk, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %rq over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %y = inf.linear %a, %o : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }
  inf.block @q_normed_alone(%x: tensor<?x16xf32>, %w: !inf.weight<[64, 16]> {inf.slot = "w"}, %qn: !inf.weight<[16]> {inf.slot = "qn"}, %o: !inf.weight<[16, 32]> {inf.slot = "o"}) -> tensor<?x16xf32> {
    %t = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[64, 16]>) -> tensor<?x64xf32>
    %q = inf.slice %t from 0 : (tensor<?x64xf32>) -> tensor<?x32xf32>
    %k = inf.slice %t from 32 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %v = inf.slice %t from 48 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %nq = inf.rms_norm %q, %qn {eps = 1.0e-5 : f64, heads = 2 : i64} : (tensor<?x32xf32>, !inf.weight<[16]>) -> tensor<?x32xf32>
    %rq = inf.rope %nq by @r {heads = 2 : i64, head_dim = 16 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %rk = inf.rope %k by @r {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.kv_append %rk, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %rq over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %y = inf.linear %a, %o : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // q and k rotate by different tables; the fused op has one.
  // CHECK: inf.block @other_tables(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NOT: inf.qkv
  // CHECK: inf.kv_append
  // CHECK: inf.attention
  inf.block @other_tables(%x: tensor<?x16xf32>, %w: !inf.weight<[64, 16]> {inf.slot = "w"}, %o: !inf.weight<[16, 32]> {inf.slot = "o"}) -> tensor<?x16xf32> {
    %t = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[64, 16]>) -> tensor<?x64xf32>
    %q = inf.slice %t from 0 : (tensor<?x64xf32>) -> tensor<?x32xf32>
    %k = inf.slice %t from 32 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %v = inf.slice %t from 48 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %rq = inf.rope %q by @r2 {heads = 2 : i64, head_dim = 16 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %rk = inf.rope %k by @r {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.kv_append %rk, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %rq over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %y = inf.linear %a, %o : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // The fused op knows the order q, k, v alone.
  // CHECK: inf.block @k_before_q(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NOT: inf.qkv
  // CHECK: inf.kv_append
  // CHECK: inf.attention
  inf.block @k_before_q(%x: tensor<?x16xf32>, %w: !inf.weight<[64, 16]> {inf.slot = "w"}, %o: !inf.weight<[16, 32]> {inf.slot = "o"}) -> tensor<?x16xf32> {
    %t = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[64, 16]>) -> tensor<?x64xf32>
    %q = inf.slice %t from 16 : (tensor<?x64xf32>) -> tensor<?x32xf32>
    %k = inf.slice %t from 0 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %v = inf.slice %t from 48 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %rq = inf.rope %q by @r {heads = 2 : i64, head_dim = 16 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %rk = inf.rope %k by @r {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.kv_append %rk, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %rq over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %y = inf.linear %a, %o : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // The product makes a fourth part (a gate) that something else reads.
  // CHECK: inf.block @more_than_qkv(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NOT: inf.qkv
  // CHECK: inf.kv_append
  // CHECK: inf.attention
  inf.block @more_than_qkv(%x: tensor<?x16xf32>, %w: !inf.weight<[80, 16]> {inf.slot = "w"}, %o: !inf.weight<[16, 32]> {inf.slot = "o"}) -> tensor<?x16xf32> {
    %t = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[80, 16]>) -> tensor<?x80xf32>
    %q = inf.slice %t from 0 : (tensor<?x80xf32>) -> tensor<?x32xf32>
    %k = inf.slice %t from 32 : (tensor<?x80xf32>) -> tensor<?x16xf32>
    %v = inf.slice %t from 48 : (tensor<?x80xf32>) -> tensor<?x16xf32>
    %rq = inf.rope %q by @r {heads = 2 : i64, head_dim = 16 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %rk = inf.rope %k by @r {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.kv_append %rk, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %rq over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %gate = inf.slice %t from 64 : (tensor<?x80xf32>) -> tensor<?x16xf32>
    %z = inf.linear %a, %o : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    %y2 = inf.add %z, %gate : tensor<?x16xf32>
    %y = inf.linear %a, %o : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.yield %y2 : tensor<?x16xf32>
  }

  // Someone reads q before its rotation.
  // CHECK: inf.block @product_read_elsewhere(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NOT: inf.qkv
  // CHECK: inf.kv_append
  // CHECK: inf.attention
  inf.block @product_read_elsewhere(%x: tensor<?x16xf32>, %w: !inf.weight<[64, 16]> {inf.slot = "w"}, %o: !inf.weight<[16, 32]> {inf.slot = "o"}) -> tensor<?x16xf32> {
    %t = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[64, 16]>) -> tensor<?x64xf32>
    %q = inf.slice %t from 0 : (tensor<?x64xf32>) -> tensor<?x32xf32>
    %k = inf.slice %t from 32 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %v = inf.slice %t from 48 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %rq = inf.rope %q by @r {heads = 2 : i64, head_dim = 16 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %rk = inf.rope %k by @r {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.kv_append %rk, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %rq over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %q2 = inf.slice %t from 0 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %z = inf.linear %a, %o : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    %y2 = inf.add %z, %q2 : tensor<?x16xf32>
    %y = inf.linear %a, %o : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.yield %y2 : tensor<?x16xf32>
  }

  // Someone reads the rotated k as well.
  // CHECK: inf.block @rotated_k_read_elsewhere(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NOT: inf.qkv
  // CHECK: inf.kv_append
  // CHECK: inf.attention
  inf.block @rotated_k_read_elsewhere(%x: tensor<?x16xf32>, %w: !inf.weight<[64, 16]> {inf.slot = "w"}, %o: !inf.weight<[16, 32]> {inf.slot = "o"}) -> tensor<?x16xf32> {
    %t = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[64, 16]>) -> tensor<?x64xf32>
    %q = inf.slice %t from 0 : (tensor<?x64xf32>) -> tensor<?x32xf32>
    %k = inf.slice %t from 32 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %v = inf.slice %t from 48 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %rq = inf.rope %q by @r {heads = 2 : i64, head_dim = 16 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %rk = inf.rope %k by @r {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.kv_append %rk, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %rq over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %z = inf.linear %a, %o : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    %y2 = inf.add %z, %rk : tensor<?x16xf32>
    %y = inf.linear %a, %o : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.yield %y2 : tensor<?x16xf32>
  }

  // The fused op has no epilogue.
  // CHECK: inf.block @residual(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NOT: inf.qkv
  // CHECK: inf.kv_append
  // CHECK: inf.attention
  inf.block @residual(%x: tensor<?x16xf32>, %w: !inf.weight<[64, 16]> {inf.slot = "w"}, %o: !inf.weight<[16, 32]> {inf.slot = "o"}) -> tensor<?x16xf32> {
    %u = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[64, 16]>) -> tensor<?x64xf32>
    %t = inf.linear %x, %w residual %u : (tensor<?x16xf32>, !inf.weight<[64, 16]>, tensor<?x64xf32>) -> tensor<?x64xf32>
    %q = inf.slice %t from 0 : (tensor<?x64xf32>) -> tensor<?x32xf32>
    %k = inf.slice %t from 32 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %v = inf.slice %t from 48 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %rq = inf.rope %q by @r {heads = 2 : i64, head_dim = 16 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %rk = inf.rope %k by @r {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.kv_append %rk, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %rq over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %y = inf.linear %a, %o : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // These rows see only what was stored before: the append must stay behind.
  // CHECK: inf.block @attends_before_it_appends(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NOT: inf.qkv
  // CHECK: inf.attention
  // CHECK: inf.kv_append
  inf.block @attends_before_it_appends(%x: tensor<?x16xf32>, %w: !inf.weight<[64, 16]> {inf.slot = "w"}, %o: !inf.weight<[16, 32]> {inf.slot = "o"}) -> tensor<?x16xf32> {
    %t = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[64, 16]>) -> tensor<?x64xf32>
    %q = inf.slice %t from 0 : (tensor<?x64xf32>) -> tensor<?x32xf32>
    %k = inf.slice %t from 32 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %v = inf.slice %t from 48 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %rq = inf.rope %q by @r {heads = 2 : i64, head_dim = 16 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %rk = inf.rope %k by @r {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %a = inf.attention %rq over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    inf.kv_append %rk, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %y = inf.linear %a, %o : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // Stored in one group, attended over another.
  // CHECK: inf.block @other_group(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NOT: inf.qkv
  // CHECK: inf.kv_append
  // CHECK: inf.attention
  inf.block @other_group(%x: tensor<?x16xf32>, %w: !inf.weight<[64, 16]> {inf.slot = "w"}, %o: !inf.weight<[16, 32]> {inf.slot = "o"}) -> tensor<?x16xf32> {
    %t = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[64, 16]>) -> tensor<?x64xf32>
    %q = inf.slice %t from 0 : (tensor<?x64xf32>) -> tensor<?x32xf32>
    %k = inf.slice %t from 32 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %v = inf.slice %t from 48 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %rq = inf.rope %q by @r {heads = 2 : i64, head_dim = 16 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %rk = inf.rope %k by @r {heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.kv_append %rk, %v into @g2 : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %rq over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %y = inf.linear %a, %o : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // Rotated as heads of 8 features, attended as heads of 16.
  // CHECK: inf.block @smaller_heads_rotate(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NOT: inf.qkv
  // CHECK: inf.kv_append
  // CHECK: inf.attention
  inf.block @smaller_heads_rotate(%x: tensor<?x16xf32>, %w: !inf.weight<[64, 16]> {inf.slot = "w"}, %o: !inf.weight<[16, 32]> {inf.slot = "o"}) -> tensor<?x16xf32> {
    %t = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[64, 16]>) -> tensor<?x64xf32>
    %q = inf.slice %t from 0 : (tensor<?x64xf32>) -> tensor<?x32xf32>
    %k = inf.slice %t from 32 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %v = inf.slice %t from 48 : (tensor<?x64xf32>) -> tensor<?x16xf32>
    %rq = inf.rope %q by @r8 {heads = 4 : i64, head_dim = 8 : i64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %rk = inf.rope %k by @r8 {heads = 2 : i64, head_dim = 8 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.kv_append %rk, %v into @g : tensor<?x16xf32>, tensor<?x16xf32>
    %a = inf.attention %rq over @g {heads = 2 : i64, kv_heads = 1 : i64, head_dim = 16 : i64, scale = 0.25 : f64} : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %y = inf.linear %a, %o : (tensor<?x32xf32>, !inf.weight<[16, 32]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  inf.step {
  ^bb0(%t: tensor<?xi32>):
    %e = inf.use @e : <[4, 16]>
    %x = inf.embedding %t, %e : (tensor<?xi32>, !inf.weight<[4, 16]>) -> tensor<?x16xf32>
    %o = inf.output_rows %x : tensor<?x16xf32>
    %l = inf.lm_head %o, %e : (tensor<?x16xf32>, !inf.weight<[4, 16]>) -> tensor<?x4xf32>
    inf.yield %o, %l : tensor<?x16xf32>, tensor<?x4xf32>
  }
}
