/** Defines `trailgate server-json`, which prints the `server.json` to publish to the MCP registry. */
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
    .description('print the server.json for the MCP registry')
    .option('-c, --config <file>', 'configuration', 'gateway.yaml')
    .option('--name <name>', 'such as com.example/customers; default: derived from api.publicUrl')
    .option('--server-version <version>', 'raise it with each publication', '1.0.0')
    .option('--description <text>', 'purpose of the server, up to 100 characters')
    .action(async ({ config: path, serverVersion: version, ...details }: Options) => {
      const result = await loadConfig(path, readEnvironment());
      const output =
        'problems' in result
          ? { problem: formatProblems(result.problems) }
          : serverJson(result.config, { ...details, version });
      if ('problem' in output) {
        process.stderr.write(`${output.problem}\n`);
        process.exitCode = 1;
      } else {
        process.stdout.write(`${JSON.stringify(output.document, null, 2)}\n`);
      }
    });
}
