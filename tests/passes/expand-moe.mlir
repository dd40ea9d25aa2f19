// RUN: inf-opt %s -inf-expand-moe | FileCheck %s
// A mixture of experts becomes its two stages.

// CHECK: inf.model @m
inf.model @m attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]

  // CHECK: inf.block @expands(%[[X:.*]]: tensor<?x16xf32>
  // CHECK: %[[N:.*]] = inf.rms_norm
  // CHECK: %[[I:[^,]*]], %[[P:[^ ]*]] = inf.router_topk
  // CHECK-NEXT: %[[U:.*]] = inf.expert_up %[[N]], %[[I]], %{{[^ ]*}} bias %{{[^ ]*}} {activation = #inf.activation<swiglu_clamped, limit = 7.000000e+00 : f64, alpha = 1.500000e+00 : f64>} : {{.*}} -> tensor<?x2x8xf32>
  // CHECK-NEXT: %[[Y:[^,]*]], %{{.*}} = inf.expert_down %[[U]], %[[I]], %[[P]], %{{[^ ]*}} bias %{{[^ ]*}} : {{.*}} -> (tensor<?x16xf32>, tensor<?x2x16xf32>)
  // CHECK-NEXT: inf.yield %[[Y]]
  inf.block @expands(%x: tensor<?x16xf32>, %v: !inf.weight<[16]> {inf.slot = "v"}, %r: !inf.weight<[3, 16]> {inf.slot = "r"}, %rb: !inf.weight<[3]> {inf.slot = "rb"}, %u: !inf.weight<[3, 16, 16]> {inf.slot = "u"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}, %ub: !inf.weight<[3, 16, 1]> {inf.slot = "ub"}, %db: !inf.weight<[3, 16, 1]> {inf.slot = "db"}) -> tensor<?x16xf32> {
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %l = inf.linear %n, %r bias %rb : (tensor<?x16xf32>, !inf.weight<[3, 16]>, !inf.weight<[3]>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %y = inf.moe %n, %i, %p gate_up %u bias %ub down %d bias %db {activation = #inf.activation<swiglu_clamped, limit = 7.0 : f64, alpha = 1.5 : f64>} : (tensor<?x16xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 16]>, !inf.weight<[3, 16, 1]>, !inf.weight<[3, 16, 8]>, !inf.weight<[3, 16, 1]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // CHECK: inf.block @without_biases(%[[X:.*]]: tensor<?x16xf32>
  // CHECK: inf.expert_up %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} {
  // CHECK-NEXT: inf.expert_down %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} :
  inf.block @without_biases(%x: tensor<?x16xf32>, %v: !inf.weight<[16]> {inf.slot = "v"}, %r: !inf.weight<[3, 16]> {inf.slot = "r"}, %rb: !inf.weight<[3]> {inf.slot = "rb"}, %u: !inf.weight<[3, 16, 16]> {inf.slot = "u"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %l = inf.linear %n, %r bias %rb : (tensor<?x16xf32>, !inf.weight<[3, 16]>, !inf.weight<[3]>) -> tensor<?x3xf32>
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
