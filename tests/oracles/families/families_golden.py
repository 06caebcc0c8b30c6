"""Writes what PyTorch and transformers make of a tiny model of every family, as one JSON object on standard output.

Called by families.test.ts when REKINDLE_ORACLE_PYTHON names a Python with torch, transformers and safetensors:
    REKINDLE_ORACLE_PYTHON=/path/to/python npx vitest run tests/oracles/families.test.ts
which renews families-golden.json. Standard input: {folder: {rows, temperature, adamw, greedyTokens}}, where a row has ids, and
trained and weights for each id. Everything is computed in float64.
"""

import json
import math
import sys
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import torch
import transformers
from transformers import AutoModelForCausalLM


def rounded(values, digits=9):
    return [float(f"{value:.{digits}g}") for value in values]


def summary(tensor):
    """Its norm, and its products with two fixed directions."""
    flat = tensor.flatten()
    index = torch.arange(flat.numel(), dtype=torch.float64)
    directions = [torch.cos(0.1 * k * index + k) for k in (1, 2)]
    return rounded([flat.norm().item(), *((flat @ direction).item() for direction in directions)])


def token_logprobs(model, row, temperature):
    ids = torch.tensor([row["ids"]])
    logits = model(ids).logits[0]
    logprobs = torch.log_softmax(logits / temperature, -1)[:-1].gather(1, ids[0, 1:, None])[:, 0]
    return logits, logprobs


def describe(folder, request):
    model, loading = AutoModelForCausalLM.from_pretrained(
        folder, attn_implementation="eager", output_loading_info=True
    )
    assert not any(loading[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), loading
    model = model.double()
    loss = 0.0
    all_logprobs = []
    for row in request["rows"]:
        logits, logprobs = token_logprobs(model, row, request["temperature"])
        trained = torch.tensor(row["trained"][1:], dtype=torch.float64)
        weights = torch.tensor(row["weights"][1:], dtype=torch.float64)
        loss = loss - (trained * weights * logprobs).sum()
        all_logprobs.append(rounded(logprobs.tolist()))
    loss.backward()
    prompt = torch.tensor([row["ids"]])
    greedy = model.generate(
        prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=request["greedyTokens"]
    )
    parameters = dict(model.named_parameters())
    gradients = {name: summary(parameter.grad) for name, parameter in parameters.items()}

    settings = request["adamw"]
    before = {name: parameter.detach().clone() for name, parameter in parameters.items()}
    norm = torch.nn.utils.clip_grad_norm_(parameters.values(), settings["gradientClip"])
    decayed = [parameter for parameter in parameters.values() if parameter.dim() > 1]
    others = [parameter for parameter in parameters.values() if parameter.dim() == 1]
    torch.optim.AdamW(
        [{"params": decayed, "weight_decay": settings["weightDecay"]}, {"params": others, "weight_decay": 0.0}],
        lr=settings["learningRate"],
        betas=(settings["beta1"], settings["beta2"]),
        eps=settings["epsilon"],
    ).step()
    return {
        "config": "sha256:" + sha256((Path(folder) / "config.json").read_bytes()).hexdigest(),
        "class": type(model).__name__,
        "lastLogits": rounded(logits[-1].tolist()),
        "greedy": greedy[0, len(row["ids"]) :].tolist(),
        "loss": rounded([loss.item()])[0],
        "logprobs": all_logprobs,
        "gradientNorm": rounded([norm.item()])[0],
        "gradients": gradients,
        "updates": {name: summary(parameter.detach() - before[name]) for name, parameter in parameters.items()},
    }


def main():
    requests = json.load(sys.stdin)
    golden = {
        "source": {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__},
        "models": {Path(folder).name: describe(folder, request) for folder, request in requests.items()},
    }
    print(json.dumps(golden, separators=(",", ":")).replace('"models":{', '"models":{\n').replace("}},", "}},\n"))


main()
