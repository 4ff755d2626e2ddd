#!/usr/bin/env python3
"""Makes the golden tokenizers and ids beside this script, with the `tokenizers` Python package (0.23.3 made them).

make_golden.py [FOLDER]   trains a small tokenizer in the form of each family on the text below, writes <family>.json, and
                          cases.json: for each family and text the ids that the package gives, texts in hexadecimal
                          UTF-8; and merges.json: what the package's trainer learns from the text below.
"""
import json
import os
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|"
        r"\s+")
END = "<|endoftext|>"

TEXT = """The quick brown fox jumps over the lazy dog. She said: "I'll go, you've seen it; he'd say we're late."
In 2024, 1,234,567 people paid $9.99 for 3.14159 pies at 12:30.  The theory, then, is this: the weather is there.
def encode(text, ids):\n\tfor i in range(10):\n\t\tids.append(text[i])\n\n    return ids  # done
Grüße aus München, où l'été est déjà fini; mañana será otro día. Zażółć gęślą jaźń. İstanbul'da ağaç.
Съешь ещё этих мягких французских булок, да выпей чаю. Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.
我能吞下玻璃而不伤身体。今天天气很好，我们去公园吧。 私はガラスを食べられます。それは私を傷つけません。 나는 유리를 먹을 수 있어요.
أنا قادر على أكل الزجاج و هذا لا يؤلمني. אני יכול לאכול זכוכית וזה לא מזיק לי. मैं काँच खा सकता हूँ। ฉันกินกระจกได้
🙂🙃👍🏽 👩‍👩‍👧‍👦 🇩🇪🇫🇷 ❤️‍🔥 ½ ² Ⅷ ∑∫√ €£¥ “quotes” – dashes — … ‘single’
https://example.org/a/b?c=d&e=f#g  x = {"key": [1, 2, 3], "other": null}; // comment\r\n#include <stdio.h>\r\n
"""

TEXTS = [
    "", " ", "  ", "a", "hello world", " hello  world ", "   leading", "trailing   ", "\n", "\n\n", " \n \n", "a\n\nb", "a \n b",
    "\t\tx", "\r\n", "a\r\n\r\nb", "x\u00a0y", "\u3000\u3000全角", "a\u2028b\u2029c", "\x85nel\x85", "\x0b\x0c", "a\u200bb", "\u180ea",
    "1", "12", "123", "1234", "12345678901234567890", "3.14159", "1,234,567", "\u0661\u0662\u0663\u0664", "\u00bd\u00b2\u2167", "v2.0-rc1",
    "I'll you've he'd WE'RE it'S don'T 'tis '", "I\u2019ll you\u2019ve", "'\u017f'", "can't've", "'''", "rock'n'roll",
    "\u0000", "a\u0000b", "\x01\x02\x1b[0m", "\x7f", "\ufeffbom", "\ufffd", "\U0010ffff", "\ud7ff\ue000",
    "我能吞下玻璃而不伤身体。", "私はガラスを食べられます", "나는 유리를", "한글", "ㅎㅏㄴㄱㅡㄹ", "\u1112\u1161\u11ab", "\uac00\u11a8",
    "e\u0301", "\u00e9", "e\u0301\u0302", "e\u0302\u0301", "A\u030a \u00c5 \u212b", "q\u0323\u0307", "q\u0307\u0323", "\u0958", "\u0915\u093c",
    "\u0301", " \u0301", "a\u0301\u0301\u0301", "\ufb01 \ufb06", "\u1e9b\u0323", "\u2126\u212a", "\uff76\uff9e", "\u09c7\u09be",
    "🙂", "🙂🙃", "👍🏽", "👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "❤️‍🔥", "a🙂b", " 🙂 ", "Ελληνικά", "Съешь ещё", "İstanbul ı", "ß ẞ", "ǅ ǆ",
    "السلام عليكم", "שלום", "मैं काँच", "ฉันกินกระจกได้", "Zażółć gęślą jaźń",
    "def f(x):\n    return x  # c\n\n\n\tpass", "x=={}[]();:,.<>/?!@#$%^&*-_=+|\\~`", "....", "!!! ???", "a--b", "__init__", "C++ && C#",
    "https://example.org/a?b=c&d=e#f", "{\"key\": [1, 2, 3]}", "//comment\r\n#include <stdio.h>\r\n\r\n",
    END, "a" + END + "b", " " + END + " ", END + END, "<|endoftext", "<|endoftext|", "<<|endoftext|>>", "\n" + END + "\n\n",
    "a<|im_start|>user\nhi<|im_end|>", "<sep>", "a <sep> b", "a<sep>b", "x  <mask>  y", "<mask>", "e\u0301" + END + "\u0301", "caf\u00e9X cafe\u0301X",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "the" * 40, "=" * 100, " " * 100 + "x",
    "\n" * 50 + "y", "ab" * 60 + " " + "ba" * 60, "玻璃" * 50, "🙂" * 30, "1" * 100, "\u0301" * 40,
]


def scrambled(seed, size):
    """A text of pieces of TEXT and of rare characters, the same every time."""
    rng = random.Random(seed)
    rare = "\u0000\t\r\n\u0085\u00a0\u0300\u0301\u0308\u0327\u1161\u11a8\u200b\u200d\u2028\u3000\ufe0f\ufeff\uac00\ud7a3😀👍🏽"
    out = ""
    while len(out) < size:
        kind = rng.randrange(10)
        if kind < 6:
            at = rng.randrange(len(TEXT))
            out += TEXT[at:at + rng.randrange(1, 40)]
        elif kind < 8:
            out += "".join(rng.choice(rare) for _ in range(rng.randrange(1, 5)))
        elif kind == 8:
            out += rng.choice([" ", "\n", "0", "a", "'s", END]) * rng.randrange(1, 9)
        else:
            code = rng.choice([rng.randrange(0x20, 0x250), rng.randrange(0x370, 0x600), rng.randrange(0x900, 0xe00),
                               rng.randrange(0x2000, 0x2c00), rng.randrange(0x1f300, 0x1f650)])
            out += chr(code)
    return out


def bpe_trainer(specials, size=800, **more):
    return trainers.BpeTrainer(vocab_size=size, special_tokens=specials, show_progress=False, **more)


def byte_level(pattern, normalizer, specials, size=800):
    tokenizer = Tokenizer(models.BPE())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    byte = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    split = [] if pattern is None else [pre_tokenizers.Split(Regex(pattern), "isolated")]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(split + [byte]) if split else byte
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator([TEXT], bpe_trainer(specials, size, initial_alphabet=alphabet))
    return tokenizer


def changed(tokenizer, **fields):
    """The tokenizer with fields of its model set, which have no setter."""
    data = json.loads(tokenizer.to_str())
    data["model"].update(fields)
    return Tokenizer.from_str(json.dumps(data))


def gpt2():
    return byte_level(None, None, [AddedToken(END, special=True, normalized=True)])


def llama3():
    tokenizer = byte_level(LLAMA3, None, ["<|begin_of_text|>", END])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", 0)])
    return changed(tokenizer, ignore_merges=True)


def qwen():
    tokenizer = byte_level(QWEN, normalizers.NFC(), [END, "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken("caf\u00e9X", normalized=True)])
    return tokenizer


def spaced():
    """A prefix space, added tokens that look around, digits one by one."""
    tokenizer = byte_level(None, None, [END])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=True)])
    tokenizer.add_tokens([AddedToken("<sep>", single_word=True), AddedToken("<mask>", lstrip=True, rstrip=True)])
    return tokenizer


def llama2():
    """Characters, byte fallback, ▁ for spaces."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    bytes_ = [f"<0x{i:02X}>" for i in range(256)]
    tokenizer.train_from_iterator([TEXT[:400]], bpe_trainer(["<unk>", "<s>", "</s>"] + bytes_, 500))
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = data["added_tokens"][:3]
    data["model"].update(byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    data["pre_tokenizer"] = None
    data["normalizer"] = {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}
    data["decoder"] = {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    return Tokenizer.from_str(json.dumps(data))


FAMILIES = {"gpt2": gpt2, "llama3": llama3, "qwen": qwen, "spaced": spaced, "llama2": llama2}


def texts():
    return TEXTS + [TEXT] + [scrambled(seed, 300) for seed in range(40)] + [scrambled(99, 8000)]


def merges(pattern, vocab_size, min_frequency):
    """What the trainer learns: the tokenizers TRAIN TOKENIZER must equal."""
    tokenizer = Tokenizer(models.BPE())
    byte = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    split = [] if pattern is None else [pre_tokenizers.Split(Regex(pattern), "isolated")]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(split + [byte])
    trainer = bpe_trainer([END], vocab_size, min_frequency=min_frequency,
                          initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator([TEXT, scrambled(7, 20000).replace(END, "")], trainer)
    return json.loads(tokenizer.to_str())["model"]["merges"]


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    cases = {"texts": [text.encode("utf-8", "surrogatepass").hex() for text in texts()], "ids": {}}
    for name, make in FAMILIES.items():
        tokenizer = make()
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            file.write(tokenizer.to_str() + "\n")
        cases["ids"][name] = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts()]
    with open(os.path.join(folder, "cases.json"), "w", encoding="utf-8") as file:
        json.dump(cases, file, separators=(",", ":"))
        file.write("\n")
    learned = {"documents": [TEXT.encode().hex(), scrambled(7, 20000).replace(END, "").encode().hex()], "runs": [
        {"pattern": name, "vocab_size": size, "min_frequency": least, "merges": merges(pattern, size, least)}
        for name, pattern, size, least in (("gpt2", None, 600, 2), ("llama3", LLAMA3, 100000, 2), ("qwen", QWEN, 1000, 0))]}
    with open(os.path.join(folder, "merges.json"), "w", encoding="utf-8") as file:
        json.dump(learned, file, separators=(",", ":"), ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    main()
