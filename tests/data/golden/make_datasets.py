#!/usr/bin/env python3
"""Makes one small file of each data format into tests/data/golden/datasets, from the formats' descriptions alone.

Usage: tests/data/golden/make_datasets.py. The tests know the documents and tokens below.
"""
import json
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent / "datasets"
TEXTS = ["The first document.", "", "Größe, 中文, 😀 and\n\"quotes\"\\.", "The last."]
GPT2_TOKENS = [50256, 464, 717, 3188, 13, 50256, 464, 938, 13]
LLAMA3_TOKENS = [128000, 791, 1176, 2246, 13, 128001]
SEQUENCES = [[50256, 464, 717], [3188], [], [13, 50256, 464, 938, 13]]
DOCUMENTS = [0, 2, 4]  # the first two sequences are one document, the last two another


def write(name, content):
    (FOLDER / name).write_bytes(content)


def shard(magic, version, tokens, code):
    header = [magic, version, len(tokens)] + [0] * 253
    return struct.pack("<256i", *header) + struct.pack(f"<{len(tokens)}{code}", *tokens)


def index(code, width):
    lengths = [len(sequence) for sequence in SEQUENCES]
    begins = [sum(lengths[:i]) * width for i in range(len(lengths))]
    return (b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(lengths), len(DOCUMENTS))
            + struct.pack(f"<{len(lengths)}i", *lengths) + struct.pack(f"<{len(begins)}q", *begins)
            + struct.pack(f"<{len(DOCUMENTS)}q", *DOCUMENTS))


def main():
    FOLDER.mkdir(exist_ok=True)
    lines = [json.dumps({"id": 0, "text": TEXTS[0], "meta": {"text": "not this"}}),
             json.dumps({"text": TEXTS[1]}),
             json.dumps({"url": "x", "text": TEXTS[2]}, ensure_ascii=True),
             json.dumps({"text": TEXTS[3]}, ensure_ascii=False)]
    write("lines.jsonl", "\n".join(lines).encode() + b"\n")
    write("gpt2.bin", shard(20240520, 1, GPT2_TOKENS, "H"))
    write("llama3.bin", shard(20240801, 7, LLAMA3_TOKENS, "I"))
    tokens = [token for sequence in SEQUENCES for token in sequence]
    for name, code, width, letter in [("uint16", 8, 2, "H"), ("int32", 4, 4, "i"), ("int64", 5, 8, "q")]:
        write(f"megatron_{name}.idx", index(code, width))
        write(f"megatron_{name}.bin", struct.pack(f"<{len(tokens)}{letter}", *tokens))


if __name__ == "__main__":
    main()
