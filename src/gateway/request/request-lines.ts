/** Log lines of requests as `gateway.log` configures them. */
import type { LogConfig } from '../../config/model/listener-schema.js';
import { fieldValue } from '../../http/grammar/fields.js';
import { withoutSecrets } from '../../keys/api-key-format.js';
import type { CachedKey } from '../../keys/cached-key.js';
import type { Exchange } from './exchange.js';
import { logLine, loggedMethod, loggedPath } from './log-line.js';

/** Members of every JSON line. */
const FIXED_FIELDS = ['level', 'time', 'event'];
const LONGEST_FIELD = 500;
/** Longest quoted value, escaped. Three of them and the rest of a line fit into one write of 4,096 bytes. */
const LONGEST_QUOTED = 1_200;
const FIRST_ERROR = 400;

type FormatLine = typeof logLine;

/** RequestLines decides which requests are logged, and formats their lines. */
export class RequestLines {
  /** Formats one line, with its line feed. */
  format: FormatLine = logLine;
  private successes = 1;

  constructor(config: LogConfig) {
    this.applyConfig(config);
  }

  /** Applies a new configuration. It takes effect with the next line. */
  applyConfig({ format, successes, fields }: LogConfig): void {
    this.successes = successes;
    if (format === 'combined') this.format = combinedLine;
    else this.format = fields === undefined ? logLine : lineOf(fields);
  }

  /** Reports whether a request is logged. Errors always are. */
  logs(status: number): boolean {
    return status >= FIRST_ERROR || this.successes === 1 || Math.random() < this.successes;
  }
}

/** Returns a formatter for JSON lines with the chosen fields, in their order. */
function lineOf(fields: readonly string[]): FormatLine {
  const names = [...FIXED_FIELDS, ...fields];
  return (exchange, ...rest) => {
    const members = JSON.parse(logLine(exchange, ...rest)) as Record<string, unknown>;
    members['protocol'] = protocolOf(exchange);
    members['bytes_in'] = exchange.bytesIn;
    members['bytes_out'] = exchange.bytesOut;
    members['user_agent'] = clientField(exchange, 'user-agent');
    return `${JSON.stringify(members, names)}\n`;
  };
}

/** Formats a line in the combined log format of Apache and nginx. The account stands in the place of the user. */
function combinedLine(
  exchange: Exchange,
  key: CachedKey | undefined,
  status: number,
  _durationMs: number,
  nowMs: number,
): string {
  const [, day, month, year, time] = new Date(nowMs).toUTCString().split(' ');
  const request = `${loggedMethod(exchange)} ${loggedPath(exchange)} ${protocolOf(exchange)}`;
  const account = key?.record.accountId ?? '-';
  return (
    `${exchange.clientAddress || '-'} - ${account} [${day}/${month}/${year}:${time} +0000] ${quoted(request)} ` +
    `${status} ${exchange.bytesOut} ${quoted(clientField(exchange, 'referer')?.split('?', 1)[0] ?? '-')} ` +
    `${quoted(clientField(exchange, 'user-agent') ?? '-')}\n`
  );
}

function protocolOf({ message }: Exchange): string {
  return `HTTP/${message.httpVersion}`;
}

/** Returns a header field that the client chose, without secrets and of limited length. */
function clientField({ message }: Exchange, name: string): string | undefined {
  const value = fieldValue(message.rawHeaders, name);
  return value === undefined ? undefined : withoutSecrets(value).slice(0, LONGEST_FIELD);
}

/**
 * Quotes a value. Quotes, backslashes and everything but printable ASCII become `\xHH`, as in nginx. The result is cut,
 * because a line of several workers must fit into one write.
 */
function quoted(value: string): string {
  const escaped = value.replaceAll(
    /[^ !#-[\]-~]/g,
    (character) => `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
  return `"${escaped.length > LONGEST_QUOTED ? escaped.slice(0, LONGEST_QUOTED) : escaped}"`;
}
