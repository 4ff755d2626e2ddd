#!/usr/bin/env python3
"""Makes op_golden.txt: what PyTorch's autograd, in fp64, says about each operator.

Run with Debian's python3-torch: /usr/bin/python3 tests/data/golden/make_op_golden.py
Each line is `name dimensions : values`. Inputs are rounded to fp32, so that the operators get exactly them.
"""
import os

import torch
import torch.nn.functional as F

torch.manual_seed(20240229)
torch.set_num_threads(1)
LINES = []


def keep(name, tensor):
    values = tensor.detach().reshape(-1).tolist()
    if tensor.dtype == torch.int64:
        text = " ".join(str(value) for value in values)
    else:
        text = " ".join("%.10g" % value for value in values)
    LINES.append("%s %s : %s" % (name, " ".join(str(d) for d in tensor.shape), text))
    return tensor


def random(name, *shape, deviation=1.0):
    values = (torch.randn(*shape, dtype=torch.float64) * deviation).float().double()
    return keep(name, values).requires_grad_()


def embedding():
    token = keep("embedding.token", torch.randint(0, 11, (13,)))
    weight = random("embedding.weight", 11, 6)
    dy = random("embedding.dy", 13, 6)
    y = keep("embedding.y", F.embedding(token, weight))
    y.backward(dy.detach())
    keep("embedding.dweight", weight.grad)


def rms_norm():
    x = random("rms_norm.x", 5, 24, deviation=2)
    weight = random("rms_norm.weight", 24)
    dy = random("rms_norm.dy", 5, 24)
    # As LlamaRMSNorm: the variance is the mean of squares.
    y = weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))
    keep("rms_norm.y", y).backward(dy.detach())
    keep("rms_norm.dx", x.grad)
    keep("rms_norm.dweight", weight.grad)


def linear():
    x = random("linear.x", 7, 20)
    weight = random("linear.weight", 9, 20)
    dy = random("linear.dy", 7, 9)
    keep("linear.y", F.linear(x, weight)).backward(dy.detach())
    keep("linear.dx", x.grad)
    keep("linear.dweight", weight.grad)


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def rotated(x, sequence, theta):
    """x: [B, H, T, D], as Hugging Face's apply_rotary_pos_emb: frequencies and angles in fp32."""
    size = x.shape[-1]
    frequency = 1.0 / (theta ** (torch.arange(0, size, 2).float() / size))
    angle = torch.outer(torch.arange(sequence).float(), frequency)
    angle = torch.cat((angle, angle), dim=-1)
    cosine, sine = angle.cos().double(), angle.sin().double()
    return x * cosine + rotate_half(x) * sine


def attention():
    """The fused buffer through RoPE and causal grouped-query attention."""
    batch, sequence, heads, groups, size = 2, 37, 4, 2, 8
    qkv = random("attention.qkv", batch, sequence, (heads + 2 * groups) * size)
    dout = random("attention.dout", batch, sequence, heads * size)

    def split(x, count):
        return x.view(batch, sequence, count, size).transpose(1, 2)

    q, k, v = qkv.split([heads * size, groups * size, groups * size], dim=-1)
    q = rotated(split(q, heads), sequence, 10000.0)
    k = rotated(split(k, groups), sequence, 10000.0).repeat_interleave(heads // groups, dim=1)
    v = split(v, groups).repeat_interleave(heads // groups, dim=1)
    scores = q @ k.transpose(-1, -2) / size**0.5
    mask = torch.ones(sequence, sequence, dtype=torch.bool).tril()
    scores = scores.masked_fill(~mask, float("-inf"))
    keep("attention.lse", torch.logsumexp(scores, dim=-1))
    out = (F.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(batch, sequence, heads * size)
    keep("attention.out", out).backward(dout.detach())
    keep("attention.dqkv", qkv.grad)


def swiglu():
    gate_up = random("swiglu.gate_up", 6, 38, deviation=3)
    dy = random("swiglu.dy", 6, 19)
    gate, up = gate_up.chunk(2, dim=-1)
    keep("swiglu.y", F.silu(gate) * up).backward(dy.detach())
    keep("swiglu.dgate_up", gate_up.grad)


def cross_entropy():
    logits = random("cross_entropy.logits", 9, 43, deviation=3)
    target = keep("cross_entropy.target", torch.randint(0, 43, (9,)))
    loss = F.cross_entropy(logits, target)
    keep("cross_entropy.loss", loss.reshape(1)).backward()
    keep("cross_entropy.dlogits", logits.grad)


def adamw():
    """Five steps with clipping by the global norm."""
    weight = random("adamw.weight", 50).detach().clone().requires_grad_()
    optimizer = torch.optim.AdamW([weight], lr=3e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    for step in range(1, 6):
        weight.grad = random("adamw.gradient%d" % step, 50).detach().clone()
        norm = torch.nn.utils.clip_grad_norm_([weight], 1.0)
        keep("adamw.norm%d" % step, norm.reshape(1))
        optimizer.step()
    keep("adamw.updated", weight)


for make in (embedding, rms_norm, linear, attention, swiglu, cross_entropy, adamw):
    make()
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "op_golden.txt")
with open(path, "w") as file:
    file.write("\n".join(LINES) + "\n")
print("%s: %d tensors, PyTorch %s" % (path, len(LINES), torch.__version__))
