/** A vitest reporter that writes what happened to the file named by REKINDLE_TEST_REPORT, as JSON. */
import { writeFileSync } from 'node:fs';

export default class CountReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const inState = (state) => tests.filter((test) => test.result().state === state);
    // A file or suite that breaks outside its tests fails without a failed test to count.
    const suites = modules.flatMap((module) => [module, ...module.children.allSuites()]);
    const brokenSuites = suites.filter((suite) => suite.errors().length > 0);
    const report = {
      passed: inState('passed').length,
      failed: inState('failed').length + brokenSuites.length + unhandledErrors.length,
      skipped: inState('skipped').map((test) => ({
        name: test.fullName,
        reason: test.result().note ?? null,
      })),
      unfinished: inState('pending').length,
    };
    writeFileSync(process.env.REKINDLE_TEST_REPORT, JSON.stringify(report));
  }
}
