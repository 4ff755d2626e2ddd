#!/usr/bin/env python3
"""Makes bf16_golden.txt: the losses of the other golden models when PyTorch trains them in bf16 (autocast).

Run with any PyTorch from 2.0 on: python3 make_bf16_golden.py
Weights, tokens and optimizer are those of make_model_golden.py and make_gpt2_golden.py. A line for each model: its
name, a colon, and the loss of each of 100 steps.
"""
from pathlib import Path

import torch

import make_gpt2_golden as gpt2
import make_model_golden as llama


def losses(weights, loss_of):
    w = {name: value.requires_grad_() for name, value in weights}
    groups = [{"params": [p for p in w.values() if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in w.values() if p.dim() == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=llama.RATE, betas=(0.9, 0.95), eps=1e-8)
    for step in range(1, llama.STEPS + 1):
        for group in optimizer.param_groups:
            group["lr"] = llama.RATE * min(1.0, step / llama.WARMUP)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_of(w, *llama.batch(step))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(w.values(), 1.0)
        optimizer.step()
        yield loss.item()


def main():
    models = {"gpt2": (gpt2.parameters(), gpt2.loss_of)}
    for tied in (False, True):
        weights = ((name, llama.initial(name, shape)) for name, shape in llama.shapes(tied))
        models["llama_tied" if tied else "llama_untied"] = (
            weights, lambda w, x, y, tied=tied: llama.loss_of(w, x, y, tied))
    with open(Path(__file__).parent / "bf16_golden.txt", "w") as file:
        for name, (weights, loss_of) in sorted(models.items()):
            file.write(f"{name} : {' '.join(f'{loss:.7g}' for loss in losses(weights, loss_of))}\n")


if __name__ == "__main__":
    main()
