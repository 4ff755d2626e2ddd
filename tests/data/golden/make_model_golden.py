#!/usr/bin/env python3
"""Makes llama_tied.bin and llama_untied.bin: what PyTorch computes for a whole two-layer llama.

Run with Debian's python3-torch (1.13): /usr/bin/python3 make_model_golden.py
The model is written out in plain operations, as Hugging Face's LlamaForCausalLM computes it; gradients are
autograd's, the optimizer is torch.optim.AdamW. Weights and tokens follow from formulas that
tests/unit/model/golden_test.cc repeats, so only results are stored, little-endian:

    float64 × 100   the loss of each of 100 steps (AdamW 3e-4, warm-up 10, decay 0.1 but not on norms, clip 1)
    float64 × 1     the gradient norm of the first step
    float32 × N     the gradient of the first step, in the canonical flat order
"""
import math
import struct
import sys
from pathlib import Path

import numpy
import torch

HIDDEN, LAYERS, HEADS, KV_HEADS, INTERMEDIATE, VOCABULARY = 32, 2, 4, 2, 48, 96
SEQUENCES, LENGTH = 4, 24
EPSILON, THETA, DEVIATION, SEED = 1e-5, 10000.0, 0.02, 1234
STEPS, RATE, WARMUP = 100, 3e-4, 10


def shapes(tied):
    """Names and shapes in the canonical flat order."""
    head = HIDDEN // HEADS
    yield "model.embed_tokens.weight", (VOCABULARY, HIDDEN)
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        yield prefix + "input_layernorm.weight", (HIDDEN,)
        yield prefix + "self_attn.q_proj.weight", (HEADS * head, HIDDEN)
        yield prefix + "self_attn.k_proj.weight", (KV_HEADS * head, HIDDEN)
        yield prefix + "self_attn.v_proj.weight", (KV_HEADS * head, HIDDEN)
        yield prefix + "self_attn.o_proj.weight", (HIDDEN, HEADS * head)
        yield prefix + "post_attention_layernorm.weight", (HIDDEN,)
        yield prefix + "mlp.gate_proj.weight", (INTERMEDIATE, HIDDEN)
        yield prefix + "mlp.up_proj.weight", (INTERMEDIATE, HIDDEN)
        yield prefix + "mlp.down_proj.weight", (HIDDEN, INTERMEDIATE)
    yield "model.norm.weight", (HIDDEN,)
    if not tied:
        yield "lm_head.weight", (VOCABULARY, HIDDEN)


def philox(counter, key):
    """Philox4x32-10 of an array of counters, 4 × n."""
    mask, c = numpy.uint64(0xFFFFFFFF), [x.astype(numpy.uint64) for x in counter]
    low, high = numpy.uint64(key & 0xFFFFFFFF), numpy.uint64(key >> 32)
    for _ in range(10):
        a, b = c[0] * numpy.uint64(0xD2511F53), c[2] * numpy.uint64(0xCD9E8D57)
        shift = numpy.uint64(32)
        c = [(b >> shift) ^ c[1] ^ low, b & mask, (a >> shift) ^ c[3] ^ high, a & mask]
        low, high = (low + numpy.uint64(0x9E3779B9)) & mask, (high + numpy.uint64(0xBB67AE85)) & mask
    return c


def initial(name, shape):
    """The weights that InitializeParameter of engine/model gives."""
    if len(shape) == 1:
        return torch.ones(shape)
    stream = 0xCBF29CE484222325
    for byte in name.encode():
        stream = ((stream ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    count = shape[0] * shape[1]
    blocks = numpy.arange((count + 3) // 4, dtype=numpy.uint64)
    full = lambda value: numpy.full(blocks.shape, value, dtype=numpy.uint64)
    bits = philox([blocks & numpy.uint64(0xFFFFFFFF), blocks >> numpy.uint64(32),
                   full(stream & 0xFFFFFFFF), full(stream >> 32)], SEED)
    uniform = [(b.astype(numpy.float64) + 0.5) * 2.0**-32 for b in bits]
    values = []
    for pair in (0, 2):
        radius, angle = numpy.sqrt(-2 * numpy.log(uniform[pair])), 2 * math.pi * uniform[pair + 1]
        values += [radius * numpy.cos(angle), radius * numpy.sin(angle)]
    normal = numpy.stack(values, axis=1).reshape(-1)[:count] * DEVIATION
    return torch.from_numpy(normal.astype(numpy.float32).reshape(shape))


def batch(step):
    """Inputs and targets of a step (from 1)."""
    def token(sequence, position):
        return (step * 31 + sequence * 17 + position * (3 + sequence % 5)) % VOCABULARY
    rows = [[token(s, p) for p in range(LENGTH + 1)] for s in range(SEQUENCES)]
    tokens = torch.tensor(rows)
    return tokens[:, :-1], tokens[:, 1:]


def norm(x, weight):
    return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON))


def rotate(x):
    """x: sequences × heads × length × head, the halves of a head turned against each other."""
    head = x.shape[-1]
    frequency = 1.0 / (THETA ** (torch.arange(0, head, 2).float() / head))
    angle = torch.outer(torch.arange(LENGTH).float(), frequency)
    angle = torch.cat((angle, angle), -1)
    turned = torch.cat((-x[..., head // 2:], x[..., : head // 2]), -1)
    return x * angle.cos() + turned * angle.sin()


def attention(w, prefix, x):
    head = HIDDEN // HEADS
    split = lambda y, heads: y.view(SEQUENCES, LENGTH, heads, head).transpose(1, 2)
    q = rotate(split(x @ w[prefix + "q_proj.weight"].T, HEADS))
    k = rotate(split(x @ w[prefix + "k_proj.weight"].T, KV_HEADS))
    v = split(x @ w[prefix + "v_proj.weight"].T, KV_HEADS)
    k, v = (y.repeat_interleave(HEADS // KV_HEADS, dim=1) for y in (k, v))
    scores = q @ k.transpose(2, 3) / math.sqrt(head)
    scores = scores.masked_fill(torch.triu(torch.ones(LENGTH, LENGTH, dtype=torch.bool), 1), float("-inf"))
    out = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(SEQUENCES, LENGTH, HIDDEN)
    return out @ w[prefix + "o_proj.weight"].T


def feed_forward(w, prefix, x):
    gate, up = x @ w[prefix + "gate_proj.weight"].T, x @ w[prefix + "up_proj.weight"].T
    return (torch.nn.functional.silu(gate) * up) @ w[prefix + "down_proj.weight"].T


def loss_of(w, inputs, targets, tied):
    x = w["model.embed_tokens.weight"][inputs]
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        x = x + attention(w, prefix + "self_attn.", norm(x, w[prefix + "input_layernorm.weight"]))
        x = x + feed_forward(w, prefix + "mlp.", norm(x, w[prefix + "post_attention_layernorm.weight"]))
    head = w["model.embed_tokens.weight" if tied else "lm_head.weight"]
    logits = norm(x, w["model.norm.weight"]) @ head.T
    return torch.nn.functional.cross_entropy(logits.view(-1, VOCABULARY), targets.reshape(-1))


def make(path, tied):
    w = {name: initial(name, shape).requires_grad_() for name, shape in shapes(tied)}
    groups = [{"params": [p for p in w.values() if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in w.values() if p.dim() == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.95), eps=1e-8)
    losses, first = [], None
    for step in range(1, STEPS + 1):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, step / WARMUP)
        optimizer.zero_grad()
        loss = loss_of(w, *batch(step), tied)
        loss.backward()
        if first is None:
            first = torch.cat([p.grad.reshape(-1) for p in w.values()]).clone()
        total = torch.nn.utils.clip_grad_norm_(w.values(), 1.0)
        if step == 1:
            first_norm = float(total)
        optimizer.step()
        losses.append(float(loss))
    with open(path, "wb") as out:
        out.write(struct.pack(f"<{STEPS + 1}d", *losses, first_norm))
        out.write(first.numpy().astype("<f4").tobytes())
    print(path.name, losses[0], losses[-1], first_norm, first.numel())


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    folder = Path(sys.argv[0]).resolve().parent
    make(folder / "llama_tied.bin", True)
    make(folder / "llama_untied.bin", False)
