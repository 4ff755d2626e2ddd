#!/usr/bin/env python3
"""Makes hf_llama and hf_llama_sharded_bf16: tiny models as transformers saves them, and the logits it computes.

Needs torch, transformers and safetensors. Run it in this directory; the results are committed.
"""
import os
import shutil

import torch
from transformers import LlamaConfig, LlamaForCausalLM

TOKENS = [(37 * i + 11) % 256 for i in range(24)]


def make(name, dtype, shard_size, **changes):
    torch.manual_seed(7)
    config = LlamaConfig(vocab_size=256, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
                         initializer_range=0.2, bos_token_id=0, eos_token_id=0, **changes)
    model = LlamaForCausalLM(config).to(dtype)
    shutil.rmtree(name, ignore_errors=True)
    model.save_pretrained(name, max_shard_size=shard_size)
    # The logits of these very weights in single precision.
    with torch.no_grad():
        logits = model.float()(torch.tensor([TOKENS])).logits[0]
    with open(os.path.join(name, "logits.bin"), "wb") as file:
        file.write(logits.contiguous().numpy().tobytes())


if __name__ == "__main__":
    make("hf_llama", torch.float32, "1GB")
    make("hf_llama_sharded_bf16", torch.bfloat16, "10KB", tie_word_embeddings=True)
