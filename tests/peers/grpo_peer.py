"""
TRL's GRPOTrainer on a CPU, one optimizer step a command: 8 prompts, 8 completions each.

Reads commands from standard input, one a line, and answers with one line of JSON:
  step     one whole step -> {"seconds"}
  memory   -> {"peakBytes"}
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

GROUPS = 8
GROUP_SIZE = 8
MOST_STEPS = 1000


def word_tokenizer(vocabulary):
    """One token a word, so that a prompt of n words has n tokens."""
    special = ["<pad>", "<bos>", "<eos>", "<unk>"]
    words = special + [f"w{i}" for i in range(len(special), vocabulary)]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        bos_token="<bos>",
        eos_token="<eos>",
        unk_token="<unk>",
        padding_side="left",
    )


def reward(completions, **_):
    """Differs from sample to sample, so that every group carries signal."""
    return [sum(len(word) for word in text.split()) / 100 for text in completions]


class OneStepACommand(TrainerCallback):
    """Holds the trainer before each step until it is asked for, and tells how long the step took."""

    def __init__(self, answers):
        self.answers = answers

    def on_step_begin(self, args, state, control, **_):
        for line in sys.stdin:
            command = line.strip()
            if command == "step":
                self.began = time.perf_counter()
                return
            assert command == "memory", f"unknown command {command!r}"
            self.answer({"peakBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024})
        os._exit(0)

    def on_step_end(self, args, state, control, **_):
        self.answer({"seconds": time.perf_counter() - self.began})

    def answer(self, message):
        self.answers.write(json.dumps(message) + "\n")
        self.answers.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--prompt-tokens", type=int, required=True)
    parser.add_argument("--new-tokens", type=int, required=True)
    options = parser.parse_args()

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_threads(options.threads)
    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.float32)
    vocabulary = model.config.vocab_size
    words = lambda row: " ".join(f"w{4 + (row * 977 + t * 7919) % (vocabulary - 4)}" for t in range(options.prompt_tokens))
    with tempfile.TemporaryDirectory() as folder:
        settings = GRPOConfig(
            output_dir=folder,
            use_cpu=True,
            # Both on by default; off, TRL is faster on a CPU.
            bf16=False,
            gradient_checkpointing=False,
            per_device_train_batch_size=GROUPS * GROUP_SIZE,
            num_generations=GROUP_SIZE,
            max_completion_length=options.new_tokens,
            # Every completion has its full length, on both sides.
            generation_kwargs={"min_new_tokens": options.new_tokens, "top_k": 0},
            learning_rate=1e-5,
            max_steps=MOST_STEPS,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        trainer = GRPOTrainer(
            model=model,
            reward_funcs=reward,
            args=settings,
            train_dataset=Dataset.from_list([{"prompt": words(row)} for row in range(256)]),
            processing_class=word_tokenizer(vocabulary),
            callbacks=[OneStepACommand(answers)],
        )
        trainer.train()


if __name__ == "__main__":
    main()
