"""Models go between transformers and traind without a change: bits of weights, logits, and what is generated.

transformers_test.py PRINT_LOGITS: that program computes a directory's logits with our engine. Exits with 77 where
transformers is not installed; the logits in tests/data/golden stand for it there.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import traind_daemon as traind  # noqa: E402

TOKENS = [(29 * i + 5) % 256 for i in range(40)]
CONFIG = dict(vocab_size=256, hidden_size=48, intermediate_size=96, num_hidden_layers=3, num_attention_heads=6,
              num_key_value_heads=2, max_position_embeddings=64, initializer_range=0.1, bos_token_id=0,
              eos_token_id=0)


def installed():
    try:
        import safetensors  # noqa: F401
        import torch
        import transformers
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        torch.set_num_threads(1)
        return True
    except ImportError as error:
        print("skipped: %s" % error)
        return False


def logits_of_transformers(directory):
    import torch
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    with torch.no_grad():
        return model(torch.tensor([TOKENS])).logits[0]


def logits_of_ours(program, directory):
    import torch
    text = subprocess.run([program, directory] + [str(token) for token in TOKENS], check=True, capture_output=True,
                          text=True).stdout
    return torch.tensor([[float(number) for number in line.split()] for line in text.splitlines()])


def assert_logits(program, directory, tolerance=1e-4):
    theirs, ours = logits_of_transformers(directory), logits_of_ours(program, directory)
    worst = (theirs - ours).abs().max().item()
    print("%s: logits differ by %.2g at most, the largest is %.3g" % (
        os.path.basename(directory), worst, theirs.abs().max().item()))
    assert worst <= tolerance, worst


def assert_same_weights(model, directory):
    """The exported weights are the model's, bit for bit."""
    import torch
    from safetensors.torch import load_file
    exported = load_file(os.path.join(directory, "model.safetensors"))
    for name, tensor in model.state_dict().items():
        if name not in exported:
            assert name == "lm_head.weight" and model.config.tie_word_embeddings, name
            continue
        assert torch.equal(exported[name].view(torch.int32), tensor.float().view(torch.int32)), name


def assert_same_text(client, model, directory):
    """The likeliest continuation is the same."""
    import torch
    from transformers import AutoModelForCausalLM
    theirs = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    prompt = torch.tensor([list(b"The quick brown fox")])
    made = theirs.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=20, do_sample=False)
    text = bytes(made[0, prompt.shape[1]:].tolist()).split(b"\0")[0].decode("utf-8", "replace")
    ours = client.rows("GENERATE FROM MODEL %s PROMPT 'The quick brown fox' USING (max_tokens=20, temperature=0)"
                       % model)[0][1]
    assert ours == text, (ours, text)


def llama(**changes):
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(**dict(CONFIG, **changes)))


def qwen2():
    from transformers import Qwen2Config, Qwen2ForCausalLM
    return Qwen2ForCausalLM(Qwen2Config(**CONFIG))


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(vocab_size=256, n_embd=48, n_layer=3, n_head=6, n_positions=64, bos_token_id=0,
                                      eos_token_id=0, initializer_range=0.1))


def round_trip(client, program, scratch, name, dtype, shard_size, build=llama, **changes):
    import torch
    torch.manual_seed(len(name))
    model = build(**changes).to(dtype)
    source, out, trained = scratch / (name + "-in"), scratch / (name + "-out"), scratch / (name + "-trained")
    model.save_pretrained(source, max_shard_size=shard_size)
    client.execute("IMPORT MODEL %s FROM '%s'" % (name, source))
    client.execute("EXPORT MODEL %s@1 TO '%s' FORMAT safetensors" % (name, out))
    assert_same_weights(model, out)
    assert_logits(program, out)
    assert_same_text(client, name, out)
    client.execute("TRAIN MODEL %s FROM '%s' USING (sequence_length=64, batch_tokens=512, learning_rate=1e-3) "
                   "FOR 10 STEPS WAIT" % (name, traind.TEXT))
    client.execute("EXPORT MODEL %s@2 TO '%s' FORMAT safetensors" % (name, trained))
    assert_logits(program, trained)
    assert_same_text(client, name, trained)


def main():
    if not installed():
        return 77
    import torch
    program = sys.argv[1]
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        client = daemon.start()
        round_trip(client, program, scratch, "plain", torch.float32, "1GB")
        round_trip(client, program, scratch, "tied", torch.float32, "1GB", tie_word_embeddings=True)
        round_trip(client, program, scratch, "half", torch.bfloat16, "60KB")
        round_trip(client, program, scratch, "float16", torch.float16, "1GB", num_key_value_heads=6)
        round_trip(client, program, scratch, "stretched", torch.float32, "1GB",
                   rope_parameters=dict(rope_type="llama3", rope_theta=10000.0, factor=4.0, low_freq_factor=1.0,
                                        high_freq_factor=4.0, original_max_position_embeddings=32))
        round_trip(client, program, scratch, "qwen", torch.float32, "1GB", qwen2)
        round_trip(client, program, scratch, "learned", torch.float32, "1GB", gpt2)
        assert daemon.stop(client) == 0
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
