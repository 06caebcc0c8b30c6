/** What workflow code loads when it runs in Temporal's sandbox: the imports that are left once types are erased. */
const { builtinModules } = require('node:module');
const { options } = require('./.dependency-cruiser.cjs');

const workflows = { path: '^workflows/', pathNot: '\\.test\\.ts$' };

module.exports = {
  forbidden: [
    {
      name: 'workflows-do-not-load-zod',
      severity: 'error',
      comment: 'each workflow would build all schemas anew in its sandbox',
      from: workflows,
      to: { path: '^node_modules/zod/', reachable: true },
    },
    {
      name: 'workflows-load-no-node-built-in',
      severity: 'error',
      comment: 'the sandbox has none',
      from: workflows,
      to: { path: `^(${builtinModules.join('|')})$`, reachable: true },
    },
  ],
  options: { ...options, tsPreCompilationDeps: false },
};
