#!/usr/bin/env python3
"""Makes hf_llama, hf_llama_sharded_bf16, hf_gpt2 and hf_qwen2: tiny models as transformers saves them, and the logits it computes.

Needs torch, transformers and safetensors. Run it in this directory; the results are committed.
"""
import os
import shutil

import torch
from transformers import (GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, Qwen2Config,
                          Qwen2ForCausalLM)

TOKENS = [(37 * i + 11) % 256 for i in range(24)]


COMMON = dict(vocab_size=256, initializer_range=0.2, bos_token_id=0, eos_token_id=0)
ROTARY = dict(COMMON, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
              num_key_value_heads=2, max_position_embeddings=64)


def llama(**changes):
    return LlamaForCausalLM(LlamaConfig(**dict(ROTARY, **changes)))


def gpt2():
    model = GPT2LMHeadModel(GPT2Config(**COMMON, n_embd=16, n_layer=2, n_head=4, n_positions=64))
    return with_biases(model)


def qwen2():
    return with_biases(Qwen2ForCausalLM(Qwen2Config(**ROTARY)))


def with_biases(model):
    """Biases begin as zeros, which would hide where they go."""
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if name.endswith(".bias"):
                tensor.normal_(0, 0.2)
    return model


def make(name, dtype, shard_size, build):
    torch.manual_seed(7)
    model = build().to(dtype).eval()
    shutil.rmtree(name, ignore_errors=True)
    model.save_pretrained(name, max_shard_size=shard_size)
    # The logits of these very weights in single precision. Loaded again: a model that was in bf16 keeps rotary
    # frequencies in bf16.
    model = type(model).from_pretrained(name, dtype=torch.float32).eval()
    with torch.no_grad():
        logits = model(torch.tensor([TOKENS])).logits[0]
    with open(os.path.join(name, "logits.bin"), "wb") as file:
        file.write(logits.contiguous().numpy().tobytes())


if __name__ == "__main__":
    make("hf_llama", torch.float32, "1GB", llama)
    make("hf_llama_sharded_bf16", torch.bfloat16, "10KB", lambda: llama(tie_word_embeddings=True))
    make("hf_gpt2", torch.float32, "1GB", gpt2)
    make("hf_qwen2", torch.float32, "1GB", qwen2)
