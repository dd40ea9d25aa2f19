// RUN: inf-opt %s -inf-fuse-norm | FileCheck %s
// A norm whose only reader is a product becomes that product's prologue.

// CHECK: inf.model @m
inf.model @m attributes {architecture = "a", vocabulary = 4 : i64, hidden = 16 : i64, max_context = 8 : i64, eos_tokens = array<i64>} {
  inf.weight @e : !inf.weight<[4, 16]> from [#inf.part<tensor = "e", stored = f32, rows = 4>]

  // CHECK: inf.block @fuses(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NEXT: inf.linear %[[X]], %{{[^ ]*}} norm %{{[^ ]*}} {eps = 1.000000e-05 : f64}
  // CHECK-NEXT: inf.yield
  inf.block @fuses(%x: tensor<?x16xf32>, %v: !inf.weight<[16]> {inf.slot = "v"}, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %y = inf.linear %n, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // The normed rows are needed twice: norming them twice would cost more than a buffer.
  // CHECK: inf.block @two_readers(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NEXT: inf.rms_norm
  // CHECK-COUNT-2: inf.linear %{{[^ ]*}}, %{{[^ ]*}} :
  inf.block @two_readers(%x: tensor<?x16xf32>, %v: !inf.weight<[16]> {inf.slot = "v"}, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %y = inf.linear %n, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %z = inf.linear %n, %w : (tensor<?x16xf32>, !inf.weight<[16, 16]>) -> tensor<?x16xf32>
    %s = inf.add %y, %z : tensor<?x16xf32>
    inf.yield %s : tensor<?x16xf32>
  }

  // The norm must be what the product multiplies.
  // CHECK: inf.block @read_as_residual(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NEXT: inf.rms_norm
  // CHECK-NEXT: inf.linear %[[X]]
  inf.block @read_as_residual(%x: tensor<?x16xf32>, %v: !inf.weight<[16]> {inf.slot = "v"}, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %y = inf.linear %x, %w residual %n : (tensor<?x16xf32>, !inf.weight<[16, 16]>, tensor<?x16xf32>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // There is one prologue.
  // CHECK: inf.block @norm_of_norm(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NEXT: inf.rms_norm
  // CHECK-NEXT: inf.linear %{{[^ ]*}}, %{{[^ ]*}} norm %{{[^ ]*}} {eps = 9.9999999999999995E-7 : f64}
  inf.block @norm_of_norm(%x: tensor<?x16xf32>, %v: !inf.weight<[16]> {inf.slot = "v"}, %w: !inf.weight<[16, 16]> {inf.slot = "w"}) -> tensor<?x16xf32> {
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    %y = inf.linear %n, %w norm %v {eps = 1.0e-6 : f64} : (tensor<?x16xf32>, !inf.weight<[16, 16]>, !inf.weight<[16]>) -> tensor<?x16xf32>
    inf.yield %y : tensor<?x16xf32>
  }

  // CHECK: inf.block @reader_is_no_product(%[[X:.*]]: tensor<?x16xf32>
  // CHECK-NEXT: inf.rms_norm
  inf.block @reader_is_no_product(%x: tensor<?x16xf32>, %v: !inf.weight<[16]> {inf.slot = "v"}) -> tensor<?x16xf32> {
    %n = inf.rms_norm %x, %v {eps = 1.0e-5 : f64} : (tensor<?x16xf32>, !inf.weight<[16]>) -> tensor<?x16xf32>
    inf.yield %n : tensor<?x16xf32>
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
