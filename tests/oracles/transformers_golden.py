"""Writes what transformers makes of exported model folders, as one JSON object on standard output.

Called by transformers.test.ts when REKINDLE_ORACLE_PYTHON names a Python with torch, transformers and safetensors:
    REKINDLE_ORACLE_PYTHON=/path/to/python npx vitest run tests/oracles
which renews transformers-golden.json. Standard input: {folder: {ids, texts, conversations}}.
"""

import base64
import json
import sys
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import torch
from safetensors.torch import load_file, save
from transformers import AutoModelForCausalLM, AutoTokenizer


def rounded(values, digits=9):
    return [float(f"{value:.{digits}g}") for value in values]


def describe(folder, request):
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = torch.tensor([request["ids"]])
    with torch.no_grad():
        logits = model.double()(ids).logits[0]
        greedy = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=8)
    logprobs = torch.log_softmax(logits, -1)
    weights = load_file(Path(folder) / "model.safetensors")
    return {
        "dtype": str(next(iter(weights.values())).dtype),
        "fileOfSameTensors": "sha256:" + sha256(save(weights, metadata={"format": "pt"})).hexdigest(),
        "logprobs": rounded(logprobs[:-1].gather(1, ids[0, 1:, None])[:, 0].tolist()),
        "lastLogits": rounded(logits[-1].tolist()),
        "greedy": greedy[0, len(request["ids"]) :].tolist(),
        "stopIds": sorted({tokenizer.eos_token_id, *as_list(model.generation_config.eos_token_id)}),
        "encoded": [tokenizer.encode(text, add_special_tokens=False) for text in request["texts"]],
        "decoded": [
            tokenizer.decode(tokenizer.encode(text, add_special_tokens=False), skip_special_tokens=True)
            for text in request["texts"]
        ],
        "rendered": [
            tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=generate)
            for messages in request["conversations"]
            for generate in (True, False)
        ],
    }


def mixed_precision_file():
    """A file by the safetensors package with each dtype that is read, and its values as float32."""
    values = torch.tensor([0.0, -1.5, 1 / 3, 1e-7, 6e4, 3e38, float("-inf")])
    tensors = {
        "full": values.reshape(1, 7),
        "half": values[:5].half(),
        "brain": values.bfloat16(),
        "empty": torch.zeros(0, 3),
        "scalar": torch.tensor(2.5),
    }
    return {
        "base64": base64.b64encode(save(tensors, metadata={"made by": "safetensors"})).decode(),
        "tensors": {
            name: {"shape": list(tensor.shape), "hex": tensor.float().numpy().tobytes().hex()}
            for name, tensor in tensors.items()
        },
    }


def as_list(value):
    return value if isinstance(value, list) else [value]


if __name__ == "__main__":
    requests = json.load(sys.stdin)
    golden = {
        "source": {name: version(name) for name in ("torch", "transformers", "tokenizers", "safetensors")},
        "mixedPrecision": mixed_precision_file(),
        "models": {Path(folder).name: describe(folder, request) for folder, request in requests.items()},
    }
    print(json.dumps(golden))
