import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['**/*.test.ts'],
    exclude: ['node_modules/**', 'dist/**', 'runs/**'],
    // Real processes, servers and engines run in the tests, next to each other, on small machines.
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
