/** Defines `trailgate import`, which creates accounts, keys and other records from a file of JSON lines. */
import { createReadStream } from 'node:fs';
import { Option, type Command } from 'commander';
import { ON_CONFLICT, type OnConflict } from '../../transfer/import-batch.js';
import { CommandError, type AdminClient, type Fields } from './admin-client.js';
import { clientAction, type CommonOptions, type Terminal } from './terminal.js';

/**
 * Maximum number of lines in a batch. The server needs only a few milliseconds for so many lines, so other requests
 * hardly wait.
 */
const LINES_PER_BATCH = 100;
/** Maximum size of a batch in bytes, below the limit of the admin API. */
const MAX_BATCH_BYTES = 512 * 1_024;
/** Maximum length of a line in bytes. Records are far shorter. */
const MAX_LINE_BYTES = 256 * 1_024;
const TOO_LONG = Symbol('a line that is too long');
/** Field of the first line of an export. Its value is the version of the format. */
const FORMAT = 'trailgate_export';
const FORMAT_VERSION = 1;

interface ImportOptions extends CommonOptions {
  readonly dryRun?: boolean;
  readonly onConflict: OnConflict;
}

/** Line is a record with its line number in the file. */
interface Line {
  readonly number: number;
  readonly record: Fields;
}

/** Result is the result of one record in the response of the admin API. */
interface Result {
  readonly outcome: 'imported' | 'updated' | 'skipped' | 'failed';
  readonly reason: string | null;
}

/** Adds `import` to the program. */
export function addImportCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('import')
    .description('import accounts, keys and other records from a file of JSON lines; it can be repeated')
    .argument('<file>', 'the file, or - for standard input')
    .option('--dry-run', 'check every line, and keep nothing')
    .addOption(
      new Option('--on-conflict <what>', 'what happens to a record that exists').choices(ON_CONFLICT).default('skip'),
    );
  clientAction<ImportOptions>(command, terminal, async (client, [file = ''], options) => {
    const run = new ImportRun(client, file, options, terminal);
    await run.all();
    if (run.counts.failed > 0) terminal.fail(1);
    if (options.json === true) return `${JSON.stringify(run.counts, null, 2)}\n`;
    const { imported, updated, skipped, failed } = run.counts;
    return `imported ${imported}, updated ${updated}, skipped ${skipped}, failed ${failed}\n`;
  });
}

class ImportRun {
  readonly counts = { imported: 0, updated: 0, skipped: 0, failed: 0 };
  private batch: Line[] = [];
  private batchBytes = 0;
  /**
   * Accounts of earlier batches by ID and external ID, and keys by ID. The server stores nothing in a dry run, so
   * `send` repeats these records before records that refer to them.
   */
  private readonly earlier = new Map<string, Fields>();

  constructor(
    private readonly client: AdminClient,
    private readonly file: string,
    private readonly options: ImportOptions,
    private readonly terminal: Terminal,
  ) {}

  /**
   * Imports all lines in order. Rejects with `CommandError` if the file cannot be read or has another format, or if a
   * call of the admin API fails.
   */
  async all(): Promise<void> {
    let number = 0;
    for await (const text of linesOf(this.file)) {
      number += 1;
      if (text === TOO_LONG) this.fail(number, `is longer than ${MAX_LINE_BYTES / 1_024} KiB`);
      if (text === TOO_LONG || text.trim() === '') continue;
      const record = parseRecord(text);
      if (record === undefined) this.fail(number, 'is no JSON object');
      else if (FORMAT in record) checkFormat(record);
      else await this.add({ number, record }, Buffer.byteLength(text));
    }
    await this.send(this.takeBatch());
  }

  private async add(line: Line, bytes: number): Promise<void> {
    const isFull = this.batch.length === LINES_PER_BATCH || this.batchBytes + bytes > MAX_BATCH_BYTES;
    if (isFull) await this.send(this.takeBatch());
    this.batch.push(line);
    this.batchBytes += bytes;
  }

  private takeBatch(): readonly Line[] {
    const { batch } = this;
    this.batch = [];
    this.batchBytes = 0;
    return batch;
  }

  /** Sends a batch. In a dry run, splits batches that become too large with the repeated records. */
  private async send(batch: readonly Line[]): Promise<void> {
    if (batch.length === 0) return;
    const isDryRun = this.options.dryRun === true;
    const repeated = isDryRun ? this.recordsBefore(batch) : [];
    const records = [...repeated, ...batch.map(({ record }) => record)];
    if (repeated.length > 0 && batch.length > 1 && JSON.stringify(records).length > MAX_BATCH_BYTES) {
      const half = Math.ceil(batch.length / 2);
      await this.send(batch.slice(0, half));
      return this.send(batch.slice(half));
    }
    const body = { records, on_conflict: this.options.onConflict, dry_run: isDryRun };
    const result = await this.client.call('importRecords', [], { body }).catch((error: unknown) => {
      if (!(error instanceof CommandError)) throw error;
      const [first] = batch;
      throw new CommandError(`${error.message} Stopped before ${this.file}:${first?.number}; run it again to go on.`);
    });
    (result['data'] as Result[]).slice(repeated.length).forEach(({ outcome, reason }, index) => {
      if (outcome === 'failed') this.fail(batch[index]?.number ?? 0, reason ?? '');
      else this.counts[outcome] += 1;
    });
    if (isDryRun) for (const { record } of batch) this.remember(record);
  }

  private remember(record: Fields): void {
    if (record['type'] !== 'account' && record['type'] !== 'api_key') return;
    for (const name of ['id', 'external_id']) {
      const value = record[name];
      // External IDs of keys are unique only within their account, and no other record refers to them.
      if (typeof value === 'string' && (record['type'] === 'account' || name === 'id')) this.earlier.set(value, record);
    }
  }

  /** Returns the accounts and keys of earlier batches that `batch` refers to, accounts first. */
  private recordsBefore(batch: readonly Line[]): readonly Fields[] {
    const dependencies = new Set<Fields>();
    const add = (value: unknown): void => {
      const record = typeof value === 'string' ? this.earlier.get(value) : undefined;
      if (record === undefined || dependencies.has(record)) return;
      addReferences(record);
      dependencies.add(record);
    };
    const addReferences = (record: Fields): void => {
      for (const field of ['account_id', 'account_external_id', 'api_key_id']) add(record[field]);
      const { accounts } = record;
      if (Array.isArray(accounts)) for (const { account_id: id } of accounts as readonly Fields[]) add(id);
    };
    for (const { record } of batch) addReferences(record);
    return [...dependencies];
  }

  private fail(number: number, reason: string): void {
    this.counts.failed += 1;
    this.terminal.err(`${this.file}:${number} ${reason}\n`);
  }
}

/**
 * Reads the lines of a file, or of standard input for `-`. Yields `TOO_LONG` in place of a line that exceeds the
 * maximum. Rejects with `CommandError` if the file cannot be read.
 */
async function* linesOf(file: string): AsyncGenerator<string | typeof TOO_LONG> {
  const input = file === '-' ? process.stdin : createReadStream(file);
  try {
    let rest = '';
    let isTooLong = false;
    // `readline` is not used, because it also splits at U+2028 and U+2029.
    for await (const chunk of input.setEncoding('utf8')) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        yield isTooLong || Buffer.byteLength(line) > MAX_LINE_BYTES ? TOO_LONG : line;
        isTooLong = false;
      }
      // The rest of a line that is too long is dropped.
      if (rest.length <= MAX_LINE_BYTES) continue;
      isTooLong = true;
      rest = '';
    }
    if (isTooLong) yield TOO_LONG;
    else if (rest !== '') yield rest;
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

/** Parses a line. Returns undefined if the line is not a JSON object. */
function parseRecord(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

function checkFormat({ [FORMAT]: version }: Fields): void {
  if (version === FORMAT_VERSION) return;
  throw new CommandError(`The file has format ${String(version)}; this version of Trailgate reads ${FORMAT_VERSION}.`);
}
