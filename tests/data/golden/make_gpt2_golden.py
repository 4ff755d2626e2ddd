#!/usr/bin/env python3
"""Makes gpt2.bin: what PyTorch computes for a whole two-layer gpt2 with a tied head.

Run with any PyTorch from 1.13 on: python3 make_gpt2_golden.py
The model is written out in plain operations, as Hugging Face's GPT2LMHeadModel computes it (and is compared with
it where transformers is installed). Weights, tokens, optimizer and the file's layout are those of
make_model_golden.py.
"""
import math
import struct
import sys
from pathlib import Path

import torch
from torch.nn import functional

import make_model_golden as llama
from make_model_golden import LENGTH, RATE, SEQUENCES, STEPS, VOCABULARY, WARMUP

HIDDEN, LAYERS, HEADS, WIDE, POSITIONS, EPSILON = 32, 2, 4, 128, 32, 1e-5


def parameters():
    """Names, shapes and initial values in the canonical flat order: weights as Conv1D's, inputs × outputs."""
    def normal(name, shape, scale=1.0):
        # The scaling is done in fp64 before rounding, as the engine does.
        before, llama.DEVIATION = llama.DEVIATION, llama.DEVIATION * scale
        value = llama.initial(name, shape)
        llama.DEVIATION = before
        return name, value

    def norm(name):
        yield name + ".weight", torch.ones(HIDDEN)
        yield name + ".bias", torch.zeros(HIDDEN)

    def linear(name, inputs, outputs, scale=1.0):
        yield normal(name + ".weight", (inputs, outputs), scale)
        yield name + ".bias", torch.zeros(outputs)

    residual = 1 / math.sqrt(2 * LAYERS)
    yield normal("transformer.wte.weight", (VOCABULARY, HIDDEN))
    yield normal("transformer.wpe.weight", (POSITIONS, HIDDEN))
    for layer in range(LAYERS):
        prefix = f"transformer.h.{layer}."
        yield from norm(prefix + "ln_1")
        yield from linear(prefix + "attn.c_attn", HIDDEN, 3 * HIDDEN)
        yield from linear(prefix + "attn.c_proj", HIDDEN, HIDDEN, residual)
        yield from norm(prefix + "ln_2")
        yield from linear(prefix + "mlp.c_fc", HIDDEN, WIDE)
        yield from linear(prefix + "mlp.c_proj", WIDE, HIDDEN, residual)
    yield from norm("transformer.ln_f")


def linear(w, name, x):
    return x @ w[name + ".weight"] + w[name + ".bias"]


def norm(w, name, x):
    return functional.layer_norm(x, (HIDDEN,), w[name + ".weight"], w[name + ".bias"], EPSILON)


def attention(w, prefix, x):
    head = HIDDEN // HEADS
    q, k, v = (y.view(SEQUENCES, LENGTH, HEADS, head).transpose(1, 2)
               for y in linear(w, prefix + "c_attn", x).split(HIDDEN, dim=-1))
    scores = q @ k.transpose(2, 3) / math.sqrt(head)
    scores = scores.masked_fill(torch.triu(torch.ones(LENGTH, LENGTH, dtype=torch.bool), 1), float("-inf"))
    out = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(SEQUENCES, LENGTH, HIDDEN)
    return linear(w, prefix + "c_proj", out)


def loss_of(w, inputs, targets):
    x = w["transformer.wte.weight"][inputs] + w["transformer.wpe.weight"][:LENGTH]
    for layer in range(LAYERS):
        prefix = f"transformer.h.{layer}."
        x = x + attention(w, prefix + "attn.", norm(w, prefix + "ln_1", x))
        wide = linear(w, prefix + "mlp.c_fc", norm(w, prefix + "ln_2", x))
        x = x + linear(w, prefix + "mlp.c_proj", functional.gelu(wide, approximate="tanh"))
    logits = norm(w, "transformer.ln_f", x) @ w["transformer.wte.weight"].T
    return functional.cross_entropy(logits.view(-1, VOCABULARY), targets.reshape(-1))


def compare_with_transformers(w):
    """The written-out model is Hugging Face's."""
    try:
        from transformers import GPT2Config, GPT2LMHeadModel
    except ImportError:
        print("transformers is not installed: not compared with it")
        return
    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=VOCABULARY, n_positions=POSITIONS, n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS, n_inner=WIDE,
        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=0, eos_token_id=0))
    missing, unexpected = model.load_state_dict({k: v.detach() for k, v in w.items()}, strict=False)
    assert not unexpected and all("lm_head" in m or m.endswith(("attn.bias", "masked_bias")) for m in missing)
    inputs, targets = llama.batch(1)
    with torch.no_grad():
        logits = model(inputs).logits
        theirs = functional.cross_entropy(logits.view(-1, VOCABULARY), targets.reshape(-1))
        assert abs(float(theirs) / float(loss_of(w, inputs, targets)) - 1) < 1e-6


def make(path):
    w = {name: value.requires_grad_() for name, value in parameters()}
    compare_with_transformers(w)
    groups = [{"params": [p for p in w.values() if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in w.values() if p.dim() == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.95), eps=1e-8)
    losses, first = [], None
    for step in range(1, STEPS + 1):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, step / WARMUP)
        optimizer.zero_grad()
        loss = loss_of(w, *llama.batch(step))
        loss.backward()
        if first is None:
            first = torch.cat([p.grad.reshape(-1) for p in w.values()]).clone()
        total = torch.nn.utils.clip_grad_norm_(w.values(), 1.0)
        if step == 1:
            first_norm = float(total)
        optimizer.step()
        losses.append(float(loss.detach()))
    with open(path, "wb") as out:
        out.write(struct.pack(f"<{STEPS + 1}d", *losses, first_norm))
        out.write(first.numpy().astype("<f4").tobytes())
    print(path.name, losses[0], losses[-1], first_norm, first.numel())


if __name__ == "__main__":
    torch.set_num_threads(1)
    make(Path(sys.argv[0]).resolve().parent / "gpt2.bin")
