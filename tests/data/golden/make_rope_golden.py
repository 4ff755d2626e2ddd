#!/usr/bin/env python3
"""Makes rope_golden.txt: the angles of scaled rotary positions, as transformers computes them.

Run with transformers from version 4.45 on: python3 make_rope_golden.py
A line has: rope_type head_size theta factor low_freq_factor high_freq_factor original : one angle per pair.
"""
import sys
from pathlib import Path

from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

# rope_type, head size, theta, factor, low, high, original: Llama 3.2 1B's, Llama 3.1 8B's, and others.
CASES = [("llama3", 64, 500000.0, 32.0, 1.0, 4.0, 8192), ("llama3", 128, 500000.0, 8.0, 1.0, 4.0, 8192),
         ("llama3", 16, 10000.0, 3.0, 1.5, 9.0, 100), ("linear", 64, 10000.0, 4.0, 1.0, 4.0, 8192),
         ("linear", 10, 123.0, 1.0, 1.0, 4.0, 8192)]


def main():
    with open(Path(sys.argv[0]).resolve().parent / "rope_golden.txt", "w") as out:
        for kind, head, theta, factor, low, high, original in CASES:
            scaling = {"rope_type": kind, "factor": factor}
            if kind == "llama3":
                scaling |= {"low_freq_factor": low, "high_freq_factor": high,
                            "original_max_position_embeddings": original}
            config = LlamaConfig(hidden_size=4 * head, num_attention_heads=4, rope_theta=theta, rope_scaling=scaling,
                                 max_position_embeddings=131072)
            angles, _ = ROPE_INIT_FUNCTIONS[kind](config, "cpu")
            print(kind, head, theta, factor, low, high, original, ":", *(f"{a:.9g}" for a in angles.tolist()), file=out)


main()
