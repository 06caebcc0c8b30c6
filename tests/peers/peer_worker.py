"""
PyTorch and transformers doing what the embedded engine is measured at, on the same model folder and batch.

Reads one command a line from standard input and answers each with one line of JSON:
  train           one step (loss, backward, clipping, AdamW) -> {"seconds"}
  gradients       loss and gradients without a step -> {"loss", "gradientNorm", "logprobs"}
  generate N      N new tokens for every prompt -> {"seconds"}
  memory          -> {"peakBytes"}
"""

import argparse
import json
import os
import resource
import sys
import time

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM

CLIP = 0.2
MAX_GRADIENT_NORM = 1.0


class Training:
    """The clipped policy loss over the whole batch; every position is trained."""

    def __init__(self, model, batch, compiled):
        self.model = model.train()
        # Fused is the fastest of torch's AdamW implementations on a CPU.
        self.optimizer = torch.optim.AdamW(
            model.parameters(), lr=1e-5, betas=(0.9, 0.999), weight_decay=0.01, fused=True
        )
        ids = torch.tensor(batch["ids"])
        self.inputs, self.targets = ids[:, :-1].contiguous(), ids[:, 1:].flatten()
        self.advantages = torch.tensor(batch["advantages"])
        self.old_logprobs = torch.tensor(batch["oldLogprobs"])
        self.weights = torch.tensor(batch["weights"])
        self.loss = torch.compile(self.eager_loss) if compiled else self.eager_loss

    def eager_loss(self):
        logits = self.model(input_ids=self.inputs, use_cache=False).logits
        logprobs = -F.cross_entropy(logits.flatten(0, 1), self.targets, reduction="none")
        ratio = torch.exp(logprobs - self.old_logprobs)
        clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
        objective = torch.minimum(ratio * self.advantages, clipped * self.advantages)
        return -(objective * self.weights).sum(), logprobs

    def step(self):
        began = time.perf_counter()
        loss, _ = self.loss()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), MAX_GRADIENT_NORM)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return {"seconds": time.perf_counter() - began}

    def gradients(self):
        loss, logprobs = self.loss()
        loss.backward()
        squares = sum((p.grad.double() ** 2).sum() for p in self.model.parameters())
        self.optimizer.zero_grad(set_to_none=True)
        return {
            "loss": loss.item(),
            "gradientNorm": squares.sqrt().item(),
            "logprobs": logprobs.tolist(),
        }


def generate(model, prompts, new_tokens):
    """Sampling from the whole distribution, as rollouts do."""
    model.eval()
    ids = torch.tensor(prompts)
    began = time.perf_counter()
    sequences = model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=new_tokens,
        min_new_tokens=new_tokens,
        do_sample=True,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        pad_token_id=0,
        eos_token_id=None,
    )
    seconds = time.perf_counter() - began
    expected = (ids.shape[0], ids.shape[1] + new_tokens)
    assert sequences.shape == expected, f"{tuple(sequences.shape)} tokens, expected {expected}"
    return {"seconds": seconds}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True, help="folder with config.json and model.safetensors")
    parser.add_argument("--input", required=True, help="JSON file: {training: {...}, prompts: [[...]]}")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()

    # Answers go to the standard output; whatever libraries print goes elsewhere.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_threads(options.threads)
    with open(options.input) as file:
        given = json.load(file)
    model = AutoModelForCausalLM.from_pretrained(
        options.model, dtype=torch.float32, attn_implementation="sdpa"
    )
    training = None
    for line in sys.stdin:
        command, *arguments = line.split()
        if command in ("train", "gradients") and training is None:
            training = Training(model, given["training"], options.compile)
        if command == "train":
            answer = training.step()
        elif command == "gradients":
            answer = training.gradients()
        elif command == "generate":
            answer = generate(model, given["prompts"], int(arguments[0]))
        elif command == "memory":
            answer = {"peakBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
        else:
            raise ValueError(f"unknown command {command!r}")
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
