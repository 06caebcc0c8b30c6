"""Writes what PEFT, transformers and PyTorch make of adapters and heads on a tiny model, as one JSON object on standard output.

Called by peft.test.ts when REKINDLE_ORACLE_PYTHON names a Python with torch, transformers, peft and safetensors:
    REKINDLE_ORACLE_PYTHON=/path/to/python npx vitest run tests/oracles/peft.test.ts
which renews peft-golden.json. Standard input: {base, adapter, scored, rows, adamw}: folders of a model, of an adapter on it, and of
the same model with a score; rows of token ids. Everything is computed in float64.
"""

import base64
import json
import sys
import tempfile
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification


def rounded(values, digits=9):
    return [float(f"{value:.{digits}g}") for value in values]


def summary(tensor):
    """Its norm, and its products with two fixed directions."""
    flat = tensor.flatten()
    index = torch.arange(flat.numel(), dtype=torch.float64)
    directions = [torch.cos(0.1 * k * index + k) for k in (1, 2)]
    return rounded([flat.norm().item(), *((flat @ direction).item() for direction in directions)])


def base_model(folder):
    return AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")


def token_logprobs(model, ids):
    logprobs = torch.log_softmax(model(torch.tensor([ids])).logits[0], -1)
    return logprobs[:-1].gather(1, torch.tensor(ids)[1:, None])[:, 0]


def file_name(parameter):
    return parameter.replace(".default", "").replace(".modules_to_save", "")


def trained(named_parameters, loss, adamw):
    """Gradients of a loss, and the changes by one AdamW step without clipping."""
    parameters = {name: p for name, p in named_parameters if p.requires_grad}
    loss.backward()
    before = {name: p.detach().clone() for name, p in parameters.items()}
    gradients = {file_name(name): summary(p.grad) for name, p in parameters.items()}
    torch.optim.AdamW(parameters.values(), **adamw).step()
    return {
        "loss": loss.item(),
        "gradients": gradients,
        "updates": {file_name(name): summary(p.detach() - before[name]) for name, p in parameters.items()},
    }


def our_adapter(request):
    model = PeftModel.from_pretrained(base_model(request["base"]), request["adapter"], is_trainable=True).double()
    logprobs = [token_logprobs(model, ids) for ids in request["rows"]]
    loss = -sum(row.sum() for row in logprobs)
    result = trained(model.named_parameters(), loss, request["adamw"])
    return {**result, "logprobs": [rounded(row.tolist()) for row in logprobs]}


def peft_adapter(request):
    """An adapter that PEFT makes and writes."""
    torch.manual_seed(1)
    config = LoraConfig(
        r=2, lora_alpha=5, target_modules=["q_proj", "down_proj"], use_rslora=True, lora_dropout=0.1, task_type="CAUSAL_LM"
    )
    model = get_peft_model(base_model(request["base"]), config)
    drawn = {}
    for name, parameter in model.named_parameters():
        if "lora_A" in name:
            bound = 1 / parameter.shape[1] ** 0.5
            drawn[file_name(name)] = [parameter.abs().max().item() <= bound, parameter.abs().max().item() > bound / 2]
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        files = {
            name: base64.b64encode((Path(folder) / name).read_bytes()).decode()
            for name in ("adapter_model.safetensors", "adapter_config.json")
        }
        saved = PeftModel.from_pretrained(base_model(request["base"]), folder).double().eval()
    with torch.no_grad():
        logprobs = [rounded(token_logprobs(saved, ids).tolist()) for ids in request["rows"]]
    return {"files": files, "logprobs": logprobs, "withinBoundOfA": all(all(pair) for pair in drawn.values())}


def reward_head(request):
    model, loading = AutoModelForSequenceClassification.from_pretrained(
        request["scored"], num_labels=1, attn_implementation="eager", output_loading_info=True
    )
    assert not any(loading[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), loading
    model = model.double()
    rewards = torch.stack([model(torch.tensor([ids])).logits[0, 0] for ids in request["rows"]])
    loss = -torch.nn.functional.logsigmoid(rewards[0] - rewards[1] - 0.25)
    return {"rewards": rounded(rewards.tolist()), **trained(model.named_parameters(), loss, request["adamw"])}


def value_head(request):
    """The same model with its score read at every position, as trainers of value functions do."""
    model = AutoModelForSequenceClassification.from_pretrained(
        request["scored"], num_labels=1, attn_implementation="eager"
    ).double()
    values = [model.score(model.model(torch.tensor([ids])).last_hidden_state)[0, :-1, 0] for ids in request["rows"]]
    loss = sum(0.5 * (row - 0.1 * torch.arange(len(row), dtype=torch.float64)).square().sum() for row in values)
    return {
        "values": [rounded(row.tolist()) for row in values],
        **trained(model.named_parameters(), loss, request["adamw"]),
    }


if __name__ == "__main__":
    request = json.load(sys.stdin)
    golden = {
        "source": {name: version(name) for name in ("torch", "transformers", "peft", "safetensors")},
        "adapterFile": "sha256:" + sha256((Path(request["adapter"]) / "adapter_model.safetensors").read_bytes()).hexdigest(),
        "ourAdapter": our_adapter(request),
        "peftAdapter": peft_adapter(request),
        "reward": reward_head(request),
        "value": value_head(request),
    }
    print(json.dumps(golden))
