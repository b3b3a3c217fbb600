/** `trailgate server-json`: what to publish to the MCP registry. */
import type { Command } from 'commander';
import { formatProblems } from '../../config/check.js';
import { readEnvironment } from '../../config/model/environment.js';
import { loadConfig } from '../../config/load.js';
import { serverJson } from './server-json.js';

interface Options {
  readonly config: string;
  readonly name?: string;
  readonly serverVersion: string;
  readonly description?: string;
}

/** Adds `server-json` to the program. */
export function addServerJsonCommand(program: Command): void {
  program
    .command('server-json')
    .description('print what the MCP registry is told of the server: server.json')
    .option('-c, --config <file>', 'configuration', 'gateway.yaml')
    .option('--name <name>', 'such as com.example/customers; made of api.publicUrl unless said')
    .option('--server-version <version>', 'raise it with each publication', '1.0.0')
    .option('--description <text>', 'what it is good for, in up to 100 characters')
    .action(async ({ config: path, serverVersion: version, ...told }: Options) => {
      const result = await loadConfig(path, readEnvironment());
      const made =
        'problems' in result
          ? { problem: formatProblems(result.problems) }
          : serverJson(result.config, { ...told, version });
      if ('problem' in made) {
        process.stderr.write(`${made.problem}\n`);
        process.exitCode = 1;
      } else {
        process.stdout.write(`${JSON.stringify(made.document, null, 2)}\n`);
      }
    });
}
