// RUN: inf-opt %s -inf-fuse-epilogue | FileCheck %s
// Residual additions and gated activations move into the end of the product before them.

// CHECK: inf.model @m
inf.model @m attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]

  // CHECK: inf.block @mlp(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NEXT: %[[G:.*]] = inf.linear %[[X]], %{{[^ ]*}} {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, !inf.weight<[32, 16]>) -> tensor<?x16xf32>
  // CHECK-NEXT: %[[Y:.*]] = inf.linear %[[G]], %{{[^ ]*}} residual %[[X]]
  // CHECK-NEXT: inf.yield %[[Y]]
  inf.block @mlp(%x: tensor<?x16xf32>, %w: !inf.weight<[32, 16]> {inf.slot = "w"}, %d: !inf.weight<[16, 16]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %h = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[32, 16]>) -> tensor<?x32xf32>
    %g = inf.swiglu %h {activation = #inf.activation<swiglu>} : (tensor<?x32xf32>) -> tensor<?x16xf32>
    %y = inf.linear %g, %d : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %s = inf.add %x, %y : tensor<?x16xf32>
    inf.yield %s : tensor<?x16xf32>
  }

  // CHECK: inf.block @product_on_the_left(%[[X:.*]]: tensor<?x16xf32>
  // CHECK: inf.linear %{{[^ ]*}}, %{{[^ ]*}} residual %[[X]]
  // CHECK-NEXT: inf.yield
  inf.block @product_on_the_left(%x: tensor<?x16xf32>, %w: !inf.weight<[32, 16]> {inf.slot = "w"}, %d: !inf.weight<[16, 16]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %h = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[32, 16]>) -> tensor<?x32xf32>
    %g = inf.swiglu %h {activation = #inf.activation<swiglu>} : (tensor<?x32xf32>) -> tensor<?x16xf32>
    %y = inf.linear %g, %d : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %s = inf.add %y, %x : tensor<?x16xf32>
    inf.yield %s : tensor<?x16xf32>
  }

  // CHECK: inf.block @experts(%[[X:.*]]: tensor<?x16xf32>
  // CHECK: %[[Y:[^,]*]], %{{.*}} = inf.expert_down %{{.*}} residual %[[X]]
  // CHECK-NEXT: inf.yield %[[Y]]
  inf.block @experts(%x: tensor<?x16xf32>, %v: !inf.weight<[16]> {inf.slot = "v"}, %r: !inf.weight<[3, 16]> {inf.slot = "r"}, %rb: !inf.weight<[3]> {inf.slot = "rb"}, %u: !inf.weight<[3, 16, 16]> {inf.slot = "u"}, %d: !inf.weight<[3, 16, 8]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %l = inf.linear %n, %r bias %rb : (tensor<?x16xf32>, !inf.weight<[3, 16]>, !inf.weight<[3]>) -> tensor<?x3xf32>
    %i, %p = inf.router_topk %l top 2 : (tensor<?x3xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %up = inf.expert_up %n, %i, %u {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, tensor<?x2xi32>, !inf.weight<[3, 16, 16]>) -> tensor<?x2x8xf32>
    %y, %z = inf.expert_down %up, %i, %p, %d : (tensor<?x2x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !inf.weight<[3, 16, 8]>) -> (tensor<?x16xf32>, tensor<?x2x16xf32>)
    %s = inf.add %x, %y : tensor<?x16xf32>
    inf.yield %s : tensor<?x16xf32>
  }

  // The bare product is needed too.
  // CHECK: inf.block @product_read_twice(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-COUNT-2: inf.add
  inf.block @product_read_twice(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}, %d: !inf.weight<[16, 16]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %g = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %y = inf.linear %g, %d : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %s = inf.add %x, %y : tensor<?x16xf32>
    %r = inf.add %s, %y : tensor<?x16xf32>
    inf.yield %r : tensor<?x16xf32>
  }

  // The product would read what does not exist yet.
  // CHECK: inf.block @residual_defined_later(%[[X:.*]]: tensor<?x16xf32>
  // CHECK: inf.linear
  // CHECK: inf.linear
  // CHECK-NEXT: inf.rms_norm
  // CHECK-NEXT: inf.add
  inf.block @residual_defined_later(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}, %v: !inf.weight<[16]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    %g = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %y = inf.linear %g, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %s = inf.add %n, %y : tensor<?x16xf32>
    inf.yield %s : tensor<?x16xf32>
  }

  // Updated in place, rows would change while other threads still multiply them.
  // CHECK: inf.block @residual_is_multiplied(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NEXT: inf.linear %[[X]], %{{[^ ]*}} :
  // CHECK-NEXT: inf.add
  inf.block @residual_is_multiplied(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %y = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %s = inf.add %x, %y : tensor<?x16xf32>
    inf.yield %s : tensor<?x16xf32>
  }

  // There is one residual.
  // CHECK: inf.block @second_residual(%[[X:.*]]: tensor<?x16xf32>
  // CHECK: residual
  // CHECK-NEXT: inf.add
  inf.block @second_residual(%x: tensor<?x16xf32>, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %g = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %h = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %y = inf.linear %g, %w residual %h : (tensor<?x16xf32>, !inf.weight<[16, 16]>, tensor<?x16xf32>) -> tensor<?x16xf32>
    %s = inf.add %x, %y : tensor<?x16xf32>
    inf.yield %s : tensor<?x16xf32>
  }

  // There is one activation.
  // CHECK: inf.block @two_activations(%[[X:.*]]: tensor<?x16xf32>
  // CHECK: inf.linear
  // CHECK-NEXT: inf.swiglu
  inf.block @two_activations(%x: tensor<?x16xf32>, %w: !inf.weight<[32, 16]> {inf.slot = "w"}, %d: !inf.weight<[64, 16]> {inf.slot = "d"}) -> tensor<?x16xf32> {
    %h = inf.linear %x, %d {activation = #inf.activation<swiglu>} : (tensor<?x16xf32>, !inf.weight<[64, 16]>) -> tensor<?x32xf32>
    %g = inf.swiglu %h {activation = #inf.activation<swiglu>} : (tensor<?x32xf32>) -> tensor<?x16xf32>
    inf.yield %g : tensor<?x16xf32>
  }

  // The activation would act before the residual is added.
  // CHECK: inf.block @activation_of_residual(%[[X:.*]]: tensor<?x16xf32>
  // CHECK: residual
  // CHECK-NEXT: inf.swiglu
  inf.block @activation_of_residual(%x: tensor<?x16xf32>, %w: !inf.weight<[32, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %r = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[32, 16]>) -> tensor<?x32xf32>
    %h = inf.linear %x, %w residual %r : (tensor<?x16xf32>, !inf.weight<[32, 16]>, tensor<?x32xf32>) -> tensor<?x32xf32>
    %g = inf.swiglu %h {activation = #inf.activation<swiglu>} : (tensor<?x32xf32>) -> tensor<?x16xf32>
    inf.yield %g : tensor<?x16xf32>
  }

  // The gate and up features are needed too.
  // CHECK: inf.block @activation_of_shared_product(%[[X:.*]]: tensor<?x16xf32>
  // CHECK: inf.linear
  // CHECK-NEXT: inf.swiglu
  inf.block @activation_of_shared_product(%x: tensor<?x16xf32>, %w: !inf.weight<[32, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %h = inf.linear %x, %w : (tensor<?x16xf32>, !inf.weight<[32, 16]>) -> tensor<?x32xf32>
    %g = inf.swiglu %h {activation = #inf.activation<swiglu>} : (tensor<?x32xf32>) -> tensor<?x16xf32>
    %q = inf.slice %h from 0 : (tensor<?x32xf32>) -> tensor<?x16xf32>
    %s = inf.add %g, %q : tensor<?x16xf32>
    inf.yield %s : tensor<?x16xf32>
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
