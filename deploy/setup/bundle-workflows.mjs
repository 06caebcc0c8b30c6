/** Bundles dist/workflows/index.js into dist/workflow-bundle.js, so that a worker need not run a bundler at each start. */
import { renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { root } from './steps.mjs';

const target = path.join(root, 'dist', 'workflow-bundle.js');
const { code } = await bundleWorkflowCode({
  workflowsPath: path.join(root, 'dist', 'workflows', 'index.js'),
  logger: new DefaultLogger('WARN'),
});
writeFileSync(`${target}.new`, code);
renameSync(`${target}.new`, target);
