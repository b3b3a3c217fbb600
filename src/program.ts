/** Commands of `trailgate`, and what ends a process: signals, and errors that nobody caught. */
import { Command, InvalidArgumentError } from 'commander';
import { checkCommand } from './cli/check.js';
import { addClientCommands } from './cli/client-commands.js';
import { formatProblems } from './config/check.js';
import { EnvironmentError, readEnvironment } from './config/environment.js';
import { gatewayJsonSchemaText } from './config/json-schema.js';
import { loadConfig } from './config/load.js';
import type { Config } from './config/schema.js';
import { DatabaseOpenError } from './database/database-errors.js';
import { startDemo } from './demo.js';
import { openLog, type Log } from './log.js';
import { ROLES, start, type Role } from './start.js';
import { StartError } from './start-error.js';
import { VERSION } from './version.js';

const DEFAULT_CONFIG = './gateway.yaml';
const LOG_FLUSH_TIMEOUT_MS = 1_000;

interface StartOptions {
  readonly config: string;
  readonly roles: readonly Role[];
}

/** Parses the command line and runs what it asks for. */
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
    .action((options: StartOptions) => runStart(options));
  program
    .command('demo')
    .description('run everything with the customers backend and a demo account, and print a first request')
    .option('-c, --config <file>', 'configuration', DEFAULT_CONFIG)
    .action((options: { readonly config: string }) => runDemo(options.config));
  program
    .command('check')
    .description('check a configuration: every problem with file, line and a hint')
    .option('-c, --config <file>', 'configuration', DEFAULT_CONFIG)
    .option('--json', 'one JSON document instead of text')
    .action(async (options: { readonly config: string; readonly json?: boolean }) => {
      process.exitCode = await checkCommand(options.config, { json: options.json === true });
    });
  program
    .command('schema')
    .description('print the JSON Schema of gateway.yaml')
    .action(() => void process.stdout.write(gatewayJsonSchemaText()));
  addClientCommands(program);
  await program.parseAsync([...argv]);
}

function parseRoles(text: string): Role[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !(ROLES as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`"${unknown}" is no role; choose from ${ROLES.join(', ')}.`);
  return names as Role[];
}

async function runStart({ config: path, roles }: StartOptions): Promise<void> {
  const config = await configOrExit(path);
  const log = openLog(config.environment.logLevel);
  const running = await start(config, roles, log).catch((error: unknown) => exitWith(error, log));
  endWithSignals(log, () => running.stop());
}

async function runDemo(path: string): Promise<void> {
  const config = await configOrExit(path);
  const log = openLog(config.environment.logLevel);
  const demo = await startDemo(config, log).catch((error: unknown) => exitWith(error, log));
  endWithSignals(log, () => demo.stop());
}

async function configOrExit(path: string): Promise<Config> {
  try {
    const result = await loadConfig(path, readEnvironment());
    if ('config' in result) return result.config;
    process.stderr.write(`${formatProblems(result.problems)}\n`);
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    process.stderr.write(`${error.message}\n`);
  }
  process.exit(1);
}

/** Says why there is no start: one line where a person can mend it, the whole error where the fault is ours. */
async function exitWith(error: unknown, log: Log): Promise<never> {
  await log.flush(LOG_FLUSH_TIMEOUT_MS);
  const mendable = error instanceof StartError || error instanceof DatabaseOpenError;
  const text = error instanceof Error ? (mendable ? error.message : (error.stack ?? error.message)) : String(error);
  process.stderr.write(`trailgate: ${text}\n`);
  process.exit(1);
}

/** SIGTERM and SIGINT end in order; a second one at once. What nobody caught ends in order too, with exit code 1. */
function endWithSignals(log: Log, stop: () => Promise<void>): void {
  let ending = false;
  const end = (code: number): void => {
    if (ending) process.exit(1);
    ending = true;
    void stop().then(() => process.exit(code));
  };
  process.on('SIGTERM', () => end(0));
  process.on('SIGINT', () => end(0));
  const crash = (error: unknown): void => {
    log.logger.fatal({ event: 'crash', err: error }, 'An error that nobody caught: the process ends');
    if (!ending) end(1);
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
}
