/**
 * Which folder may import which: core ← store ← gpu ← activities ← workers ← client; deploy → core; workflows → core, and
 * types of activities. What workflows load when they run is the matter of .dependency-cruiser.runtime.cjs.
 */
const tests = '(^tests/|\\.test\\.ts$)';
const layers = ['core', 'store', 'gpu', 'activities', 'workers', 'client'];
/** These start processes and workflows, so they may use what does. */
const mayUseDeploy = ['workers', 'client'];

const layerRules = layers.map((layer, i) => {
  const others = mayUseDeploy.includes(layer) ? ['tests'] : ['deploy', 'workflows', 'tests'];
  return {
    name: `layer-${layer}`,
    severity: 'error',
    comment: `${layer}/ may import only ${layers.slice(0, i + 1).join(', ')}`,
    from: { path: `^${layer}/`, pathNot: tests },
    to: { path: `^(${[...layers.slice(i + 1), ...others].join('|')})/` },
  };
});

module.exports = {
  forbidden: [
    ...layerRules,
    {
      name: 'layer-deploy',
      severity: 'error',
      comment: 'deploy/ installs, starts and keeps up processes, and knows nothing of what they do',
      from: { path: '^deploy/', pathNot: tests },
      to: { path: '^(store|gpu|activities|workflows|workers|client|tests)/' },
    },
    {
      name: 'layer-workflows',
      severity: 'error',
      comment: 'workflows/ may import core/, types of activities/, and the workflow SDK',
      from: { path: '^workflows/', pathNot: tests },
      to: { pathNot: '^(workflows|core|activities)/|^node_modules/@temporalio/(workflow|common)/' },
    },
    {
      name: 'workflows-take-only-types-from-activities',
      severity: 'error',
      comment: 'an activity runs in a worker, never in the workflow sandbox',
      from: { path: '^workflows/', pathNot: tests },
      to: { path: '^activities/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'core-is-pure',
      severity: 'error',
      comment: 'core/ has no I/O: no Node built-in, and no packages but pure ones',
      from: { path: '^core/', pathNot: tests },
      to: {
        path: '.',
        pathNot: '^core/|^node_modules/(zod|yaml|re2js)/',
      },
    },
    {
      name: 'tests-are-not-imported',
      severity: 'error',
      comment: 'code must not depend on tests; tests share what lies in tests/',
      from: { pathNot: tests },
      to: { path: tests },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'modules that need each other are one module',
      from: {},
      to: { circular: true },
    },
    {
      name: 'imports-resolve',
      severity: 'error',
      comment: 'an import names a file or an installed package',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|runs)/' },
    tsPreCompilationDeps: 'specify',
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'types'],
    },
  },
};
