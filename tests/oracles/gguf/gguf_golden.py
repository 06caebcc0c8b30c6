"""Writes gguf-golden.json: blocks of every tensor type with the values that the gguf package gives them, and a SentencePiece
model as its metadata in a GGUF file, with the ids that SentencePiece itself gives to texts.

Made with Python 3.11, gguf 0.19.0, sentencepiece 0.2.3:
    python gguf_golden.py > gguf-golden.json
"""

import base64
import json
import sys
import tempfile

import numpy
import sentencepiece
from gguf import GGMLQuantizationType as Type
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize

BLOCKS = 3
# Where the float16 scales of a block are, so that they can be made finite.
SCALES = {Type.Q8_0: [0], Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208]}


def base64_of(array: numpy.ndarray) -> str:
    return base64.b64encode(array.tobytes()).decode()


def blocks(kind: Type, random: numpy.random.Generator) -> dict:
    _, size = GGML_QUANT_SIZES[kind]
    data = random.integers(0, 256, (BLOCKS, size), dtype=numpy.uint8)
    for place in SCALES[kind]:
        data[:, place : place + 2] = random.normal(0, 0.1, (BLOCKS, 1)).astype(numpy.float16).view(numpy.uint8)
    return {"type": int(kind), "name": kind.name, "bytes": base64_of(data), "values": base64_of(dequantize(data.reshape(1, -1), kind).astype(numpy.float32))}


def floats(random: numpy.random.Generator) -> list[dict]:
    values = random.normal(0, 1, 32).astype(numpy.float32)
    half = values.astype(numpy.float16)
    brain = (values.view(numpy.uint32) >> 16).astype(numpy.uint16)
    widened = (brain.astype(numpy.uint32) << 16).view(numpy.float32)
    return [
        {"type": 0, "name": "F32", "bytes": base64_of(values), "values": base64_of(values)},
        {"type": 1, "name": "F16", "bytes": base64_of(half), "values": base64_of(half.astype(numpy.float32))},
        {"type": 30, "name": "BF16", "bytes": base64_of(brain), "values": base64_of(widened)},
    ]


SENTENCES = ["the cat sat on the mat and the hat", "a theatre is there, then the other", "one two three 123 456", "caf\u00e9 na\u00efve", "x = y + z; return x"] * 5
TEXTS = ["", " ", "the cat", " the  other cat ", "there is 123", "caf\u00e9 \u65e5\u672c \U0001f600", "\n\ttab", "x=y", "thethethe hat mat", "<s> the", "   "]


def sentence_piece(add_dummy_prefix: bool) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(SENTENCES), model_prefix=f"{folder}/m", model_type="bpe", vocab_size=340, byte_fallback=True,
            normalization_rule_name="identity", add_dummy_prefix=add_dummy_prefix, remove_extra_whitespaces=False, minloglevel=2,
        )
        model = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/m.model")
    size = model.get_piece_size()
    kinds = [2 if model.is_unknown(i) else 3 if model.is_control(i) else 6 if model.is_byte(i) else 1 for i in range(size)]
    return {
        "addSpacePrefix": add_dummy_prefix,
        "tokens": [model.id_to_piece(i) for i in range(size)],
        "scores": [model.get_score(i) for i in range(size)],
        "kinds": kinds,
        "ids": [model.encode(text) for text in TEXTS],
    }


random = numpy.random.default_rng(4)
golden = {
    "tensors": floats(random) + [blocks(kind, random) for kind in SCALES],
    "texts": TEXTS,
    "sentencePiece": [sentence_piece(True), sentence_piece(False)],
}
json.dump(golden, sys.stdout, separators=(",", ":"))
