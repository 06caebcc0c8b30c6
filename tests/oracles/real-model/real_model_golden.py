"""Writes what transformers makes of a real model and of its export, as one JSON object on standard output.

Called by real-model.test.ts when REKINDLE_ORACLE_PYTHON names a Python with torch, transformers and safetensors.
Standard input: {source, export, prompts, newTokens}, two folders, texts and a number. Everything is computed in float32.
"""

import json
import sys

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer


def load(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def describe(prompt, tokenizer, source, exported, new_tokens):
    ids = tokenizer(prompt, add_special_tokens=False, return_tensors="pt").input_ids
    mask = torch.ones_like(ids)
    # Without an end token, so that every continuation has the same length.
    row = exported.generate(
        ids, attention_mask=mask, do_sample=False, max_new_tokens=new_tokens, eos_token_id=None, pad_token_id=0
    )
    logits = exported(row).logits[0]
    logprobs = torch.log_softmax(logits.double(), -1)[:-1].gather(1, row[0, 1:, None])[:, 0]
    best = logits[ids.shape[1] - 1 : -1].topk(2, -1).values
    return {
        "prompt": prompt,
        "ids": ids[0].tolist(),
        "greedy": row[0, ids.shape[1] :].tolist(),
        "text": tokenizer.decode(row[0, ids.shape[1] :]),
        "logprobs": [float(f"{value:.9g}") for value in logprobs.tolist()],
        "leastMargin": float(f"{(best[:, 0] - best[:, 1]).min().item():.3g}"),
        "exportDifference": (logits - source(row).logits[0]).abs().max().item(),
    }


def main():
    request = json.load(sys.stdin)
    tokenizer = AutoTokenizer.from_pretrained(request["export"])
    source, exported = load(request["source"]), load(request["export"])
    with torch.no_grad():
        prompts = [
            describe(prompt, tokenizer, source, exported, request["newTokens"]) for prompt in request["prompts"]
        ]
    versions = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    print(json.dumps({"source": versions, "prompts": prompts}))


main()
