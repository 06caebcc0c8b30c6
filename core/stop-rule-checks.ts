/** What a schema can't say of the rules in `stopping`: which keys go together, and that a metric is one that the run will have. */
import { metricMeaning, metricNames } from './metric-names.ts';
import { nearest } from './nearest.ts';
import { rewardName } from './rewards/index.ts';
import type { Recipe, StopRule } from './recipe.ts';

type Report = (path: string, message: string) => void;

export function checkStopRules(recipe: Recipe, report: Report): void {
  recipe.stopping.forEach((rule, i) => checkRule(rule, `stopping.${i}`, recipe, report));
}

const ruleKinds = ['metric', 'plateau', 'wallSeconds', 'generatedTokens'] as const;

function checkRule(rule: StopRule, at: string, recipe: Recipe, report: Report): void {
  const given = ruleKinds.filter((key) => rule[key] !== undefined);
  if (given.length !== 1) {
    const found = given.length === 0 ? `none of ${ruleKinds.join(', ')}` : given.join(' and ');
    report(at, `${found} given; expected exactly one`);
    return;
  }
  if (rule.metric !== undefined) {
    checkMetric(rule.metric, `${at}.metric`, recipe, report);
    if (rule.above === undefined && rule.below === undefined)
      report(at, 'neither above nor below given; expected one of them, or both');
  } else {
    for (const key of ['above', 'below', 'for'] as const) {
      if (rule[key] !== undefined) report(`${at}.${key}`, `has no effect without ${at}.metric`);
    }
  }
  if (rule.plateau !== undefined) checkMetric(rule.plateau.metric, `${at}.plateau.metric`, recipe, report);
}

function checkMetric(name: string, at: string, recipe: Recipe, report: Report): void {
  const known = metricsOf(recipe);
  if (known.includes(name)) return;
  const absent = whyAbsent(name, recipe);
  if (absent !== undefined) return report(at, `"${name}" ${absent}`);
  const suggestion = nearest(name, known);
  const near = known.filter((other) => other.split('/')[0] === name.split('/')[0]);
  report(
    at,
    `"${name}" is not a metric` +
      (suggestion === undefined
        ? `; expected one of ${(near.length > 0 ? near : known).join(', ')}`
        : `; did you mean ${suggestion}?`),
  );
}

/** Metrics that iterations or evaluations of a recipe have. */
function metricsOf(recipe: Recipe): string[] {
  const sources = recipe.rewards.map((reward) => `reward/${rewardName(reward)}/mean`);
  return [...Object.keys(metricNames), ...sources].filter((name) => whyAbsent(name, recipe) === undefined);
}

function whyAbsent(name: string, recipe: Recipe): string | undefined {
  const [subject] = name.split('/');
  if (subject === 'warm_start')
    return 'is a metric of the warm start, which has its own rule: warmStart.stopLoss';
  if (name === 'policy/reference_kl' && recipe.algorithm.kl === undefined)
    return 'is not measured without algorithm.kl';
  if (subject === 'evaluation' && metricMeaning(name) !== undefined && recipe.evaluation === undefined)
    return 'is not measured without the section evaluation (every, tasks)';
  const source = /^reward\/(.+)\/mean$/.exec(name)?.[1];
  const names = recipe.rewards.map(rewardName);
  if (source !== undefined && !names.includes(source))
    return `is of no reward of the recipe: ${names.join(', ')}`;
  return undefined;
}
