/** Decides which requests are logged, and formats their log lines as `gateway.log` configures. */
import type { LogConfig } from '../../config/model/listener-schema.js';
import { fieldValue } from '../../http/grammar/fields.js';
import { withoutSecrets } from '../../keys/api-key-format.js';
import type { CachedKey } from '../../keys/cached-key.js';
import type { Exchange } from './exchange.js';
import { logLine, loggedMethod, loggedPath } from './log-line.js';

/** Members that every JSON line has. */
const FIXED_FIELDS = ['level', 'time', 'event'];
const LONGEST_FIELD = 500;
/**
 * Maximum length of a quoted value after escaping, in characters. Three such values and the rest of a line fit into one
 * write of 4,096 bytes.
 */
const LONGEST_QUOTED = 1_200;
const FIRST_ERROR_STATUS = 400;

type FormatLine = typeof logLine;

/** RequestLines selects and formats log lines as `gateway.log` configures. */
export class RequestLines {
  /** Formats the log line of a request, with its line feed. */
  format: FormatLine = logLine;
  /** Fraction of the successful requests that are logged, 0 to 1. */
  private successShare = 1;

  constructor(config: LogConfig) {
    this.applyConfig(config);
  }

  /** Applies a new configuration. It takes effect with the next line. */
  applyConfig({ format, successes, fields }: LogConfig): void {
    this.successShare = successes;
    if (format === 'combined') this.format = combinedLine;
    else this.format = fields === undefined ? logLine : lineOf(fields);
  }

  /**
   * Reports whether a request with this status is logged. Requests with status 400 and above are always logged. Other
   * requests are sampled at random.
   */
  logs(status: number): boolean {
    return status >= FIRST_ERROR_STATUS || this.successShare === 1 || Math.random() < this.successShare;
  }
}

/** Returns a function that formats JSON lines with the configured fields, in the configured order. */
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

/** Formats a line in the combined log format of Apache and nginx. The user field contains the account ID. */
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

/**
 * Returns a header field of the client without secrets, truncated to `LONGEST_FIELD`. Undefined if the field is
 * missing.
 */
function clientField({ message }: Exchange, name: string): string | undefined {
  const value = fieldValue(message.rawHeaders, name);
  return value === undefined ? undefined : withoutSecrets(value).slice(0, LONGEST_FIELD);
}

/**
 * Quotes a value. Quotes, backslashes and all characters except printable ASCII become `\xHH`, as in nginx. Truncates
 * the result, because workers share the log and a line must fit into one write.
 */
function quoted(value: string): string {
  const escaped = value.replaceAll(
    /[^ !#-[\]-~]/g,
    (character) => `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
  return `"${escaped.length > LONGEST_QUOTED ? escaped.slice(0, LONGEST_QUOTED) : escaped}"`;
}
