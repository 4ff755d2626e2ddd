#!/usr/bin/env python3
"""The PyTorch side of `traind-bench train`: GPT-2 124M's training step, as fast as eager PyTorch does it.

    train_pytorch.py THREADS fp32|bf16 BATCH LENGTH

Reads "N" from standard input, runs N steps and answers the seconds of each in one line; the first answer,
before any question, is PyTorch's version. Ends with its input.
"""
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

LAYERS, HEADS, HIDDEN, VOCABULARY, POSITIONS = 12, 12, 768, 50257, 1024


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)
        self.c_attn, self.c_proj = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.c_fc, self.mlp_proj = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)

    def forward(self, x):
        batch, length, _ = x.shape
        heads = [part.view(batch, length, HEADS, -1).transpose(1, 2)
                 for part in self.c_attn(self.ln_1(x)).split(HIDDEN, dim=2)]
        attention = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.c_proj(attention.transpose(1, 2).reshape(batch, length, HIDDEN))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, HIDDEN), nn.Embedding(POSITIONS, HIDDEN)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(HIDDEN)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, VOCABULARY), targets.reshape(-1))


def main():
    threads, precision, batch, length = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = Gpt2()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    tokens = torch.randint(VOCABULARY, (batch, length + 1))
    print(torch.__version__, flush=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
            loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()

    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            begin = time.perf_counter()
            step()
            seconds.append(f"{time.perf_counter() - begin:.6f}")
        print(" ".join(seconds), flush=True)


if __name__ == "__main__":
    main()
