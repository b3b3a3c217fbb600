/** Searches places for secrets, in plain text and in common encodings. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';

/** Place is a text that must contain no secret. It must contain `mustHold`, to prove that it is the right text. */
export interface Place {
  readonly name: string;
  readonly text: string;
  readonly mustHold: string;
}

/** Returns forms of a secret: without its prefix, the start of that, in base64 at each of three offsets, and in hex. */
function disguises(secret: string): string[] {
  const random = secret.slice('tg_live_'.length);
  const base64 = [0, 1, 2].map((offset) => {
    const text = Buffer.from(' '.repeat(offset) + secret).toString('base64');
    return text.slice(Math.ceil((offset * 8) / 6), -4);
  });
  return [random, random.slice(0, 30), ...base64, Buffer.from(secret).toString('hex')];
}

/** Returns each place and form in which a secret was found. Throws if a place does not contain its `mustHold`. */
export function findSecrets(places: readonly Place[], secrets: readonly string[]): string[] {
  for (const { name, text, mustHold } of places) expect([name, text.includes(mustHold)]).toEqual([name, true]);
  return places.flatMap(({ name, text }) =>
    secrets.flatMap((secret) =>
      disguises(secret)
        .filter((disguise) => text.includes(disguise))
        .map((it) => `${name}: ${it}`),
    ),
  );
}

/** Returns the names and contents of all files in a folder and its subfolders, decoded as Latin-1. */
export function filesOf(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${name}\n${readFileSync(join(parentPath, name), 'latin1')}`)
    .join('\n');
}
