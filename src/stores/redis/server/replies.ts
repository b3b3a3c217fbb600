/** Encodes RESP3 replies. */
import { bulkText } from '../script-command.js';

export const OK = '+OK\r\n';
export const PONG = '+PONG\r\n';
export const NOTHING = '_\r\n';

export function numberReply(number: number): string {
  return `:${number}\r\n`;
}

export function numbersReply(numbers: readonly number[]): string {
  let text = `*${numbers.length}\r\n`;
  for (const number of numbers) text += `:${number}\r\n`;
  return text;
}

export function textsReply(texts: readonly string[]): string {
  return `*${texts.length}\r\n${texts.map(bulkText).join('')}`;
}

export function mapReply(entries: Readonly<Record<string, string | number>>): string {
  const parts = Object.entries(entries).map(([name, value]) => {
    return bulkText(name) + (typeof value === 'number' ? numberReply(value) : bulkText(value));
  });
  return `%${parts.length}\r\n${parts.join('')}`;
}

/**
 * Encodes a push message of a subscription.
 * @param kind `message` or `subscribe`
 * @param last the payload of a message, or the number of subscriptions
 */
export function pushReply(kind: string, channel: string, last: string | number): string {
  const end = typeof last === 'number' ? numberReply(last) : bulkText(last);
  return `>3\r\n${bulkText(kind)}${bulkText(channel)}${end}`;
}

/** Encodes an error. The text must begin with an upper-case error code. */
export function errorReply(text: string): string {
  return `-${text.replaceAll(/[\r\n]+/g, ' ')}\r\n`;
}
