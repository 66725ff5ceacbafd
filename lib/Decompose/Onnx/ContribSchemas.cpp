//===- ContribSchemas.cpp - What operators without a schema take --------------===//
//
// ONNX has schemas of its own operators, which the importer holds every node
// against; those of ONNX Runtime are not among them. A rule looks at what it
// knows, and what it does not would change nothing without a word. So this table
// has, for every such operator with a rule, all that ONNX Runtime 1.31 has, and
// what of it the rule does not do. It is checked here, before the rule runs:
//
//   inputs, outputs   "name", "name?" may be absent, "-name?" must be absent,
//                     "name*" any number
//   attributes        "name:type", "name:type!" must be there, "name:type=0" may
//                     have only this value, which is the default; a "flag" is 0 or 1
//
//===----------------------------------------------------------------------===//
#include "Decompose/Onnx/ContribSchemas.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tcc;

namespace {

struct ContribSchema {
  StringRef op, inputs, outputs, attributes;
};

/// One word of the table.
struct Formal {
  StringRef name;
  bool optional = false, refused = false, variadic = false;
};

} // namespace

static constexpr ContribSchema kContrib[] = {
    {"Attention", "input weights bias? mask_index? past? attention_bias? past_sequence_length?",
     "output present?",
     "num_heads:int! unidirectional:flag mask_filter_value:float scale:float qkv_hidden_sizes:ints "
     "do_rotary:int=0 rotary_embedding_dim:int past_present_share_buffer:flag"},
    {"BeamSearch",
     "input_ids max_length min_length? num_beams num_return_sequences length_penalty? "
     "repetition_penalty? vocab_mask? prefix_vocab_mask? attention_mask? decoder_input_ids? "
     "logits_processor?",
     "sequences sequences_scores? scores?",
     "eos_token_id:int! pad_token_id:int! decoder_start_token_id:int no_repeat_ngram_size:int "
     "early_stopping:int model_type:int vocab_size:int"},
    {"BiasAdd", "X bias skip", "Y", ""},
    {"BiasDropout", "data bias residual? ratio? training_mode?", "output mask?", "seed:int"},
    {"BiasGelu", "A B", "C", ""},
    {"BiasSoftmax", "data bias", "output", "axis:int is_inner_broadcast:int!"},
    {"BiasSplitGelu", "X bias", "Y", ""},
    {"BranchwiseRMSNorm", "X scale?", "Y", "num_branches:int epsilon:float"},
    {"CDist", "A B", "C", "metric:string"},
    // Without a state_window, or with one, the state has another rank.
    {"CausalConvWithState", "input weight bias? past_state?", "output present_state?",
     "activation:string ndim:int dilation:int channels_last:flag state_window:int"},
    {"ComplexMul", "A B", "C", ""},
    {"ComplexMulConj", "A B", "C", ""},
    {"ConvTransposeWithDynamicPads", "X W Pads? B?", "Y",
     "kernel_shape:ints output_padding:ints dilations:ints strides:ints auto_pad:string group:int"},
    {"CropAndResize", "X rois batch_indices crop_size", "Y",
     "mode:string extrapolation_value:float"},
    {"DecoderMaskedMultiHeadAttention",
     "query key? value? mask_index? attention_bias? past_key? past_value? past_sequence_length? "
     "beam_width? cache_indirection? bias?",
     "output present_key? present_value? -qk?",
     "num_heads:int! mask_filter_value:float scale:float output_qk:int=0 "
     "past_present_share_buffer:flag"},
    {"DecoderMaskedSelfAttention",
     "input weights bias mask_index? past attention_bias? past_sequence_length beam_width? "
     "cache_indirection?",
     "output present",
     "num_heads:int! mask_filter_value:float scale:float do_rotary:int=0 "
     "past_present_share_buffer:flag"},
    {"DequantizeLinear", "x x_scale x_zero_point?", "y", "axis:int"},
    {"DynamicQuantizeLSTM",
     "X W R B? sequence_lens? initial_h? initial_c? P? W_scale W_zero_point R_scale R_zero_point",
     "Y? Y_h? Y_c?",
     "hidden_size:int direction:string activations:strings activation_alpha:floats "
     "activation_beta:floats clip:float input_forget:int"},
    {"DynamicQuantizeMatMul", "A B b_scale b_zero_point? bias?", "Y", ""},
    {"DynamicTimeWarping", "input", "output", ""},
    {"EmbedLayerNormalization",
     "input_ids segment_ids? word_embedding position_embedding segment_embedding? gamma beta mask? "
     "position_ids?",
     "output mask_index? embedding_sum?", "epsilon:float mask_index_type:int=0"},
    {"EngramGate", "key query value key_norm_scale query_norm_scale conv_norm_scale?",
     "output gated_value_normed?", "epsilon:float"},
    {"ExpandDims", "X axis", "Y", ""},
    {"FastGelu", "X bias?", "Y", ""},
    {"FusedConv", "X W B? Z?", "Y",
     "auto_pad:string kernel_shape:ints pads:ints strides:ints dilations:ints group:int "
     "activation:string activation_params:floats"},
    {"FusedGemm", "A B C?", "Y",
     "transA:flag transB:flag alpha:float beta:float activation:string activation_alpha:float "
     "activation_beta:float activation_gamma:float"},
    {"FusedMatMul", "A B", "Y",
     "transA:flag transB:flag transBatchA:flag transBatchB:flag alpha:float"},
    {"GatherND", "data indices", "output", ""},
    {"GatherBlockQuantized", "data indices scales zero_points?", "output",
     "gather_axis:int quantize_axis:int block_size:int bits:int"},
    {"FusedMatMulActivation", "A B", "Y",
     "transA:flag transB:flag transBatchA:flag transBatchB:flag alpha:float activation:string! "
     "activation_alpha:float activation_beta:float activation_gamma:float activation_axis:int"},
    {"GatedAdd", "X Y gate", "output", ""},
    {"GatedRMSNorm", "X scale gate", "Y", "activation:string epsilon:float"},
    {"GatedRelativePositionBias", "query_layer query_bias rel_pos weight bias eco_a token_offset?",
     "output", "num_heads:int!"},
    {"Gelu", "X", "Y", ""},
    {"GemmaRotaryEmbedding", "emb q q_rot k k_rot", "output1 output2", ""},
    {"GemmFastGelu", "X W bias?", "Y", ""},
    {"GreedySearch",
     "input_ids max_length min_length? repetition_penalty? vocab_mask? prefix_vocab_mask? "
     "attention_mask?",
     "sequences",
     "eos_token_id:int! pad_token_id:int! decoder_start_token_id:int no_repeat_ngram_size:int "
     "model_type:int vocab_size:int"},
    {"GridSample", "X Grid", "Y", "mode:string padding_mode:string align_corners:int"},
    {"GroupNorm", "X gamma beta", "Y",
     "activation:int! groups:int! channels_last:flag epsilon:float"},
    {"GroupQueryAttention",
     "query key? value? past_key? past_value? seqlens_k total_sequence_length cos_cache? "
     "sin_cache? "
     "position_ids? attention_bias? head_sink? -k_scale? -v_scale? q_norm_weight? k_norm_weight?",
     "output present_key? present_value? -output_qk?",
     "num_heads:int! kv_num_heads:int! do_rotary:int rotary_interleaved:flag causal:int "
     "local_window_size:int scale:float softcap:float smooth_softmax:int qk_output:int=0 "
     "qk_norm_epsilon:float sliding_window_cache:int=0 kv_cache_bit_width:int k_quant_type:string "
     "v_quant_type:string"},
    {"HyperConnectionPostMix", "streams block_output post_mix stream_mix?", "output",
     "num_branches:int"},
    {"HyperConnectionPreMix", "streams pre_mix", "output",
     "num_branches:int reduction_scale:float"},
    {"Inverse", "X", "Y", ""},
    {"Irfft", "X", "Y", "onesided:int=1 normalized:int=0 signal_ndim:int!"},
    {"IsAllFinite", "input*", "output", "isnan_only:flag isinf_only:flag"},
    // chunk_size says how ONNX Runtime walks over the tokens, not what comes out.
    {"LinearAttention", "query key value past_state? decay? beta?", "output present_state?",
     "q_num_heads:int! kv_num_heads:int! update_rule:string scale:float chunk_size:int "
     "state_window:int"},
    {"LinearAttentionGate", "a dt_bias decay_scale b?", "decay beta?", ""},
    {"MRotaryEmbedding", "input position_ids cos_cache sin_cache", "output",
     "mrope_section:ints! mrope_layout:int interleaved:flag num_heads:int rotary_embedding_dim:int "
     "scale:float is_packed_batching:flag"},
    {"MatMulBnb4", "A B absmax", "Y",
     "K:int! N:int! block_size:int! quant_type:int! transB:int=1 training_mode:int"},
    {"MatMulInteger16", "A B", "Y", ""},
    {"MatMulIntegerToFloat", "A B a_scale b_scale a_zero_point? b_zero_point? bias?", "Y", ""},
    {"MatMulNBits", "A B scales zero_points? g_idx? bias?", "Y",
     // accuracy_level allows less exact products than these.
     "K:int! N:int! block_size:int! bits:int accuracy_level:int weight_prepacked:int=0"},
    {"MaxpoolWithMask", "X M", "Y",
     "auto_pad:string kernel_shape:ints pads:ints storage_order:int strides:ints"},
    {"MoE", "input router_probs fc1 fc1_bias? fc2 fc2_bias? fc3? fc3_bias?", "output",
     "k:int activation_type:string normalize_routing_weights:flag use_sparse_mixer:int=0 "
     "activation_alpha:float activation_beta:float swiglu_limit:float swiglu_fusion:int"},
    {"MulInteger", "A A_zero_point? B B_zero_point?", "C", ""},
    {"MurmurHash3", "X", "Y", "seed:int positive:flag"},
    {"MultiHeadAttention",
     "query key? value? bias? key_padding_mask? attention_bias? past_key? past_value? "
     "past_sequence_length? cache_indirection?",
     "output present_key? present_value? qk?",
     "num_heads:int! unidirectional:flag mask_filter_value:float scale:float"},
    {"NGramHashMapping",
     "input_ids multipliers vocab_sizes past_ids? head_offsets? eos_token_id? segment_ids?",
     "hash_ids present_ids?",
     "max_ngram_size:int! n_head_per_ngram:int! pad_id:int! reset_on_eos:int"},
    {"NGramRepeatBlock", "input_ids scores", "scores_out", "ngram_size:int!"},
    {"NhwcConv", "X W B?", "Y",
     "auto_pad:string kernel_shape:ints pads:ints strides:ints dilations:ints group:int"},
    {"NhwcFusedConv", "X W B? Z?", "Y",
     "auto_pad:string kernel_shape:ints pads:ints strides:ints dilations:ints group:int "
     "activation:string activation_params:floats"},
    {"NhwcMaxPool", "x", "y",
     "auto_pad:string kernel_shape:ints! pads:ints strides:ints dilations:ints ceil_mode:int"},
    {"Pad", "data pads value?", "output", "mode:string"},
    {"PackedAttention",
     "input weights bias token_offset cumulative_sequence_length attention_bias?", "output",
     "num_heads:int! qkv_hidden_sizes:ints scale:float mask_filter_value:float"},
    {"PackedMultiHeadAttention",
     "query key? value? bias? token_offset cumulative_sequence_length attention_bias?", "output",
     "num_heads:int! scale:float mask_filter_value:float"},
    {"QAttention",
     "input weight bias input_scale weight_scale mask_index? input_zero_point? weight_zero_point? "
     "past?",
     "output present?",
     "num_heads:int! unidirectional:flag mask_filter_value:float scale:float do_rotary:int=0 "
     "past_present_share_buffer:int=0"},
    {"QEmbedLayerNormalization",
     "input_ids segment_ids? word_embedding position_embedding segment_embedding? gamma beta mask? "
     "word_scale position_scale segment_scale? gamma_scale beta_scale word_zero_point "
     "position_zero_point segment_zero_point? gamma_zero_point beta_zero_point",
     "layernorm_out mask_index_out", "epsilon:float"},
    {"QGemm", "A a_scale a_zero_point B b_scale b_zero_point C? y_scale? y_zero_point?", "Y",
     "transA:flag transB:flag alpha:float"},
    {"QLinearAdd", "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point?", "C",
     ""},
    {"QLinearAveragePool", "X x_scale x_zero_point? y_scale y_zero_point?", "Y",
     "auto_pad:string kernel_shape:ints! pads:ints strides:ints ceil_mode:int=0 "
     "channels_last:flag count_include_pad:flag"},
    {"QLinearConcat", "Y_scale Y_zero_point inputs*", "Y", "axis:int!"},
    {"QLinearConv", "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point B?", "y",
     "auto_pad:string kernel_shape:ints pads:ints strides:ints dilations:ints group:int "
     "channels_last:flag"},
    {"QLinearGlobalAveragePool", "X x_scale x_zero_point y_scale y_zero_point", "Y",
     "channels_last:flag"},
    {"QLinearLeakyRelu", "X X_scale X_zero_point? Y_scale Y_zero_point?", "Y", "alpha:float"},
    {"QLinearMul", "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point?", "C",
     ""},
    {"QLinearReduceMean", "data data_scale data_zero_point? reduced_scale reduced_zero_point?",
     "reduced", "axes:ints! keepdims:flag!"},
    {"QLinearSigmoid", "X X_scale X_zero_point? Y_scale Y_zero_point?", "Y", ""},
    {"QLinearSoftmax", "X X_scale x_zero_point? y_scale y_zero_point", "Y", "axis:int opset:int!"},
    {"QLinearWhere", "condition X x_scale x_zero_point Y y_scale y_zero_point z_scale z_zero_point",
     "Z", ""},
    // accuracy_level allows less exact products than these.
    {"QMoE",
     "input router_probs fc1 fc1_scales? fc1_bias? fc2 fc2_scales? fc2_bias? fc3? fc3_scales? "
     "fc3_bias? fc1_zero_points? fc2_zero_points? fc3_zero_points? router_weights? "
     "-fc1_global_scale? -fc2_global_scale? -fc1_act_scale? -fc2_act_scale? -fc1_act_block_scale? "
     "-fc2_act_block_scale?",
     "output",
     "k:int activation_type:string normalize_routing_weights:flag use_sparse_mixer:int=0 "
     "activation_alpha:float activation_beta:float swiglu_limit:float swiglu_fusion:int "
     "expert_weight_bits:int fc1_expert_weight_bits:int fc2_expert_weight_bits:int "
     "fc3_expert_weight_bits:int block_size:int quant_type:string accuracy_level:int "
     "weights_prepacked:int"},
    {"QuantizeLinear", "x y_scale y_zero_point?", "y", "axis:int"},
    {"QuickGelu", "X", "Y", "alpha:float"},
    {"Range", "start limit delta?", "Y", ""},
    {"ReduceSumInteger", "data", "reduced", "axes:ints! keepdims:flag!"},
    {"RelativePositionBias", "bias_table query_length key_length", "output",
     "max_distance:int! is_bidirectional:flag"},
    {"RemovePadding", "input sequence_token_count",
     "output token_offset cumulated_seq_len max_seq_len", ""},
    {"RestorePadding", "input token_offset", "output", ""},
    {"Rfft", "X", "Y", "onesided:int=1 normalized:int=0 signal_ndim:int"},
    // ONNX Runtime takes `scale` and does not use it, nor do we. With packed batches positions may
    // lie past the length of the tables' use for one sequence, which changes no value.
    {"RotaryEmbedding", "input position_ids cos_cache sin_cache", "output",
     "interleaved:flag num_heads:int rotary_embedding_dim:int scale:float is_packed_batching:flag"},
    {"SampleOp", "X", "Y", ""},
    // The logits are "for debug purpose"; ONNX Runtime does not write them.
    {"Sampling",
     "input_ids max_length min_length? repetition_penalty? vocab_mask? prefix_vocab_mask? "
     "attention_mask? presence_mask? seed?",
     "sequences -filtered_logits?",
     "eos_token_id:int! pad_token_id:int! decoder_start_token_id:int no_repeat_ngram_size:int "
     "model_type:int vocab_size:int temperature:float top_p:float filter_value:float "
     "min_tokens_to_keep:int presence_penalty:float custom:flag"},
    {"ScaledSiLU", "X scale?", "Y", "alpha:float"},
    {"SimplifiedLayerNormalization", "X scale", "Y inv_std_var?",
     "axis:int epsilon:float stash_type:int=1"},
    {"SkipGroupNorm", "X gamma beta skip bias?", "Y S?",
     "activation:int! groups:int! channels_last:flag epsilon:float"},
    {"SkipLayerNormalization", "input skip gamma beta? bias?",
     "output mean? inv_std_var? input_skip_bias_sum?", "epsilon:float"},
    {"SkipSimplifiedLayerNormalization", "input skip gamma bias?",
     "output -mean? inv_std_var? input_skip_bias_sum?", "epsilon:float"},
    {"SparseAttention",
     "query key? value? past_key past_value block_row_indices block_col_indices "
     "total_sequence_length key_total_sequence_lengths cos_cache? sin_cache?",
     "output present_key present_value",
     "num_heads:int! kv_num_heads:int! sparse_block_size:int! scale:float do_rotary:flag "
     "rotary_interleaved:flag"},
    {"TorchEmbedding", "weight indices padding_idx? scale_grad_by_freq?", "Y", ""},
    {"Trilu", "X k?", "Y", "upper:int"},
    {"TransposeMatMul", "A B", "Y", "transA:flag transB:flag alpha:float"},
    {"UnfoldTensor", "input", "output", "dim:int size:int! step:int"},
    {"Unique", "x", "y idx counts", ""},
    {"WhisperBeamSearch",
     "input_ids max_length min_length? num_beams num_return_sequences length_penalty? "
     "repetition_penalty? vocab_mask? prefix_vocab_mask? attention_mask? decoder_input_ids? "
     "logits_processor? -cross_qk_layer_head? -extra_decoding_ids? temperature?",
     "sequences sequences_scores? scores? -cross_qk? -non_speech_probs?",
     "eos_token_id:int! pad_token_id:int! decoder_start_token_id:int no_repeat_ngram_size:int "
     "early_stopping:int model_type:int vocab_size:int decoder_output_cross_qk:int=0 "
     "translate_token_id:int transcribe_token_id:int start_of_lm_token_id:int "
     "no_timestamps_token_id:int beginning_timestamp_token_id:int no_speech_token_id:int"},
    {"WordConvEmbedding", "Sequence W B C", "Y",
     "embedding_size:int conv_window_size:int char_embedding_size:int"},
};

static SmallVector<Formal> parse(StringRef text) {
  SmallVector<StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  SmallVector<Formal> formals;
  for (StringRef word : words) {
    Formal formal;
    formal.refused = word.consume_front("-");
    formal.variadic = word.consume_back("*");
    formal.optional = word.consume_back("?") || formal.variadic;
    formal.name = word;
    formals.push_back(formal);
  }
  return formals;
}

/// `count` values, of which `has(i)` says whether it is there, against the table's.
static LogicalResult checkValues(NodeContext &c, StringRef what, StringRef text, size_t count,
                                 llvm::function_ref<bool(size_t)> has) {
  SmallVector<Formal> formals = parse(text);
  for (auto [i, formal] : llvm::enumerate(formals)) {
    bool given = i < count && has(i);
    if (given && formal.refused)
      return c.fail(what + " " + llvm::Twine(i) + " ('" + formal.name + "') is not supported");
    if (!given && !formal.optional)
      return c.fail(what + " " + llvm::Twine(i) + " ('" + formal.name + "') is missing");
  }
  for (size_t i = formals.size(); i < count && !(formals.size() && formals.back().variadic); ++i)
    if (has(i))
      return c.fail("there is no " + what + " " + llvm::Twine(i) + "; it has up to " +
                    llvm::Twine(formals.size()));
  return success();
}

static bool isOfType(Attribute value, StringRef type) {
  // An empty list may be one of any kind.
  bool empty = isa<DenseI64ArrayAttr>(value) && cast<DenseI64ArrayAttr>(value).empty();
  return llvm::StringSwitch<bool>(type)
      .Cases({"int", "flag"}, isa<IntegerAttr>(value))
      .Case("float", isa<FloatAttr>(value))
      .Case("string", isa<StringAttr>(value))
      .Case("ints", isa<DenseI64ArrayAttr>(value))
      .Case("floats", isa<DenseF32ArrayAttr>(value) || empty)
      .Case("strings", isa<ArrayAttr>(value) || empty)
      .Default(false);
}

static LogicalResult checkAttributes(NodeContext &c, StringRef text) {
  SmallVector<StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  llvm::StringMap<StringRef> types; // "int", "int!", "int=0"
  for (StringRef word : words) {
    auto [name, type] = word.split(':');
    types[name] = type;
    if (type.ends_with("!") && !c.hasAttr(name))
      return c.fail("attribute '" + name + "' is missing");
  }
  DictionaryAttr given = c.node.getAttrsAttr();
  for (NamedAttribute attribute : given ? given.getValue() : ArrayRef<NamedAttribute>()) {
    StringRef name = attribute.getName();
    auto known = types.find(name);
    if (known == types.end()) {
      if (name.starts_with("__"))
        continue;
      return c.fail("there is no attribute '" + name + "', or it is not supported");
    }
    auto [type, only] = known->second.split('=');
    type.consume_back("!");
    if (!isOfType(attribute.getValue(), type))
      return c.fail("attribute '" + name + "' must be of type " + (type == "flag" ? "int" : type));
    if (type == "flag" && c.intAttr(name, 0) != 0 && c.intAttr(name, 0) != 1)
      return c.fail("attribute '" + name + "' is " + llvm::Twine(c.intAttr(name, 0)) +
                    "; it is 0 or 1");
    int64_t wanted;
    if (!only.getAsInteger(10, wanted) && c.intAttr(name, wanted) != wanted)
      return c.fail("attribute '" + name + "' is " + llvm::Twine(c.intAttr(name, wanted)) +
                    "; only " + only + " is supported");
  }
  return success();
}

LogicalResult tcc::checkContrib(NodeContext &c) {
  StringRef domain = c.node.getDomain(), op = c.node.getTarget();
  // ONNX Runtime keeps one operator of its own in ONNX's domain.
  if (domain != "com.microsoft" && !(domain == "onnx" && op == "SimplifiedLayerNormalization"))
    return success();
  const auto *schema =
      llvm::find_if(kContrib, [&](const ContribSchema &known) { return known.op == op; });
  if (schema == std::end(kContrib))
    return c.fail("its inputs and attributes are not known");
  if (failed(checkValues(c, "input", schema->inputs, c.numInputs(),
                         [&](size_t i) { return c.has(i); })))
    return failure();
  if (failed(checkValues(c, "output", schema->outputs, c.numResults(),
                         [&](size_t i) { return !isa<NoneType>(c.node.getResult(i).getType()); })))
    return failure();
  return checkAttributes(c, schema->attributes);
}
