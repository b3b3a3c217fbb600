/** Defines `trailgate export`, which writes all records as JSON lines that `trailgate import` can read. */
import { Option, type Command } from 'commander';
import { VERSION } from '../../platform/version.js';
import { RECORD_TYPES, type RecordType } from '../../transfer/record-types.js';
import type { AdminClient, Fields } from './admin-client.js';
import { clientAction, type CommonOptions, type Terminal } from './terminal.js';

interface ExportOptions extends CommonOptions {
  readonly type?: readonly RecordType[];
}

/** Adds `export` to the program. */
export function addExportCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('export')
    .description('write accounts, keys and other records as JSON lines, for an import')
    .addOption(new Option('--type <types...>', 'only records of these types').choices(RECORD_TYPES));
  clientAction<ExportOptions>(command, terminal, async (client, _args, { type = RECORD_TYPES }) => {
    terminal.out(`${JSON.stringify({ trailgate_export: 1, version: VERSION })}\n`);
    for (const each of RECORD_TYPES) {
      if (!type.includes(each)) continue;
      for await (const record of recordsOf(client, each)) terminal.out(`${JSON.stringify(record)}\n`);
    }
    return '';
  });
}

async function* recordsOf(client: AdminClient, type: RecordType): AsyncGenerator<Fields> {
  let cursor: unknown;
  do {
    const page = await client.call('exportRecords', [], { query: { type, cursor } });
    yield* page['data'] as Fields[];
    cursor = page['next_cursor'];
  } while (cursor !== null);
}
