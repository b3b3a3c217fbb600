/** Looks for secrets in what may not have them, plain and in the disguises that programs put on text. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';

/** A place where nothing may be found, and something must: that it was really searched. */
export interface Place {
  readonly name: string;
  readonly text: string;
  readonly mustHold: string;
}

/** The secret as it is, without its prefix, and in base64 at each of the three offsets. */
function disguises(secret: string): string[] {
  const random = secret.slice('tg_live_'.length);
  const base64 = [0, 1, 2].map((offset) => {
    const text = Buffer.from(' '.repeat(offset) + secret).toString('base64');
    return text.slice(Math.ceil((offset * 8) / 6), -4);
  });
  return [random, random.slice(0, 30), ...base64, Buffer.from(secret).toString('hex')];
}

/** Returns where a secret stands in which form. Throws if a place lacks what it must hold. */
export function findings(places: readonly Place[], secrets: readonly string[]): string[] {
  for (const { name, text, mustHold } of places) expect([name, text.includes(mustHold)]).toEqual([name, true]);
  return places.flatMap(({ name, text }) =>
    secrets.flatMap((secret) =>
      disguises(secret)
        .filter((disguise) => text.includes(disguise))
        .map((it) => `${name}: ${it}`),
    ),
  );
}

/** All files of a folder and of those in it, byte for byte. */
export function filesOf(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${name}\n${readFileSync(join(parentPath, name), 'latin1')}`)
    .join('\n');
}
