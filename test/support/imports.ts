/** Creates files for `trailgate import`, and runs the command against a running program. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './processes.js';
import { runTrailgate, type CommandResult, type RunOptions, type RunningTrailgate } from './program.js';

/** Writes a file with one JSON value per line, and returns its path. Strings are written unchanged as a line. */
export function linesFile(lines: readonly (object | string)[]): string {
  const file = join(temporaryFolder('import'), 'records.ndjson');
  writeFileSync(file, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
  return file;
}

/** Returns the environment for commands that call the admin API of a running program. */
export function clientEnvOf({ adminUrl, adminToken }: Pick<RunningTrailgate, 'adminUrl' | 'adminToken'>) {
  return { TRAILGATE_ADMIN_URL: adminUrl, TRAILGATE_ADMIN_TOKEN: adminToken };
}

/** Runs `trailgate import`. */
export function importInto(
  running: RunningTrailgate,
  file: string,
  args: readonly string[] = [],
  options: RunOptions = {},
): Promise<CommandResult> {
  return runTrailgate(['import', file, ...args], { ...options, env: clientEnvOf(running) });
}
