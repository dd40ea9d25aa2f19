// RUN: inf-opt %s -split-input-file -verify-diagnostics
// The fused forms, alone in a block: no layer calls it.

inf.model @qkv_weight attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[32, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.qkv' op (C1) expected weight of shape [48, 16], found [32, 16]}}
    %q = inf.qkv %x, %w by @r into @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>, !inf.weight<[32, 16]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @qkv_bias attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[48, 16]> {inf.slot = "w"}, %b: !inf.weight<[16]> {inf.slot = "b"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.qkv' op (C2) expected bias of shape [48], found [16]}}
    %q = inf.qkv %x, %w bias %b by @r into @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>, !inf.weight<[48, 16]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @qkv_norm attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[48, 16]> {inf.slot = "w"}, %n: !inf.weight<[48]> {inf.slot = "n"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.qkv' op (C3) expected norm of shape [16], found [48]}}
    %q = inf.qkv %x, %w norm %n by @r into @g {eps = 1.0e-5 : f64, heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>, !inf.weight<[48, 16]>, !inf.weight<[48]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @qkv_norm_without_eps attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[48, 16]> {inf.slot = "w"}, %n: !inf.weight<[16]> {inf.slot = "n"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.qkv' op (C3) expected norm and eps together}}
    %q = inf.qkv %x, %w norm %n by @r into @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>, !inf.weight<[48, 16]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @qkv_q_norm_alone attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[48, 16]> {inf.slot = "w"}, %qn: !inf.weight<[16]> {inf.slot = "qn"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.qkv' op (C6) expected q_norm, k_norm and head_eps together}}
    %q = inf.qkv %x, %w q_norm %qn by @r into @g {head_eps = 1.0e-6 : f64, heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>, !inf.weight<[48, 16]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @qkv_head_norms_without_eps attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[48, 16]> {inf.slot = "w"}, %qn: !inf.weight<[16]> {inf.slot = "qn"}, %kn: !inf.weight<[16]> {inf.slot = "kn"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.qkv' op (C6) expected q_norm, k_norm and head_eps together}}
    %q = inf.qkv %x, %w q_norm %qn k_norm %kn by @r into @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>, !inf.weight<[48, 16]>, !inf.weight<[16]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @qkv_head_eps attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[48, 16]> {inf.slot = "w"}, %qn: !inf.weight<[16]> {inf.slot = "qn"}, %kn: !inf.weight<[16]> {inf.slot = "kn"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.qkv' op (C6) expected head_eps > 0, found 0.000000e+00}}
    %q = inf.qkv %x, %w q_norm %qn k_norm %kn by @r into @g {head_eps = 0.0 : f64, heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>, !inf.weight<[48, 16]>, !inf.weight<[16]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @qkv_q_norm attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[48, 16]> {inf.slot = "w"}, %qn: !inf.weight<[8]> {inf.slot = "qn"}, %kn: !inf.weight<[16]> {inf.slot = "kn"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.qkv' op (C6) expected q_norm of shape [16], found [8]}}
    %q = inf.qkv %x, %w q_norm %qn k_norm %kn by @r into @g {head_eps = 1.0e-6 : f64, heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>, !inf.weight<[48, 16]>, !inf.weight<[8]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @qkv_k_norm attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[48, 16]> {inf.slot = "w"}, %qn: !inf.weight<[16]> {inf.slot = "qn"}, %kn: !inf.weight<[8]> {inf.slot = "kn"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.qkv' op (C6) expected k_norm of shape [16], found [8]}}
    %q = inf.qkv %x, %w q_norm %qn k_norm %kn by @r into @g {head_eps = 1.0e-6 : f64, heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>, !inf.weight<[48, 16]>, !inf.weight<[16]>, !inf.weight<[8]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @qkv_result attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[48, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.qkv' op (C4) expected a result with 1 heads of 16 features, found 32}}
    %q = inf.qkv %x, %w by @r into @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>, !inf.weight<[48, 16]>) -> tensor<?x32xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @qkv_table attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[48, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.qkv' op (C5) expected @r to be an inf.rope_table of this model}}
    %q = inf.qkv %x, %w by @r into @g {heads = 1 : i64, kv_heads = 1 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>, !inf.weight<[48, 16]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @qkv_head_dim attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[48, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.qkv' op (C5) expected a rope_table with head_dim 8, found 16}}
    %q = inf.qkv %x, %w by @r into @g {heads = 2 : i64, kv_heads = 2 : i64, head_dim = 8 : i64} : (tensor<?x16xf32>, !inf.weight<[48, 16]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @qkv_kv_heads attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.rope_table @r {type = "default", head_dim = 16 : i64, theta = 1.0e4 : f64}
  inf.kv_group @g {layers = array<i64: 0>, kv_heads = 1 : i64, head_dim = 16 : i64, window = 0 : i64, element = "f32", block_tokens = 16 : i64}
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[80, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.qkv' op (C5) expected a kv_group with kv_heads 2 and head_dim 16, found 1 and 16}}
    %q = inf.qkv %x, %w by @r into @g {heads = 1 : i64, kv_heads = 2 : i64, head_dim = 16 : i64} : (tensor<?x16xf32>, !inf.weight<[80, 16]>) -> tensor<?x16xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @router_weight attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[3, 8]> {inf.slot = "w"}, %v: !inf.weight<[16]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.router' op (C1) expected weight of shape [3, 16], found [3, 8]}}
    %n, %i, %p = inf.router %x, %w norm %v top 2 {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[3, 8]>, !inf.weight<[16]>) -> (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @router_bias attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[3, 16]> {inf.slot = "w"}, %v: !inf.weight<[16]> {inf.slot = "v"}, %b: !inf.weight<[16]> {inf.slot = "b"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.router' op (C2) expected bias of shape [3], found [16]}}
    %n, %i, %p = inf.router %x, %w bias %b norm %v top 2 {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[3, 16]>, !inf.weight<[16]>, !inf.weight<[16]>) -> (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @router_norm attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[3, 16]> {inf.slot = "w"}, %v: !inf.weight<[3]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.router' op (C2) expected norm of shape [16], found [3]}}
    %n, %i, %p = inf.router %x, %w norm %v top 2 {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[3, 16]>, !inf.weight<[3]>) -> (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @router_eps attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[3, 16]> {inf.slot = "w"}, %v: !inf.weight<[16]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.router' op (C2) expected eps > 0, found -1.000000e+00}}
    %n, %i, %p = inf.router %x, %w norm %v top 2 {eps = -1.0 : f64} : (tensor<?x16xf32>, !inf.weight<[3, 16]>, !inf.weight<[16]>) -> (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @router_k attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[3, 16]> {inf.slot = "w"}, %v: !inf.weight<[16]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.router' op (C3) expected 1 <= k <= 3, found 4}}
    %n, %i, %p = inf.router %x, %w norm %v top 4 {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[3, 16]>, !inf.weight<[16]>) -> (tensor<?x16xf32>, tensor<?x4xi32>, tensor<?x4xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @router_normed attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[3, 16]> {inf.slot = "w"}, %v: !inf.weight<[16]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.router' op (C3) expected normed of type 'tensor<?x16xf32>', found 'tensor<?x8xf32>'}}
    %n, %i, %p = inf.router %x, %w norm %v top 2 {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[3, 16]>, !inf.weight<[16]>) -> (tensor<?x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @router_experts attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[3, 16]> {inf.slot = "w"}, %v: !inf.weight<[16]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.router' op (C3) expected experts of type 'tensor<?x2xi32>', found 'tensor<?x1xi32>'}}
    %n, %i, %p = inf.router %x, %w norm %v top 2 {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[3, 16]>, !inf.weight<[16]>) -> (tensor<?x16xf32>, tensor<?x1xi32>, tensor<?x2xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @router_weights attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %w: !inf.weight<[3, 16]> {inf.slot = "w"}, %v: !inf.weight<[16]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    // expected-error@+1 {{'inf.router' op (C3) expected weights of type 'tensor<?x2xf32>', found 'tensor<?x1xf32>'}}
    %n, %i, %p = inf.router %x, %w norm %v top 2 {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[3, 16]>, !inf.weight<[16]>) -> (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x1xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @up_weight attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %g: !inf.weight<[3, 8, 16]> {inf.slot = "g"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    // expected-error@+1 {{'inf.expert_up' op (C1) expected weight of shape [3, 16, 16], found [3, 8, 16]}}
    %u = inf.expert_up %x, %i, %g {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, !inf.weight<[3, 8, 16]>) -> tensor<?x2x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @up_bias attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %g: !inf.weight<[3, 16, 16]> {inf.slot = "g"}, %b: !inf.weight<[3, 16]> {inf.slot = "b"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    // expected-error@+1 {{'inf.expert_up' op (C1) expected bias of shape [3, 16, 1], found [3, 16]}}
    %u = inf.expert_up %x, %i, %g bias %b {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, !inf.weight<[3, 16, 16]>, !inf.weight<[3, 16]>) -> tensor<?x2x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @up_result attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %g: !inf.weight<[3, 16, 16]> {inf.slot = "g"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    // expected-error@+1 {{'inf.expert_up' op (C2) expected a result of type 'tensor<?x2x8xf32>', found 'tensor<?x3x8xf32>'}}
    %u = inf.expert_up %x, %i, %g {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, !inf.weight<[3, 16, 16]>) -> tensor<?x3x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @up_of_more_experts attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %g: !inf.weight<[4, 16, 16]> {inf.slot = "g"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    // expected-error@+1 {{'inf.expert_up' op (C3) expected experts of a router over 4, found 3}}
    %u = inf.expert_up %x, %i, %g {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, !inf.weight<[4, 16, 16]>) -> tensor<?x2x8xf32>
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @down_weight attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %g: !inf.weight<[3, 16, 16]> {inf.slot = "g"}, %d: !inf.weight<[3, 16, 4]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %u = inf.expert_up %x, %i, %g {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, !inf.weight<[3, 16, 16]>) -> tensor<?x2x8xf32>
    // expected-error@+1 {{'inf.expert_down' op (C1) expected weight of shape [3, 16, 8], found [3, 16, 4]}}
    %y, %z = inf.expert_down %u, %i, %p, %d : (tensor<?x2x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 4]>) -> (tensor<?x16xf32>, tensor<?x2x16xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @down_partials attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %g: !inf.weight<[3, 16, 16]> {inf.slot = "g"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %u = inf.expert_up %x, %i, %g {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, !inf.weight<[3, 16, 16]>) -> tensor<?x2x8xf32>
    // expected-error@+1 {{'inf.expert_down' op (C1) expected partials of type 'tensor<?x2x16xf32>', found 'tensor<?x2x8xf32>'}}
    %y, %z = inf.expert_down %u, %i, %p, %d : (tensor<?x2x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 8]>) -> (tensor<?x16xf32>, tensor<?x2x8xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @down_bias attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %g: !inf.weight<[3, 16, 16]> {inf.slot = "g"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}, %b: !inf.weight<[3, 8, 1]> {inf.slot = "b"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %u = inf.expert_up %x, %i, %g {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, !inf.weight<[3, 16, 16]>) -> tensor<?x2x8xf32>
    // expected-error@+1 {{'inf.expert_down' op (C2) expected bias of shape [3, 16, 1], found [3, 8, 1]}}
    %y, %z = inf.expert_down %u, %i, %p, %d bias %b : (tensor<?x2x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 8]>, !inf.weight<[3, 8, 1]>) -> (tensor<?x16xf32>, tensor<?x2x16xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @down_residual attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %g: !inf.weight<[3, 16, 16]> {inf.slot = "g"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %u = inf.expert_up %x, %i, %g {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, !inf.weight<[3, 16, 16]>) -> tensor<?x2x8xf32>
    // expected-error@+1 {{'inf.expert_down' op (C3) expected residual of type 'tensor<?x16xf32>', found 'tensor<?x3xf32>'}}
    %y, %z = inf.expert_down %u, %i, %p, %d residual %l : (tensor<?x2x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 8]>, tensor<?x3xf32>) -> (tensor<?x16xf32>, tensor<?x2x16xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @down_weights attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %g: !inf.weight<[3, 16, 16]> {inf.slot = "g"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %u = inf.expert_up %x, %i, %g {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, !inf.weight<[3, 16, 16]>) -> tensor<?x2x8xf32>
    // expected-error@+1 {{'inf.expert_down' op (C4) expected weights with 2 features, found 3}}
    %y, %z = inf.expert_down %u, %i, %l, %d : (tensor<?x2x8xf32>, tensor<?x2xi32>, tensor<?x3xf32>, !inf.weight<[3, 16, 8]>) -> (tensor<?x16xf32>, tensor<?x2x16xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}

// -----

inf.model @down_of_fewer_experts attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.block @b(%x: tensor<?x16xf32>, %g: !inf.weight<[3, 16, 16]> {inf.slot = "g"}, %d: !inf.weight<[2, 16, 8]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %l = inf.slice %x from 0 : (tensor<?x16xf32>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %u = inf.expert_up %x, %i, %g {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, !inf.weight<[3, 16, 16]>) -> tensor<?x2x8xf32>
    // expected-error@+1 {{'inf.expert_down' op (C4) expected experts of a router over 2, found 3}}
    %y, %z = inf.expert_down %u, %i, %p, %d : (tensor<?x2x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[2, 16, 8]>) -> (tensor<?x16xf32>, tensor<?x2x16xf32>)
    inf.yield %x : tensor<?x16xf32>
  }
}
