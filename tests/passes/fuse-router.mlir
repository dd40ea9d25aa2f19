// RUN: inf-opt %s -inf-fuse-router | FileCheck %s
// Norm, router product and top k become one stage that also gives the normed rows.

// CHECK: inf.model @m
inf.model @m attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @named : !inf.weight<[3, 16]> from [#inf.part<tensor = "r", stored = f32, rows = 3>]

  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]

  // CHECK: inf.block @fuses(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NEXT: %[[N:[^,]*]], %[[I:[^,]*]], %[[P:[^ ]*]] = inf.router %[[X]], %{{[^ ]*}} bias %{{[^ ]*}} norm %{{[^ ]*}} top 2 {eps = 1.000000e-05 : f64}
  // CHECK-NEXT: inf.moe %[[N]], %[[I]], %[[P]]
  // CHECK-NEXT: inf.yield
  inf.block @fuses(%x: tensor<?x16xf32>, %v: !inf.weight<[16]> {inf.slot = "v"}, %r: !inf.weight<[3, 16]> {inf.slot = "r"}, %rb: !inf.weight<[3]> {inf.slot = "rb"}, %u: !inf.weight<[3, 16, 16]> {inf.slot = "u"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %l = inf.linear %n, %r bias %rb : (tensor<?x16xf32>, !inf.weight<[3, 16]>, !inf.weight<[3]>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %y = inf.moe %n, %i, %p gate_up %u down %d {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 16]>, !inf.weight<[3, 16, 8]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // Whether the chosen share among themselves or with all stays as it is.
  // CHECK: inf.block @over_all(
  // CHECK: inf.router %{{.*}} norm %{{.*}} top 2 {eps = 1.000000e-05 : f64, over_all}
  inf.block @over_all(%x: tensor<?x16xf32>, %v: !inf.weight<[16]> {inf.slot = "v"}, %r: !inf.weight<[3, 16]> {inf.slot = "r"}, %u: !inf.weight<[3, 16, 16]> {inf.slot = "u"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %l = inf.linear %n, %r : (tensor<?x16xf32>, !inf.weight<[3, 16]>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 {over_all} : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %y = inf.moe %n, %i, %p gate_up %u down %d {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 16]>, !inf.weight<[3, 16, 8]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // A stage has no place for the logits.
  // CHECK: inf.block @logits_read_elsewhere(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NOT: inf.router %
  // CHECK: inf.router_topk
  inf.block @logits_read_elsewhere(%x: tensor<?x16xf32>, %v: !inf.weight<[16]> {inf.slot = "v"}, %r: !inf.weight<[3, 16]> {inf.slot = "r"}, %rb: !inf.weight<[3]> {inf.slot = "rb"}, %u: !inf.weight<[3, 16, 16]> {inf.slot = "u"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %l = inf.linear %n, %r bias %rb : (tensor<?x16xf32>, !inf.weight<[3, 16]>, !inf.weight<[3]>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %i2, %p2 = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %y = inf.moe %n, %i, %p gate_up %u down %d {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 16]>, !inf.weight<[3, 16, 8]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // The stage has no scale, addend or residual.
  // CHECK: inf.block @scaled(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NOT: inf.router %
  // CHECK: inf.router_topk
  inf.block @scaled(%x: tensor<?x16xf32>, %v: !inf.weight<[16]> {inf.slot = "v"}, %r: !inf.weight<[3, 16]> {inf.slot = "r"}, %rb: !inf.weight<[3]> {inf.slot = "rb"}, %u: !inf.weight<[3, 16, 16]> {inf.slot = "u"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}, %s: !inf.weight<[3]> {inf.slot = "s"}) -> tensor<?x16xf32> {
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %l = inf.linear %n, %r scale %s : (tensor<?x16xf32>, !inf.weight<[3, 16]>, !inf.weight<[3]>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %y = inf.moe %n, %i, %p gate_up %u down %d {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 16]>, !inf.weight<[3, 16, 8]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // The stage always norms.
  // CHECK: inf.block @no_norm(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NOT: inf.router %
  // CHECK: inf.router_topk
  inf.block @no_norm(%x: tensor<?x16xf32>, %v: !inf.weight<[16]> {inf.slot = "v"}, %r: !inf.weight<[3, 16]> {inf.slot = "r"}, %rb: !inf.weight<[3]> {inf.slot = "rb"}, %u: !inf.weight<[3, 16, 16]> {inf.slot = "u"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %l = inf.linear %x, %r bias %rb : (tensor<?x16xf32>, !inf.weight<[3, 16]>, !inf.weight<[3]>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %y = inf.moe %n, %i, %p gate_up %u down %d {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 16]>, !inf.weight<[3, 16, 8]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // The stage would stand where its weight is not known yet.
  // CHECK: inf.block @weight_named_later(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NOT: inf.router %
  // CHECK: inf.router_topk
  inf.block @weight_named_later(%x: tensor<?x16xf32>, %v: !inf.weight<[16]> {inf.slot = "v"}, %r: !inf.weight<[3, 16]> {inf.slot = "r"}, %rb: !inf.weight<[3]> {inf.slot = "rb"}, %u: !inf.weight<[3, 16, 16]> {inf.slot = "u"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %w = inf.use @named : <[3, 16]>
    %l = inf.linear %n, %w : (tensor<?x16xf32>, !inf.weight<[3, 16]>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %y = inf.moe %n, %i, %p gate_up %u down %d {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 16]>, !inf.weight<[3, 16, 8]>) -> tensor<?x16xf32>
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
