// RUN: tcc-opt %s -split-input-file -verify-diagnostics -tcc-decompose-nodes

// How many rows a prompt begins is part of the program.
// expected-error @+1 {{needs a constant number of beams, of 1 to 64}}
module {
  func.func @open_beams(%ids: tensor<2x3xi32>, %most: tensor<1xi32>, %beams: tensor<1xi32>) -> tensor<?x?x?xi32> {
    %0 = graph.node "com.microsoft" "BeamSearch"(%ids, %most, %most, %beams, %beams) {attrs = {eos_token_id = 1 : i64, pad_token_id = 0 : i64}, version = 1 : i64} : (tensor<2x3xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?x?x?xi32>
    return %0 : tensor<?x?x?xi32>
  }
}

// -----

// expected-error @+1 {{needs a presence mask [B, V]}}
module {
  func.func @flat_presence(%ids: tensor<2x3xi32>, %most: tensor<1xi32>, %presence: tensor<11xi32>) -> tensor<?x?xi32> {
    %none = graph.none : none
    %0 = graph.node "com.microsoft" "Sampling"(%ids, %most, %none, %none, %none, %none, %none, %presence) {attrs = {eos_token_id = 1 : i64, pad_token_id = 0 : i64}, version = 1 : i64} : (tensor<2x3xi32>, tensor<1xi32>, none, none, none, none, none, tensor<11xi32>) -> tensor<?x?xi32>
    return %0 : tensor<?x?xi32>
  }
}

// -----

// expected-error @+1 {{needs an encoder for the model_type 1 or 2, none for 0}}
module {
  func.func @no_encoder(%ids: tensor<2x3xi32>, %most: tensor<1xi32>) -> tensor<?x?xi32> {
    %0 = graph.node "com.microsoft" "GreedySearch"(%ids, %most) {attrs = {decoder_start_token_id = 0 : i64, eos_token_id = 1 : i64, model_type = 1 : i64, pad_token_id = 0 : i64}, version = 1 : i64} : (tensor<2x3xi32>, tensor<1xi32>) -> tensor<?x?xi32>
    return %0 : tensor<?x?xi32>
  }
}
