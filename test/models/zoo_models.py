"""The models of zoo.py: how each is made, its inputs, and which of their axes are dynamic.

Sizes are (batch,), (batch, length) or what the model's `inputs` takes; the first is the static export's, all are
compared in the dynamic form, which is exported on the last.
"""
import dataclasses
from typing import Callable

import torch
from torch import nn


@dataclasses.dataclass
class Model:
    make: Callable[[], nn.Module]
    inputs: Callable[..., tuple]  # sizes -> (args, kwargs)
    sizes: list
    dynamic: tuple = ()           # axes of every tensor that are dynamic


MODELS = {}
BATCHES, TEXTS = [(1,), (3,)], [(1, 9), (3, 14)]
TEXTS_OF_ONE_LENGTH = [(1, 14), (3, 14)]


def random(*sizes):
    return torch.Generator().manual_seed(sum(size * 31**i for i, size in enumerate(sizes)))


def rows(*shape, kind=torch.randn):
    return lambda batch: ((kind(batch, *shape, generator=random(batch)),), {})


def tokens(vocabulary=99, mask=False, **more):
    def inputs(batch, length):
        ids = torch.randint(1, vocabulary, (batch, length), generator=random(batch, length))
        kwargs = {"input_ids": ids}
        if mask:
            lengths = torch.tensor([length - (3 * row) % length for row in range(batch)])
            kwargs["attention_mask"] = (torch.arange(length)[None] < lengths[:, None]).long()
        return (), {**kwargs, **{name: make(batch, length) for name, make in more.items()}}
    return inputs


def add(name, make, inputs, sizes=None, dynamic=(0,)):
    MODELS[name] = Model(make, inputs, sizes or BATCHES, dynamic)


# ---------------------------------------------------------------------------- torchvision

class First(nn.Module):
    """The tensors of what a model returns, by position."""

    def __init__(self, model, pick=None):
        super().__init__()
        self.model, self.pick = model, pick

    def forward(self, **kwargs):
        output = self.model(**kwargs)
        output = self.pick(output) if self.pick else output
        return [leaf for leaf in torch.utils._pytree.tree_leaves(output) if torch.is_tensor(leaf)]


def vision(name, size=64, dynamic=(0,), prefix="tv-", **options):
    def make():
        import torchvision
        options.setdefault("num_classes", 10)
        return torchvision.models.get_model(name, weights=None, **({"weights_backbone": None} if any(
            word in name for word in ["deeplab", "fcn", "lraspp", "ssd", "rcnn", "retina"]) else {}), **options)
    add(prefix + name, make, rows(3, size, size), dynamic=dynamic)


for _name in ["densenet121", "mnasnet0_5", "regnet_y_400mf", "shufflenet_v2_x0_5", "squeezenet1_1",
              "efficientnet_v2_s"]:
    vision(_name, 64)
vision("googlenet", 64, init_weights=False, aux_logits=False)
vision("inception_v3", 96, init_weights=False, aux_logits=False)
vision("swin_t", 64)
vision("swin_v2_t", 64)
vision("maxvit_t", 224)
vision("vit_b_32", 64, image_size=64)
vision("deeplabv3_resnet50", 64)
vision("deeplabv3_mobilenet_v3_large", 64)
vision("fcn_resnet50", 64)
vision("lraspp_mobilenet_v3_large", 64)


def video(name, **options):
    def make():
        import torchvision
        return torchvision.models.get_model(name, weights=None, num_classes=10, **options)
    add("tv-" + name, make, rows(3, 8, 32, 32))


video("r3d_18")
video("mc3_18")
video("r2plus1d_18")


class Detector(nn.Module):
    calibrated = False  # in training these want targets

    def __init__(self, name, **options):
        super().__init__()
        import torchvision
        self.model = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=5, **options)

    def forward(self, image):
        return self.model([image])[0]


add("tv-ssdlite", lambda: Detector("ssdlite320_mobilenet_v3_large"),
    lambda batch: ((torch.rand(3, 320, 320, generator=random(batch)),), {}), [(1,)], ())
add("tv-retinanet", lambda: Detector("retinanet_resnet50_fpn", min_size=64, max_size=64),
    lambda batch: ((torch.rand(3, 64, 64, generator=random(batch)),), {}), [(1,)], ())
add("tv-fasterrcnn", lambda: Detector("fasterrcnn_mobilenet_v3_large_320_fpn", min_size=64, max_size=64),
    lambda batch: ((torch.rand(3, 64, 64, generator=random(batch)),), {}), [(1,)], ())


def raft():
    import torchvision
    return torchvision.models.optical_flow.raft_small(weights=None)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = raft()

    def forward(self, a, b):
        return self.model(a, b, num_flow_updates=2)[-1]


add("tv-raft_small", Flow, lambda batch: (tuple(torch.randn(batch, 3, 128, 128, generator=random(batch, i))
                                                for i in range(2)), {}), dynamic=())


# ---------------------------------------------------------------------------- timm

def timm_model(name, size=64, **options):
    def make():
        import timm
        return timm.create_model(name, pretrained=False, num_classes=10, **options)
    add("timm-" + name, make, rows(3, size, size))


for _size, _names in {
        64: "resnest14d edgenext_xx_small ghostnetv2_100 hrnet_w18_small eca_nfnet_l0 poolformer_s12 repvit_m0_9 fastvit_t8 "
            "mobilevit_xxs mobilevitv2_050 convnextv2_atto dla34 res2net50_14w_8s skresnet18 selecsls42 rexnet_100 "
            "mobileone_s0 dpn48b tinynet_e mobilenetv4_conv_small starnet_s1 mambaout_femto inception_next_atto regnetz_005 "
            "efficientvit_b0 focalnet_tiny_srf caformer_s18 xception41 pvt_v2_b0 shvit_s1 swiftformer_xs rdnet_tiny mixnet_s "
            "cs3darknet_s tresnet_m csatv2",
        224: "resmlp_12_224 gmlp_s16_224 davit_tiny visformer_tiny levit_128s efficientformer_l1 efficientformerv2_s0 "
             "tiny_vit_5m_224 xcit_nano_12_p16_224 coat_tiny cait_xxs24_224 pit_ti_224 twins_pcpvt_small mvitv2_tiny "
             "coatnet_nano_rw_224 nest_tiny sequencer2d_s convit_tiny eva02_tiny_patch14_224 gcvit_xxtiny efficientvit_m0 "
             "hiera_tiny_224 vit_relpos_small_patch16_224 volo_d1_224 tnt_s_legacy_patch16_224 beit_base_patch16_224",
        240: "crossvit_9_240", 256: "swinv2_tiny_window8_256 halonet26t lambda_resnet26t botnet26t_256"}.items():
    for _name in _names.split():
        timm_model(_name, _size)


# ---------------------------------------------------------------------------- transformers

SMALL = dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37,
             max_position_embeddings=64)


def transformer(name, model, config, inputs=None, sizes=None, dynamic=(0, 1), pick=None, **options):
    def make():
        import transformers
        settings = getattr(transformers, config)(**options)
        if getattr(settings, "use_cache", False):
            settings.use_cache = False
        return First(getattr(transformers, model)(settings).eval(), pick)
    add("hf-" + name, make, inputs or tokens(mask=True),
        sizes or (TEXTS if 1 in dynamic else TEXTS_OF_ONE_LENGTH), dynamic)


GQA = dict(SMALL, num_key_value_heads=2)
transformer("llama", "LlamaForCausalLM", "LlamaConfig", **GQA)
transformer("llama-tied", "LlamaForCausalLM", "LlamaConfig", tie_word_embeddings=True, **GQA)
transformer("mistral", "MistralForCausalLM", "MistralConfig", sliding_window=5, **GQA)
transformer("qwen2", "Qwen2ForCausalLM", "Qwen2Config", use_sliding_window=True, sliding_window=5, max_window_layers=1,
            **GQA)
transformer("qwen3", "Qwen3ForCausalLM", "Qwen3Config", head_dim=8, **GQA)
transformer("gemma", "GemmaForCausalLM", "GemmaConfig", head_dim=8, **GQA)
transformer("gemma2", "Gemma2ForCausalLM", "Gemma2Config", head_dim=8, sliding_window=5, **GQA)
transformer("phi", "PhiForCausalLM", "PhiConfig", **SMALL)
transformer("phi3", "Phi3ForCausalLM", "Phi3Config", pad_token_id=0, **GQA)
transformer("opt", "OPTForCausalLM", "OPTConfig", vocab_size=99, hidden_size=32, num_hidden_layers=2, ffn_dim=37,
            num_attention_heads=4, max_position_embeddings=64, word_embed_proj_dim=32)
transformer("bloom", "BloomForCausalLM", "BloomConfig", vocab_size=99, hidden_size=32, n_layer=2, n_head=4)
transformer("gpt-neox", "GPTNeoXForCausalLM", "GPTNeoXConfig", **SMALL)
transformer("gpt-neo", "GPTNeoForCausalLM", "GPTNeoConfig", vocab_size=99, hidden_size=32, num_layers=2, num_heads=4,
            attention_types=[[["global", "local"], 1]], window_size=5, max_position_embeddings=64)
transformer("gptj", "GPTJForCausalLM", "GPTJConfig", vocab_size=99, n_embd=32, n_layer=2, n_head=4, rotary_dim=4,
            n_positions=64)
transformer("gpt2-lm", "GPT2LMHeadModel", "GPT2Config", vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64)
transformer("falcon", "FalconForCausalLM", "FalconConfig", vocab_size=99, hidden_size=32, num_hidden_layers=2,
            num_attention_heads=4, alibi=True)
transformer("mpt", "MptForCausalLM", "MptConfig", vocab_size=99, d_model=32, n_layers=2, n_heads=4, max_seq_len=64)
transformer("mixtral", "MixtralForCausalLM", "MixtralConfig", num_local_experts=4, num_experts_per_tok=2,
            experts_implementation="batched_mm", **GQA)
EXPERTS = dict(experts_implementation="batched_mm", moe_intermediate_size=16, num_experts_per_tok=2)
transformer("deepseek-v3", "DeepseekV3ForCausalLM", "DeepseekV3Config", n_routed_experts=4, n_group=1, topk_group=1,
            first_k_dense_replace=1, q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8,
            num_nextn_predict_layers=0, num_key_value_heads=4, **EXPERTS, **SMALL)
transformer("qwen3-next", "Qwen3NextForCausalLM", "Qwen3NextConfig", head_dim=8, linear_key_head_dim=8,
            linear_value_head_dim=8, linear_num_key_heads=2, linear_num_value_heads=4, num_experts=4,
            shared_expert_intermediate_size=16, layer_types=["linear_attention", "full_attention"], **EXPERTS, **GQA)
transformer("llama4", "Llama4ForCausalLM", "Llama4TextConfig", head_dim=8, intermediate_size_mlp=37, num_local_experts=4,
            attention_chunk_size=8, **GQA)
transformer("gemma4", "Gemma4ForCausalLM", "Gemma4TextConfig", head_dim=8, sliding_window=5,
            layer_types=["sliding_attention", "full_attention"], vocab_size_per_layer_input=99,
            hidden_size_per_layer_input=8, **GQA)
transformer("mamba2", "Mamba2ForCausalLM", "Mamba2Config", vocab_size=99, hidden_size=32, num_heads=4, head_dim=16,
            state_size=8, n_groups=1, num_hidden_layers=2, chunk_size=8)
MIXER = dict(mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8, mamba_n_groups=1, mamba_chunk_size=8)
transformer("bamba", "BambaForCausalLM", "BambaConfig", attn_layer_indices=[1], **MIXER, **GQA)
transformer("granite-hybrid", "GraniteMoeHybridForCausalLM", "GraniteMoeHybridConfig", layer_types=["mamba", "attention"],
            num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=16, experts_implementation="batched_mm",
            **MIXER, **GQA)
transformer("qwen2-moe", "Qwen2MoeForCausalLM", "Qwen2MoeConfig", num_experts=4, shared_expert_intermediate_size=16, **EXPERTS, **GQA)
transformer("gpt-oss", "GptOssForCausalLM", "GptOssConfig", head_dim=8, sliding_window=5, num_local_experts=4,
            num_experts_per_tok=2, layer_types=["sliding_attention", "full_attention"], experts_implementation="batched_mm",
            **GQA)
transformer("xlstm", "xLSTMForCausalLM", "xLSTMConfig", tokens(), vocab_size=99, hidden_size=32, embedding_dim=32,
            num_blocks=2, num_hidden_layers=2, num_heads=4, chunk_size=8)
transformer("reformer", "ReformerModel", "ReformerConfig",
            lambda batch: ((), {"input_ids": torch.randint(1, 99, (batch, 32), generator=random(batch))}), BATCHES, (0,),
            vocab_size=99, hidden_size=32, num_attention_heads=4, attention_head_size=8, feed_forward_size=48,
            axial_pos_shape=[4, 8], axial_pos_embds_dim=[8, 24], attn_layers=["local", "lsh"], lsh_attn_chunk_length=8,
            local_attn_chunk_length=8, num_buckets=4, num_hashes=2, hash_seed=0, max_position_embeddings=64)
transformer("mamba", "MambaForCausalLM", "MambaConfig", tokens(), vocab_size=99, hidden_size=16, state_size=4,
            num_hidden_layers=1, dynamic=(0,))
transformer("rwkv", "RwkvForCausalLM", "RwkvConfig", tokens(), vocab_size=99, hidden_size=32, num_hidden_layers=2,
            dynamic=(0,))
transformer("electra", "ElectraModel", "ElectraConfig", embedding_size=32, **SMALL)
transformer("roberta", "RobertaForTokenClassification", "RobertaConfig", **SMALL)
transformer("albert", "AlbertModel", "AlbertConfig", embedding_size=16, **SMALL)
transformer("deberta", "DebertaModel", "DebertaConfig", relative_attention=True, pos_att_type=["c2p", "p2c"], **SMALL)
transformer("deberta-v2", "DebertaV2Model", "DebertaV2Config", relative_attention=True, position_buckets=8,
            pos_att_type=["c2p", "p2c"], **SMALL)
transformer("mpnet", "MPNetModel", "MPNetConfig", **SMALL)
transformer("xlnet", "XLNetModel", "XLNetConfig", vocab_size=99, d_model=32, n_layer=2, n_head=4, d_inner=37)
transformer("xlm", "XLMModel", "XLMConfig", tokens(), vocab_size=99, emb_dim=32, n_layers=2, n_heads=4,
            max_position_embeddings=64)
transformer("funnel", "FunnelBaseModel", "FunnelConfig", vocab_size=99, block_sizes=[1, 1], d_model=32, n_head=4,
            d_head=8, d_inner=37, dynamic=(0,))
transformer("mobilebert", "MobileBertModel", "MobileBertConfig", vocab_size=99, hidden_size=32, num_hidden_layers=2,
            num_attention_heads=4, intermediate_size=32, embedding_size=16, intra_bottleneck_size=16,
            max_position_embeddings=64)
transformer("modernbert", "ModernBertModel", "ModernBertConfig", pad_token_id=0, bos_token_id=1, eos_token_id=2,
            cls_token_id=1, sep_token_id=2, **SMALL)
transformer("roformer", "RoFormerModel", "RoFormerConfig", embedding_size=32, **SMALL)
transformer("fnet", "FNetModel", "FNetConfig", tokens(), vocab_size=99, hidden_size=32, num_hidden_layers=2,
            intermediate_size=37, max_position_embeddings=64)
transformer("ibert", "IBertModel", "IBertConfig", **SMALL)
transformer("luke", "LukeModel", "LukeConfig", tokens(mask=True), entity_vocab_size=10, entity_emb_size=16, **SMALL)

transformer("convbert", "ConvBertModel", "ConvBertConfig", embedding_size=32, **SMALL)
transformer("nystromformer", "NystromformerModel", "NystromformerConfig", **SMALL)
transformer("big-bird", "BigBirdModel", "BigBirdConfig", attention_type="original_full", **SMALL)

DECODER = dict(decoder_input_ids=lambda batch, length: torch.randint(1, 99, (batch, 6), generator=random(batch, 5)))
transformer("t5", "T5ForConditionalGeneration", "T5Config", tokens(mask=True, **DECODER), vocab_size=99, d_model=32,
            d_ff=37, d_kv=8, num_layers=2, num_heads=4)
transformer("umt5", "UMT5ForConditionalGeneration", "UMT5Config", tokens(mask=True, **DECODER), vocab_size=99, d_model=32,
            d_ff=37, d_kv=8, num_layers=2, num_heads=4)
transformer("bart", "BartForConditionalGeneration", "BartConfig", tokens(mask=True, **DECODER), vocab_size=99,
            d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=37, decoder_ffn_dim=37, max_position_embeddings=64)
transformer("marian", "MarianMTModel", "MarianConfig", tokens(mask=True, **DECODER), vocab_size=99, d_model=32,
            encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=37, decoder_ffn_dim=37, max_position_embeddings=64, pad_token_id=0)
transformer("m2m100", "M2M100ForConditionalGeneration", "M2M100Config", tokens(mask=True, **DECODER), vocab_size=99,
            d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=37, decoder_ffn_dim=37, max_position_embeddings=64)


def pixels(channels=3, size=32, **more):
    return lambda batch: ((), {"pixel_values": torch.randn(batch, channels, size, size, generator=random(batch)),
                               **{name: make(batch) for name, make in more.items()}})


VIT = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, image_size=32, patch_size=8)
for _name, _model, _config, _options in [
        ("vit", "ViTForImageClassification", "ViTConfig", VIT), ("deit", "DeiTModel", "DeiTConfig", VIT),
        ("beit", "BeitModel", "BeitConfig", dict(VIT, use_relative_position_bias=True)),
        ("dinov2", "Dinov2Model", "Dinov2Config", VIT),
        ("siglip", "SiglipVisionModel", "SiglipVisionConfig", VIT),
        ("clip-vision", "CLIPVisionModel", "CLIPVisionConfig", VIT),
        ("convnext", "ConvNextModel", "ConvNextConfig", dict(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1])),
        ("segformer", "SegformerForSemanticSegmentation", "SegformerConfig",
         dict(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=16)),
        ("swin", "SwinModel", "SwinConfig", dict(image_size=32, patch_size=2, embed_dim=8, depths=[2, 2],
                                                 num_heads=[2, 2], window_size=4)),
        ("swin2sr", "Swin2SRForImageSuperResolution", "Swin2SRConfig",
         dict(image_size=16, embed_dim=8, depths=[1, 1], num_heads=[2, 2], window_size=4)),
        ("mobilevit", "MobileViTModel", "MobileViTConfig",
         dict(image_size=32, hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 32])),
        ("pvt", "PvtModel", "PvtConfig", dict(image_size=32, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1],
                                              num_attention_heads=[1, 2, 3, 4])),
        ("poolformer", "PoolFormerModel", "PoolFormerConfig", dict(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1])),
        ("resnet", "ResNetModel", "ResNetConfig", dict(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1])),
        ("regnet", "RegNetModel", "RegNetConfig", dict(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], groups_width=4)),
        ("hiera", "HieraModel", "HieraConfig", dict(embed_dim=8, image_size=[32, 32], depths=[1] * 4, num_heads=[1, 1, 2, 2])),
        ("mobilenet-v2", "MobileNetV2Model", "MobileNetV2Config", dict(depth_multiplier=0.25)),
        ("dpt", "DPTForDepthEstimation", "DPTConfig", dict(VIT, image_size=64, patch_size=16, num_hidden_layers=4, backbone_out_indices=[0, 1, 2, 3],
                                                          neck_hidden_sizes=[8, 8, 16, 16], fusion_hidden_size=16)),
        ("glpn", "GLPNForDepthEstimation", "GLPNConfig", dict(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=16)),
        ("yolos", "YolosForObjectDetection", "YolosConfig", dict(VIT, image_size=[32, 32], num_detection_tokens=5)),
        ("cvt", "CvtModel", "CvtConfig", dict(embed_dim=[8, 16, 24], num_heads=[1, 2, 3], depth=[1, 2, 3])),
        ("focalnet", "FocalNetModel", "FocalNetConfig", dict(image_size=32, embed_dim=8, depths=[1, 1], focal_levels=[2, 2], focal_windows=[3, 3], hidden_sizes=[8, 16]))]:
    transformer(_name, _model, _config, pixels(size=64 if _name in ("convnext", "segformer", "dpt", "glpn", "mobilevit", "cvt", "pvt", "poolformer") else
                                               16 if _name == "swin2sr" else 32),
                BATCHES, (0,), **dict(_options, **({"image_size": 64} if _name in ("mobilevit", "pvt") else {})))


def clip():
    import transformers
    text, image = dict(SMALL, eos_token_id=2), dict(VIT)
    config = transformers.CLIPConfig(text_config=text, vision_config=image, projection_dim=16)
    return First(transformers.CLIPModel(config).eval(), lambda output: output.to_tuple()[:4])


def clip_inputs(batch, length):
    args, kwargs = tokens(mask=True)(batch, length)
    return args, {**kwargs, **pixels()(2)[1]}


add("hf-clip", clip, clip_inputs, TEXTS, ())


def detr(family="Detr", features=("stage2",), layers=1, **more):
    import transformers
    backbone = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], out_features=list(features))
    config = getattr(transformers, family + "Config")(
        use_timm_backbone=False, backbone=None, backbone_config=backbone, d_model=32, encoder_layers=1, decoder_layers=layers,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=37, decoder_ffn_dim=37, num_queries=5, **more)
    return First(getattr(transformers, family + "ForObjectDetection")(config).eval(), lambda output: output.to_tuple()[:2])


add("hf-detr", detr, pixels(), BATCHES, (0,))
add("hf-conditional-detr", lambda: detr("ConditionalDetr"), pixels(), BATCHES, (0,))
for _name, _options in [("deformable-detr", {}), ("deformable-two-stage", dict(two_stage=True, with_box_refine=True, two_stage_num_proposals=5))]:
    add("hf-" + _name, lambda options=_options: detr("DeformableDetr", ("stage1", "stage2"), layers=2, num_feature_levels=2, **options),
        pixels(size=64), BATCHES, (0,))


def rt_detr():
    import transformers
    backbone = transformers.RTDetrResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1] * 4,
                                               layer_type="basic", out_features=["stage2", "stage3", "stage4"])
    config = transformers.RTDetrConfig(backbone_config=backbone, encoder_hidden_dim=32, d_model=32,
                                       encoder_in_channels=[16, 24, 32], encoder_ffn_dim=48, decoder_ffn_dim=48,
                                       decoder_in_channels=[32] * 3, num_queries=6, decoder_layers=2, num_denoising=0,
                                       decoder_attention_heads=4, encoder_attention_heads=4, decoder_n_points=2)
    return First(transformers.RTDetrForObjectDetection(config).eval(), lambda output: output.to_tuple()[:2])


add("hf-rt-detr", rt_detr, pixels(size=64), BATCHES, (0,))


class DecodingStep(nn.Module):
    """One token after those whose keys and values a cache holds; the longer cache goes out."""
    calibrated = False

    def __init__(self, model, config, **options):
        super().__init__()
        import transformers
        self.model = getattr(transformers, model)(getattr(transformers, config)(**options)).eval()

    def forward(self, input_ids, attention_mask, past):
        from transformers import DynamicCache
        cache = DynamicCache()
        for layer in range(len(past) // 2):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        output = self.model(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
        return [output.logits] + [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]


def decoding(name, heads, model, config, **options):
    add("hf-step-" + name, lambda: DecodingStep(model, config, **options), lambda batch, length: ((), {
        "input_ids": torch.randint(1, 99, (batch, 1), generator=random(batch, length)),
        "attention_mask": torch.ones(batch, length + 1, dtype=torch.long),
        "past": [torch.randn(batch, heads, length, 8, generator=random(batch, length, i)) for i in range(4)]}), TEXTS, ())


decoding("gpt2", 4, "GPT2LMHeadModel", "GPT2Config", vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64)
decoding("gemma3", 2, "Gemma3ForCausalLM", "Gemma3TextConfig", head_dim=8, layer_types=["full_attention"] * 2, **GQA)


def sam():
    import transformers
    config = transformers.SamVisionConfig(hidden_size=32, output_channels=16, num_hidden_layers=2,
                                          num_attention_heads=4, image_size=64, patch_size=16, mlp_dim=37,
                                          window_size=2, global_attn_indexes=[1])
    return First(transformers.SamVisionModel(config).eval())


add("hf-sam-vision", sam, pixels(size=64), BATCHES, (0,))


def wave(batch):
    return (), {"input_values": torch.randn(batch, 1600, generator=random(batch))}


WAVE = dict(vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37,
            conv_dim=(16, 16, 16), conv_stride=(4, 4, 4), conv_kernel=(8, 4, 4), num_conv_pos_embeddings=16,
            num_conv_pos_embedding_groups=2)
transformer("wav2vec2", "Wav2Vec2ForCTC", "Wav2Vec2Config", wave, BATCHES, (0,), **WAVE)
transformer("hubert", "HubertModel", "HubertConfig", wave, BATCHES, (0,), **WAVE)
transformer("wavlm", "WavLMModel", "WavLMConfig", wave, BATCHES, (0,), **WAVE)
transformer("whisper", "WhisperForConditionalGeneration", "WhisperConfig",
            lambda batch: ((), {"input_features": torch.randn(batch, 16, 40, generator=random(batch)),
                                "decoder_input_ids": torch.randint(1, 99, (batch, 5), generator=random(batch))}),
            BATCHES, (0,), vocab_size=99, num_mel_bins=16, d_model=32, encoder_layers=2, decoder_layers=2,
            encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=37, decoder_ffn_dim=37,
            max_source_positions=20, max_target_positions=20, pad_token_id=0, bos_token_id=1, eos_token_id=2,
            decoder_start_token_id=1)
transformer("audio-spectrogram", "ASTModel", "ASTConfig",
            lambda batch: ((), {"input_values": torch.randn(batch, 24, 16, generator=random(batch))}), BATCHES, (0,),
            hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, patch_size=4,
            frequency_stride=4, time_stride=4, max_length=24, num_mel_bins=16)
transformer("encodec", "EncodecModel", "EncodecConfig",
            lambda batch: ((), {"input_values": torch.randn(batch, 1, 640, generator=random(batch))}), BATCHES, (),
            num_filters=4, hidden_size=16, codebook_size=16, codebook_dim=16, upsampling_ratios=[4, 2],
            pick=lambda output: output[1])
transformer("vits", "VitsTextEncoder", "VitsConfig", tokens(), **{})
del MODELS["hf-vits"]
transformer("timeseries", "PatchTSTForPrediction", "PatchTSTConfig",
            lambda batch: ((), {"past_values": torch.randn(batch, 32, 3, generator=random(batch))}), BATCHES, (0,),
            num_input_channels=3, context_length=32, patch_length=8, stride=8, d_model=16, num_attention_heads=4,
            num_hidden_layers=2, ffn_dim=32, prediction_length=8)
