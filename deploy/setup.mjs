/**
 * Brings a clone to the point where `dist/` can run: Node version, dependencies, build. npm runs it before `start` and
 * `test`, when nothing is installed yet, so it uses Node built-ins only. With nothing to do it takes a fraction of a second.
 */
import { buildIfStale } from './setup/build.mjs';
import { installDependencies } from './setup/dependencies.mjs';
import { checkNodeVersion } from './setup/node-version.mjs';

checkNodeVersion();
installDependencies();
buildIfStale();
