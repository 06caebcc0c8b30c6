"""Vectors of verl's own functions in float64: python verl_vectors.py > verl-0.9.1.json

Needs torch 2.15.0 and verl 0.9.1 (`pip install torch==2.15.0`, then verl and what it imports, without dependencies).
Arrays hold the trained tokens of all rows, one row after the other; `counts` tells how many each row has. Rows of a group are
neighbours. Gradients are of the aggregated loss with respect to the log-probs.
"""

import json
import sys

import numpy as np
import torch
import verl.trainer.ppo.core_algos as algos
import verl.trainer.ppo.rollout_corr_helper as correction
from verl.workers.config.actor import ActorConfig, PolicyLossConfig

torch.set_default_dtype(torch.float64)
SEED = 20_261_201
generator = torch.Generator().manual_seed(SEED)
LONGEST, GROUP = 7, 4


def uniform(*shape):
    return torch.rand(*shape, generator=generator)


def normal(*shape):
    return torch.randn(*shape, generator=generator)


class Options(dict):
    __getattr__ = dict.get


def draw(rows=8):
    """Log-probs of a batch whose first row is the longest and whose second has one token."""
    counts = torch.randint(1, LONGEST + 1, (rows,), generator=generator)
    counts[0], counts[1] = LONGEST, 1
    mask = (torch.arange(LONGEST)[None] < counts[:, None]).double()
    old = -uniform(rows, LONGEST) * 3 - 0.05
    logprobs = torch.clamp(old + normal(rows, LONGEST) * 0.25, max=-0.01)
    return counts, mask, old, logprobs


def ragged(matrix, mask):
    return [float(f"{value:.13g}") for value in matrix[mask > 0].tolist()]


def scalar(value):
    return float(f"{float(value):.13g}")


def losses():
    counts, mask, old, logprobs = draw()
    rows = len(counts)
    sequence = normal(rows)[:, None].expand(rows, LONGEST).clone()
    token = normal(rows, LONGEST)
    weights = (uniform(rows, LONGEST) * 1.5).clamp(0.1)
    batch = {
        "counts": counts.tolist(),
        "oldLogprobs": ragged(old, mask),
        "logprobs": ragged(logprobs, mask),
        "advantages": {"sequence": ragged(sequence, mask), "token": ragged(token, mask)},
        "importance": ragged(weights, mask),
    }
    every = ["token-mean", "token-sum", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"]
    wide, narrow = {"clipLow": 0.2, "clipHigh": 0.28}, {"clipLow": 3e-4, "clipHigh": 4e-4}
    policy = PolicyLossConfig(dro_beta=0.5, clip_cov_ratio=0.1, clip_cov_lb=0.05, clip_cov_ub=5.0, kl_cov_ratio=0.1, ppo_kl_coef=0.7)
    functions = [
        ("ppo-clip", algos.compute_policy_loss_vanilla, every, [{**wide, "dualClip": 3}, {"clipLow": 0.1, "clipHigh": 0.1, "dualClip": 1.2}]),
        ("gspo-token", algos.compute_policy_loss_gspo, every[2:3], [narrow, wide]),
        ("gmpo", algos.compute_policy_loss_geo_mean, every[2:3], [{"clipLow": 0.4, "clipHigh": 0.4}, wide]),
        ("cispo", algos.compute_policy_loss_cispo, every[:3], [wide]),
        ("sapo", algos.compute_policy_loss_sapo, every[2:3], [{"tauPositive": 1.0, "tauNegative": 1.05}]),
        ("reinforce", algos.compute_policy_loss_gpg, every[:3], [{}]),
        ("dppo-tv", algos.compute_policy_loss_dppo_tv, every[:1], [{"clipLow": 0.05, "clipHigh": 0.1, "truncation": 1.3}]),
        ("dppo-kl", algos.compute_policy_loss_dppo_kl, every[:1], [{"clipLow": 0.01, "clipHigh": 0.02, "truncation": 20.0}]),
        ("dro", algos.compute_policy_loss_dro, every[:1], [{"beta": 0.5}]),
        ("kl-cov", algos.compute_policy_loss_kl_cov, every[:1], [{"coefficient": 0.7, "share": 0.1}]),
    ]
    cases = []
    for name, function, aggregations, all_settings in functions:
        for kind, advantages in [("sequence", sequence), ("token", token)]:
            if name == "gmpo" and kind == "token":
                continue  # verl weighs by the mean advantage, but clips by each token's
            for aggregation in aggregations:
                for settings in all_settings:
                    for corrected in [False, True]:
                        if name == "gmpo" and corrected:
                            continue  # verl joins the weights of a row into one; here each token's term has its own
                        config = ActorConfig(
                            strategy="fsdp",
                            rollout_n=GROUP,
                            ppo_micro_batch_size_per_gpu=1,
                            clip_ratio_low=settings.get("clipLow", 0.2),
                            clip_ratio_high=settings.get("clipHigh", 0.2),
                            clip_ratio_c=settings.get("dualClip", settings.get("truncation", 3.0)),
                            tau_pos=settings.get("tauPositive", 1.0),
                            tau_neg=settings.get("tauNegative", 1.05),
                            policy_loss=policy,
                        )
                        variable = logprobs.clone().requires_grad_(True)
                        loss, _ = function(
                            old_log_prob=old,
                            log_prob=variable,
                            advantages=advantages.clone(),
                            response_mask=mask,
                            loss_agg_mode=aggregation,
                            config=config,
                            rollout_is_weights=weights if corrected else None,
                        )
                        (gradient,) = torch.autograd.grad(loss, variable)
                        cases.append(
                            {
                                "name": name,
                                "settings": settings,
                                "advantages": kind,
                                "aggregation": aggregation,
                                "corrected": corrected,
                                "loss": scalar(loss.detach()),
                                "gradient": ragged(gradient, mask),
                            }
                        )
    # torch draws which tokens clip-cov takes; with a ratio of 1 it takes all between the bounds.
    for kind, advantages in [("sequence", sequence), ("token", token)]:
        config = ActorConfig(
            strategy="fsdp", rollout_n=GROUP, ppo_micro_batch_size_per_gpu=1, clip_ratio_low=0.2, clip_ratio_high=0.28,
            policy_loss=PolicyLossConfig(clip_cov_ratio=1.0, clip_cov_lb=0.05, clip_cov_ub=0.6),
        )
        variable = logprobs.clone().requires_grad_(True)
        loss, _ = algos.compute_policy_loss_clip_cov(old, variable, advantages.clone(), mask, "token-mean", config)
        (gradient,) = torch.autograd.grad(loss, variable)
        cases.append(
            {
                "name": "clip-cov", "settings": {**wide, "share": 1, "lowest": 0.05, "highest": 0.6}, "advantages": kind,
                "aggregation": "token-mean", "corrected": False, "loss": scalar(loss.detach()), "gradient": ragged(gradient, mask),
            }
        )
    return {"batch": batch, "cases": cases}


def divergences():
    counts, mask, old, logprobs = draw()
    reference = logprobs + normal(*logprobs.shape) * 0.3
    cases = []
    for name, verl in [("k1", "k1"), ("absolute", "abs"), ("k2", "k2"), ("k3-clamped", "k3"), ("k3-gradient-k2", "k3+")]:
        variable = logprobs.clone().requires_grad_(True)
        value = algos.kl_penalty(variable, reference, verl)
        (gradient,) = torch.autograd.grad((value * mask).sum(), variable)
        cases.append({"estimator": name, "value": ragged(value.detach(), mask), "gradient": ragged(gradient, mask)})
    batch = {"logprobs": ragged(logprobs, mask), "referenceLogprobs": ragged(reference, mask)}
    return {"batch": batch, "cases": cases}


def value_losses():
    counts, mask, _, _ = draw()
    values, returns, old = (normal(*mask.shape) for _ in range(3))
    cases = []
    for clip in [0.2, 0.5]:
        variable = values.clone().requires_grad_(True)
        loss, fraction = algos.compute_value_loss(variable, returns, old, mask, clip)
        (gradient,) = torch.autograd.grad(loss, variable)
        cases.append({"clip": clip, "loss": scalar(loss.detach()), "clipFraction": scalar(fraction), "gradient": ragged(gradient, mask)})
    batch = {"values": ragged(values, mask), "returns": ragged(returns, mask), "oldValues": ragged(old, mask)}
    return {"batch": batch, "cases": cases}


def advantages():
    cases = []
    for kind in ["random", "binary", "constant-group"]:
        counts, mask, old, _ = draw()
        rows = len(counts)
        index = np.repeat(np.arange(rows // GROUP), GROUP)
        rewards = {
            "random": normal(rows),
            "binary": (uniform(rows) > 0.5).double(),
            "constant-group": torch.cat([torch.full((GROUP,), 0.35), normal(rows - GROUP)]),
        }[kind]
        outcome = torch.zeros(rows, LONGEST)
        outcome[torch.arange(rows), counts - 1] = rewards
        dense = normal(rows, LONGEST) * mask * 0.3
        values, baselines, squares = normal(rows, LONGEST), normal(rows), uniform(rows, LONGEST)
        weights = (uniform(rows, LONGEST) * 1.5).clamp(0.1)
        config = Options(norm_adv_by_std_in_grpo=True)
        token = lambda pair: ragged(pair[0], mask)
        found = [
            ("grpo", {"epsilon": 1e-6}, token(algos.compute_grpo_outcome_advantage(outcome.clone(), mask, index, 1e-6))),
            ("dr-grpo", {}, token(algos.compute_grpo_outcome_advantage(outcome.clone(), mask, index, 1e-6, False))),
            ("rloo", {}, token(algos.compute_rloo_outcome_advantage(outcome.clone(), mask, index))),
            ("opo", {}, token(algos.compute_opo_outcome_advantage(outcome.clone(), mask, index))),
            ("gpg", {}, token(algos.compute_gpg_outcome_advantage(outcome.clone(), mask, index))),
            ("grpo-pass-at-k", {"epsilon": 1e-6}, token(algos.compute_grpo_passk_outcome_advantage(outcome.clone(), mask, index, config=config))),
            ("reinforce++-baseline", {}, token(algos.compute_reinforce_plus_plus_baseline_outcome_advantage(outcome.clone(), mask, index))),
            ("remax", {}, token(algos.compute_remax_outcome_advantage(outcome.clone(), baselines, mask))),
            ("optimal-token-baseline", {}, token(algos.compute_optimal_token_baseline_advantage(outcome.clone(), mask, index, old, squares))),
            ("optimal-token-baseline", {"corrected": True}, token(algos.compute_optimal_token_baseline_advantage(outcome.clone(), mask, index, old, squares, weights))),
        ]
        for discount in [1.0, 0.9]:
            result = algos.compute_reinforce_plus_plus_outcome_advantage(outcome + dense, mask, config=Options(gamma=discount))
            found.append(("reinforce++", {"discount": discount}, token(result)))
        returns = {}
        for discount, trace in [(1.0, 0.95), (0.99, 0.9), (1.0, 1.0)]:
            result = algos.compute_gae_advantage_return(outcome + dense, values.clone(), mask, discount, trace)
            found.append(("gae", {"discount": discount, "lambda": trace}, token(result)))
            returns[f"{discount} {trace}"] = ragged(result[1], mask)
        cases.append(
            {
                "kind": kind,
                "counts": counts.tolist(),
                "rewards": [scalar(reward) for reward in rewards],
                "tokenRewards": ragged(dense, mask),
                "values": ragged(values, mask),
                "baselineRewards": [scalar(reward) for reward in baselines],
                "oldLogprobs": ragged(old, mask),
                "sumOfSquares": ragged(squares, mask),
                "importance": ragged(weights, mask),
                "advantages": [{"estimator": name, "settings": settings, "value": value} for name, settings, value in found],
                "returns": returns,
            }
        )
    return {"groupSize": GROUP, "cases": cases}


def corrections():
    counts, mask, old, _ = draw()
    sampled = old + normal(*old.shape) * 0.5
    ratio = old - sampled
    weights, rejections = [], []
    for level in ["token", "sequence"]:
        for threshold in [2.0, 5.0, "0.5_2.0"]:
            for normalize in [False, True]:
                value, metrics = correction.compute_rollout_correction_weights(ratio.clone(), mask, level, threshold, normalize)
                lowest, highest = threshold.split("_") if isinstance(threshold, str) else (None, threshold)
                weights.append(
                    {
                        "level": level,
                        "lowest": lowest and float(lowest),
                        "highest": float(highest),
                        "normalize": normalize,
                        "weights": ragged(value, mask),
                        "effectiveSampleSize": scalar(metrics["rollout_is_eff_sample_size"]),
                    }
                )
    for statistic, threshold in [
        ("token_k1", "0.5_2.0"), ("seq_sum_k1", "0.5_2.0"), ("seq_mean_k1", "0.8_1.25"), ("seq_max_k2", "0.5"),
        ("seq_max_k3", "0.5"), ("seq_mean_k3", "0.1"), ("seq_sum_k2", "0.5"), ("token_k2", "0.3"), ("token_k3", "0.2"),
    ]:
        kept, _ = correction.compute_rollout_rejection_mask(ratio.clone(), mask, statistic, threshold)
        rejections.append({"statistic": statistic, "threshold": threshold, "kept": ragged(kept, mask)})
    metrics = correction.compute_offpolicy_metrics(old, sampled, mask)
    return {
        "counts": counts.tolist(),
        "proximalLogprobs": ragged(old, mask),
        "sampledLogprobs": ragged(sampled, mask),
        "weights": weights,
        "rejections": rejections,
        "metrics": {name: scalar(value) for name, value in metrics.items()},
    }


json.dump(
    {
        "source": "verl 0.9.1, core_algos.py and rollout_corr_helper.py, float64",
        "seed": SEED,
        "losses": losses(),
        "divergences": divergences(),
        "valueLosses": value_losses(),
        "advantages": advantages(),
        "corrections": corrections(),
    },
    sys.stdout,
)
