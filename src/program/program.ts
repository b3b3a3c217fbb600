/**
 * Defines the commands of `trailgate`, and runs `start` and `demo`. A failed start prints the reason to standard error,
 * and exits with code 1.
 */
import cluster from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Command, InvalidArgumentError, Option } from 'commander';
import { addBackupCommand } from './commands/backup-command.js';
import { addBenchCommand } from './commands/bench-command.js';
import { checkCommand } from './commands/check.js';
import { addClientCommands } from './commands/client-commands.js';
import { addOpenApiCommand } from './commands/openapi-command.js';
import { addServerJsonCommand } from './commands/server-json-command.js';
import { formatProblems } from '../config/check.js';
import { EnvironmentError, provideVariable, readEnvironment } from '../config/model/environment.js';
import { gatewayJsonSchemaText } from '../config/model/json-schema.js';
import { loadConfig } from '../config/load.js';
import type { ConfigProblem } from '../config/model/problem.js';
import type { LoadedConfig } from '../config/model/loaded-config.js';
import { DatabaseOpenError } from '../stores/database/database-errors.js';
import { startDemo } from './demo.js';
import { openLog, type Log } from '../platform/log.js';
import { ProgramEnd } from './program-end.js';
import { ROLES, type Role } from './roles.js';
import { Shutdown } from '../platform/shutdown.js';
import { logFirstOwnerLink } from './first-sign-in.js';
import { start } from './start.js';
import { StartError } from '../platform/start-error.js';
import { VERSION } from '../platform/version.js';
import { reportToPool } from './workers/worker-process.js';

const DEFAULT_CONFIG = './gateway.yaml';
const LOG_FLUSH_TIMEOUT_MS = 1_000;
const STANDARD_OUTPUT = 1;
/** Length of the token that the demo's backend and gateway share. Each start creates a new token. */
const EVENTS_TOKEN_BYTES = 32;
/** Commands that run until a signal ends them. */
const LASTING = new Set(['start', 'demo']);
/** Exit code of a command whose output has lost its reader. Shells report 128 + 13 for a process that SIGPIPE ended. */
const READER_GONE = 128 + 13;

interface StartOptions {
  readonly config: string;
  readonly roles: readonly Role[];
  readonly workers: number;
  readonly counters?: string;
  readonly clockAhead?: number;
}

const MAX_WORKERS = 256;

/** Parses the command line and runs the command. */
export async function runProgram(argv: readonly string[]): Promise<void> {
  const program = new Command('trailgate')
    .description('The gateway you put in front of your backends the day you publish a public REST API.')
    .version(VERSION)
    .showHelpAfterError();
  program
    .command('start')
    .description('run the gateway, the admin API and the worker')
    .option('-c, --config <file>', 'configuration', DEFAULT_CONFIG)
    .option('--roles <list>', `comma-separated: ${ROLES.join(', ')}`, parseRoles, [...ROLES])
    .option('--workers <count>', 'gateway processes: a number, or auto for one per core', parseWorkers, 1)
    // The program passes these options to its workers.
    .addOption(new Option('--counters <socket>').hideHelp())
    .addOption(new Option('--clock-ahead <ms>').argParser(Number).hideHelp())
    .action((options: StartOptions) => runStart(options));
  program
    .command('demo')
    .description('run everything with the example backend and a demo account, and print a first request')
    .option('-c, --config <file>', `configuration file; default: ${DEFAULT_CONFIG}, or the example`)
    .action((options: { readonly config?: string }) => runDemo(options.config ?? demoConfig()));
  program
    .command('check')
    .description('check a configuration: lists every problem with file, line and hint')
    .option('-c, --config <file>', 'configuration', DEFAULT_CONFIG)
    .option('--json', 'one JSON document instead of text')
    .action(async (options: { readonly config: string; readonly json?: boolean }) => {
      const { columns } = process.stdout;
      process.exitCode = await checkCommand(options.config, { json: options.json === true, columns });
    });
  program
    .command('schema')
    .description('print the JSON Schema of gateway.yaml')
    .action(() => void process.stdout.write(gatewayJsonSchemaText()));
  addOpenApiCommand(program);
  addServerJsonCommand(program);
  addBackupCommand(program);
  addBenchCommand(program);
  addClientCommands(program);
  // If the reader closes the pipe, as `| head` does, a command ends without an error message. In `start` and `demo`,
  // the log handles the error.
  program.hook('preAction', (_program, command) => {
    if (!LASTING.has(command.name())) process.stdout.on('error', () => process.exit(READER_GONE));
  });
  await program.parseAsync([...argv]);
}

/**
 * Returns the path of the configuration in this folder. If there is none, returns the path of the example in the
 * package.
 */
function demoConfig(): string {
  return existsSync(DEFAULT_CONFIG) ? DEFAULT_CONFIG : fileURLToPath(new URL('../../gateway.yaml', import.meta.url));
}

function parseRoles(text: string): Role[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !(ROLES as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`"${unknown}" is no role; choose from ${ROLES.join(', ')}.`);
  return names as Role[];
}

function parseWorkers(text: string): number {
  if (text === 'auto') return availableParallelism();
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > MAX_WORKERS) {
    throw new InvalidArgumentError(`Write auto, or a number from 1 to ${MAX_WORKERS}.`);
  }
  return count;
}

async function runStart({ config: path, roles, workers, counters, clockAhead }: StartOptions): Promise<void> {
  const { isWorker } = cluster;
  const end = new ProgramEnd(isWorker);
  const { config, warnings } = await configOrExit(path);
  const log = openLog(config.environment.logLevel, STANDARD_OUTPUT, isWorker || workers > 1);
  if (!isWorker) logWarnings(warnings, log);
  const workerArgs = ['start', '--config', path, '--roles', 'gateway'];
  const told = { countersPath: counters, clockAheadMs: clockAhead };
  const processes = { workers: isWorker ? 1 : workers, workerArgs, isWorker, ...told };
  const shutdown = new Shutdown(log);
  end.setShutdown(shutdown, log);
  const running = await start(config, roles, log, shutdown, processes).catch((error: unknown) =>
    exitWith(error, log, end),
  );
  logFirstOwnerLink(running, log);
  if (isWorker) {
    const sources = { metrics: () => running.metrics(), state: () => running.state() };
    reportToPool(running.gatewayUrl ?? '', sources, () => end.begin(0));
  }
}

async function runDemo(path: string): Promise<void> {
  const end = new ProgramEnd();
  provideVariable('CUSTOMERS_EVENTS_TOKEN', randomBytes(EVENTS_TOKEN_BYTES).toString('base64url'));
  const { config, warnings } = await configOrExit(path);
  const log = openLog(config.environment.logLevel);
  logWarnings(warnings, log);
  const shutdown = new Shutdown(log);
  end.setShutdown(shutdown, log);
  await startDemo(config, log, shutdown).catch((error: unknown) => exitWith(error, log, end));
}

function logWarnings(warnings: readonly ConfigProblem[], log: Log): void {
  for (const { file, line, path, message } of warnings) {
    log.logger.warn({ event: 'config_warning', file, line, setting: path }, `${path} ${message}`);
  }
}

async function configOrExit(path: string): Promise<{ config: LoadedConfig; warnings: readonly ConfigProblem[] }> {
  try {
    const result = await loadConfig(path, readEnvironment());
    if ('config' in result) return result;
    process.stderr.write(`${formatProblems(result.problems, { columns: process.stderr.columns })}\n`);
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    process.stderr.write(`${error.message}\n`);
  }
  process.exit(1);
}

/**
 * Prints why the start failed, and exits with code 1. An error that the operator can fix is one line. Other errors
 * include the stack trace.
 */
async function exitWith(error: unknown, log: Log, end: ProgramEnd): Promise<never> {
  // A signal began the shutdown, which caused the error. The shutdown exits the process.
  if (end.hasBegun) return new Promise(() => undefined);
  await log.flush(LOG_FLUSH_TIMEOUT_MS);
  const mendable = error instanceof StartError || error instanceof DatabaseOpenError;
  const text = error instanceof Error ? (mendable ? error.message : (error.stack ?? error.message)) : String(error);
  process.stderr.write(`trailgate: ${text}\n`);
  process.exit(1);
}
