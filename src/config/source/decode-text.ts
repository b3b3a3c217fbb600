/** Decodes a file as UTF-8 text and finds the first byte or character that YAML does not allow. */
import { isUtf8 } from 'node:buffer';

/** A fault at one position of the decoded text. */
export interface TextFault {
  /** Index in the decoded text, in UTF-16 units. */
  readonly offset: number;
  readonly message: string;
  readonly hint: string;
}

/** Result of `decodeText`. With a fault, `text` serves only to compute the line of the fault, and may be empty. */
export interface DecodedText {
  readonly text: string;
  readonly fault?: TextFault;
}

const UTF8_HINT = 'save it as UTF-8';
const BYTE_ORDER_MARK = Buffer.from('\u{feff}');
/** Matches control characters that YAML 1.2 section 5.1 forbids, and a byte order mark that is not at the start. */
// oxlint-disable-next-line no-control-regex -- the pattern looks for control characters
const CONTROL = /[\0-\x08\v\f\x0e-\x1f\u{feff}]/u;

/** Decodes a file without its byte order mark. Returns a fault for the first byte or character that is not allowed. */
export function decodeText(file: Buffer): DecodedText {
  const bytes = file.indexOf(BYTE_ORDER_MARK) === 0 ? file.subarray(BYTE_ORDER_MARK.length) : file;
  const encoding = wideEncoding(bytes);
  if (encoding !== undefined) {
    const hint = `${UTF8_HINT}, for example with iconv -f ${encoding} -t UTF-8`;
    return { text: '', fault: { offset: 0, message: `is ${encoding}, not UTF-8`, hint } };
  }
  const text = bytes.toString('utf8');
  if (!isUtf8(bytes)) return { text, fault: invalidByte(bytes, text) };
  const offset = text.search(CONTROL);
  if (offset === -1) return { text };
  const code = text.charCodeAt(offset).toString(16).toUpperCase().padStart(4, '0');
  const message = `has the invisible character U+${code}`;
  return { text, fault: { offset, message, hint: 'remove it' } };
}

/**
 * Detects UTF-16 and UTF-32 by a byte order mark. Without a mark, detects only UTF-16, by the zero bytes of the first
 * two characters. These characters are ASCII in YAML and JSON.
 */
function wideEncoding(bytes: Buffer): string | undefined {
  const [first, second, third, fourth] = bytes;
  if (first === 0xff && second === 0xfe) return third === 0 && fourth === 0 ? 'UTF-32' : 'UTF-16';
  if (first === 0xfe && second === 0xff) return 'UTF-16';
  if (first === 0 && second === 0 && third === 0xfe && fourth === 0xff) return 'UTF-32';
  if (bytes.length < 4) return undefined;
  if (first === 0 && second !== 0 && third === 0 && fourth !== 0) return 'UTF-16BE';
  if (first !== 0 && second === 0 && third !== 0 && fourth === 0) return 'UTF-16LE';
  return undefined;
}

/**
 * Finds the first invalid byte. The decoder has replaced it with U+FFFD, which the file itself can also contain, as the
 * bytes EF BF BD.
 */
function invalidByte(bytes: Buffer, text: string): TextFault {
  let offset = -1;
  let byteOffset = 0;
  do {
    const next = text.indexOf('\u{fffd}', offset + 1);
    byteOffset += Buffer.byteLength(text.slice(Math.max(offset, 0), next));
    offset = next;
  } while (bytes.readUIntBE(byteOffset, Math.min(3, bytes.length - byteOffset)) === 0xefbfbd);
  const byte = (bytes[byteOffset] ?? 0).toString(16).toUpperCase().padStart(2, '0');
  const hint = `${UTF8_HINT}; if it is Latin-1, with iconv -f LATIN1 -t UTF-8`;
  return { offset, message: `is not UTF-8: the byte 0x${byte} stands here`, hint };
}
