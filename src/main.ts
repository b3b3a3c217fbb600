#!/usr/bin/env node
/** The program's first line: checks the runtime before anything is loaded that an older one could not even read. */
import { createRequire } from 'node:module';
import { holdSignals } from './platform/signals.js';

/** The first with `Temporal`. */
const OLDEST_MAJOR = 26;
/** Commands that run until they are told to end; the others end with a signal as every program does. */
const LASTING = new Set(['start', 'demo']);

const [major = 0] = process.versions.node.split('.').map(Number);
if (major < OLDEST_MAJOR) {
  const { name } = createRequire(import.meta.url)('../package.json') as { name: string };
  process.stderr.write(
    `${name} needs Node ${OLDEST_MAJOR} or newer, this is ${process.versions.node}. ` +
      'Run it through npm (npm start, npm run -s trailgate -- …), which uses the version that npm ci installed.\n',
  );
  process.exit(1);
}

// Every file that the program makes is for its user only: databases, their logs and copies, exports.
process.umask(0o077);
if (LASTING.has(process.argv[2] ?? '')) holdSignals();

// Decorators read this before the first class is defined.
await import('reflect-metadata');
const { runProgram } = await import('./program/program.js');
await runProgram(process.argv);
