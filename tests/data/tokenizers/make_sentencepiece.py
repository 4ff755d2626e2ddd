#!/usr/bin/env python3
"""Makes the golden SentencePiece models and ids beside this script, with the `sentencepiece` Python package (0.2.1 or later).

make_sentencepiece.py [FOLDER]   trains a BPE model with byte fallback and a unigram model on make_golden's text, writes
                                 sentencepiece_bpe.model, sentencepiece_unigram.model and sentencepiece.json: texts in
                                 hexadecimal and the ids that the package gives.
"""
import io
import json
import os
import sys

import sentencepiece

import make_golden


def train(kind, vocab_size):
    model = io.BytesIO()
    lines = [line for line in make_golden.TEXT.splitlines() if line]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, model_type=kind, vocab_size=vocab_size, byte_fallback=True,
        normalization_rule_name="identity" if kind == "bpe" else "nmt_nfkc", remove_extra_whitespaces=kind != "bpe",
        minloglevel=2, num_threads=1, character_coverage=0.98)
    return model.getvalue()


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    texts = [text for text in make_golden.texts() if len(text) < 400]
    cases = {"texts": [text.encode().hex() for text in texts], "ids": {}}
    for kind, vocab_size in (("bpe", 600), ("unigram", 520)):
        model = train(kind, vocab_size)
        with open(os.path.join(folder, f"sentencepiece_{kind}.model"), "wb") as file:
            file.write(model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        cases["ids"][kind] = [processor.encode(text) for text in texts]
    with open(os.path.join(folder, "sentencepiece.json"), "w", encoding="utf-8") as file:
        json.dump(cases, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
